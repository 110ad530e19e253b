"""The sections of an event that hold no tensors, as plain JSON.

Knows what a section is given as. Must not know events, tensors or sinks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracediff.errors import UsageError
from tracediff.events.event import PRIVATE_PREFIX
from tracediff.recording.plain import plain_json
from tracediff.recording.recordable import Draw, draw_to_json


def plain_sections(
    sections: Mapping[str, Any], private: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the sections that are not None, as JSON, and then the private ones.

    `rng` is a sequence of `Draw`; the rest is as in `plain_json`. Raises UsageError naming the
    field for values that a trace cannot hold.
    """
    found = {key: _plain(key, value) for key, value in sections.items() if value is not None}
    if private:
        found.update(_plain_private(private))
    return found


def _plain(key: str, value: Any) -> Any:
    return plain_json(_draws(value) if key == "rng" else value, key)


def _draws(rng: Sequence[Draw]) -> list[Any]:
    """Return the JSON of draws; raise UsageError for anything else."""
    if not isinstance(rng, Sequence):
        raise UsageError(f"rng= takes a list of tracediff.Draw, not a {type(rng).__name__}")
    for index, draw in enumerate(rng):
        if not isinstance(draw, Draw):
            raise UsageError(f"rng[{index}] is a {type(draw).__name__}; expected a tracediff.Draw")
    return [draw_to_json(draw) for draw in rng]


def _plain_private(private: Mapping[str, Any]) -> dict[str, Any]:
    for key in private:
        if not key.startswith(PRIVATE_PREFIX):
            raise UsageError(f"private keys start with {PRIVATE_PREFIX}, {key!r} does not")
    return {key: plain_json(value, key) for key, value in private.items() if value is not None}
