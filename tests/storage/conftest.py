"""A small complete trace, as lines of bytes, and a way to put lines into a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tracediff.events.event import Event
from tracediff.storage.canonical import encode_event

STATS = {"finite": 2, "nan": 1, "nonfinite": "b3:01", "min": -0.0, "max": 1.5, "mean": 0.75}
EVENTS = (
    Event(
        "t",
        "e0",
        None,
        "loop",
        "started",
        0,
        {"trace": {"format": "tracediff-trace/1", "kind": "loop", "fixture": "Straße \U0001f642"}},
    ),
    Event(
        "t",
        "e1",
        "e0",
        "loop",
        "state.updated",
        1,
        {
            "lane": {"request": 0},
            "state": {"seed": 2**64 - 1, "least": -(2**63)},
            "outputs": [
                {
                    "name": "x",
                    "dtype": "float32",
                    "shape": [3],
                    "logical": {"layer": 0},
                    "digest": "b3:00",
                    "stats": STATS,
                    "values": [-0.0, "NaN", 1.5],
                }
            ],
        },
    ),
    Event("t", "e2", "e0", "loop", "text", 1, {"choice": {"text": 'a\u2028b\u0085c\r\n"\\\ud83d'}}),
    Event("t", "e3", "e1", "loop", "ended", 2, {"joins": ["e2"], "end": {"events": 4}}),
)


@pytest.fixture(scope="session")
def events() -> tuple[Event, ...]:
    """Four events that form a whole trace."""
    return EVENTS


@pytest.fixture(scope="session")
def lines() -> list[bytes]:
    """The same as canonical lines, line feeds included."""
    return [encode_event(event) for event in EVENTS]


@pytest.fixture
def save(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes lines, or bytes, to a file and returns its path."""

    def write(content: Sequence[bytes] | bytes, name: str = "trace.jsonl") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else b"".join(content))
        return path

    return write
