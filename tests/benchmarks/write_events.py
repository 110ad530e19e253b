"""Measure writing and reading of events: run as `python tests/benchmarks/write_events.py`.

Prints two tables. Writing: events a second through TraceWriter, canonical encoding, file and
timing sidecar included (bar: at least 100,000 small events a second), beside bare `orjson.dumps`
of the same lines. Reading: megabytes a second of each reader, beside bare `orjson.loads` of the
same lines. Not a test: a machine under load gives other numbers.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[2]))

from tracediff.events import Event
from tracediff.storage import TraceWriter, read_checked_events, read_events, read_trace

SMALL_EVENTS = 100_000
TENSOR_EVENTS = 20_000
REPEATS = 3


def main() -> None:
    """Measure and print."""
    writing = Table("events", "bytes each", "timing", "events/s", "orjson.dumps", "ratio", "bar")
    reading = Table(
        "events", "reader", "MB/s", "events/s", "time of orjson.loads", title_justify="left"
    )
    kinds = {
        "small": chain(SMALL_EVENTS, small_payload),
        "two tensors with sketches": chain(TENSOR_EVENTS, tensor_payload),
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        for name, events in kinds.items():
            measure_writing(writing, name, events, path)
            measure_reading(reading, name, len(events), path)
    Console().print(writing, reading)


def measure_writing(table: Table, name: str, events: list[Event], path: Path) -> None:
    """Add a row for the trace alone, and one with the timing sidecar."""
    lines = [{key: getattr(event, key) for key in Event.__dataclass_fields__} for event in events]
    for environment in (None, {"benchmark": True}):

        def write(environment: dict[str, bool] | None = environment) -> None:
            with TraceWriter(path, environment=environment) as writer:
                for event in events:
                    writer.write(event)

        mine, bare = best_seconds(write, lambda: [orjson.dumps(line) for line in lines])
        table.add_row(
            name,
            f"{path.stat().st_size / len(events):.0f}",
            "no" if environment is None else "yes",
            f"{len(events) / mine:,.0f}",
            f"{len(events) / bare:,.0f}",
            f"{mine / bare:.1f} x",
            "100,000/s" if name == "small" else "",
        )


def measure_reading(table: Table, name: str, count: int, path: Path) -> None:
    """Add a row for each reader."""
    megabytes = path.stat().st_size / 1e6
    readers: dict[str, Callable[[], object]] = {
        "read_events": lambda: sum(1 for _ in read_events(path)),
        "read_checked_events": lambda: sum(1 for _ in read_checked_events(path)),
        "read_trace": lambda: read_trace(path),
    }

    def load() -> None:
        with path.open("rb") as stream:
            for line in stream:
                orjson.loads(line)

    *mine, bare = best_seconds(*readers.values(), load)
    for reader, seconds in zip(readers, mine, strict=True):
        table.add_row(
            name,
            reader,
            f"{megabytes / seconds:.0f}",
            f"{count / seconds:,.0f}",
            f"{seconds / bare:.1f} x",
        )
    table.add_row(name, "orjson.loads alone", f"{megabytes / bare:.0f}", f"{count / bare:,.0f}", "")


def best_seconds(*works: Callable[[], object]) -> list[float]:
    """Return the shortest time of each work; they take turns, so that noise hits all alike."""
    best = [float("inf")] * len(works)
    for _ in range(REPEATS):
        for index, work in enumerate(works):
            start = time.perf_counter()
            work()
            best[index] = min(best[index], time.perf_counter() - start)
    return best


def chain(count: int, payload: Callable[[random.Random, int], dict[str, Any]]) -> list[Event]:
    """Return a whole trace of `count` events, each the parent of the next."""
    chance = random.Random(0)
    events = []
    for number in range(count):
        found = payload(chance, number)
        if number == 0:
            found["trace"] = {"format": "tracediff-trace/1", "kind": "text"}
        if number == count - 1:
            found["end"] = {"events": count}
        parent = f"e{number - 1}" if number else None
        events.append(Event("t", f"e{number}", parent, "decoder", "token.selected", number, found))
    return events


def small_payload(chance: random.Random, number: int) -> dict[str, Any]:
    """Return what the choice of a token records."""
    token = chance.randrange(50_000)
    return {
        "lane": {"request": 0},
        "state": {"position": number, "cache_length": number},
        "choice": {"token": token, "text": " the", "top": [[token, -0.5], [12, -1.25], [9, -3.5]]},
    }


def tensor_payload(chance: random.Random, number: int) -> dict[str, Any]:
    """Return one tensor read and one written, each with statistics and a sketch."""
    return {"inputs": [tensor(chance, number, "in")], "outputs": [tensor(chance, number, "out")]}


def tensor(chance: random.Random, number: int, name: str) -> dict[str, Any]:
    """Return the record of a float32 tensor of 1 x 4 x 64."""
    sketch = np.array([chance.gauss(0, 1) for _ in range(64)], np.float32)
    return {
        "name": f"layer{number % 32}.{name}",
        "dtype": "float32",
        "shape": [1, 4, 64],
        "logical": {"layer": number % 32, "positions": [0, 3]},
        "digest": f"b3:{chance.getrandbits(128):032x}",
        "stats": {
            "finite": 256,
            "min": -chance.random(),
            "max": chance.random(),
            "mean": chance.random(),
            "l2": chance.random(),
        },
        "sketch": [float(str(value)) for value in sketch],
    }


if __name__ == "__main__":
    main()
