"""Fingerprints of what events hold, so that equal events are found without comparing all pairs.

Knows sections and the graph. Must not know the other trace; tolerances are no matter here: where
nothing is exactly equal, fingerprints of discrete values alone, or of what the event saw, remain.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

from tracediff.diff.topology import Topology
from tracediff.events import Event
from tracediff.events.event import PRIVATE_PREFIX, TENSOR_SECTIONS

_SEEN: Final = ("artifacts", "state")
_DISCRETE: Final = (*_SEEN, "rng", "choice", "commit")
_ALL: Final = (*_SEEN, "inputs", "rng", "outputs", "choice", "commit")
_WITH_IDS: Final = (*_ALL, "ids")

Fingerprint = Callable[[int], Hashable]


class Fingerprints:
    """Fingerprints of the events of one trace, by index, each computed when first asked for."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._joiners: list[list[int]] | None = None
        self._folded: dict[tuple[bool, tuple[str, ...]], dict[int, bytes]] = {}
        self._events: dict[tuple[int, tuple[str, ...], bool], bytes] = {}

    def levels(self) -> tuple[Fingerprint, ...]:
        """Return what may identify an event, from the strictest to the loosest.

        The event with all its causes and all that follows, with and without the spelling of local
        ids; the event alone; its discrete values; what it saw.
        """
        return (
            lambda i: self._surroundings(i, _WITH_IDS),
            lambda i: self._surroundings(i, _ALL),
            self.own,
            lambda i: self._print(i, _DISCRETE),
            self.seen,
        )

    def own(self, position: int, *, with_step: bool = True) -> bytes:
        """Return the fingerprint of all that is compared of one event, its local ids left out."""
        return self._print(position, _ALL, with_step=with_step)

    def seen(self, position: int, *, with_step: bool = True) -> bytes:
        """Return the fingerprint of the artifacts and the state that one event saw."""
        return self._print(position, _SEEN, with_step=with_step)

    def _surroundings(self, position: int, sections: tuple[str, ...]) -> tuple[bytes, bytes]:
        return (
            self._fold(position, sections, self._followers, down=True),
            self._fold(position, sections, self._causes, down=False),
        )

    def _fold(
        self,
        position: int,
        sections: tuple[str, ...],
        neighbours: Callable[[int], Sequence[int]],
        *,
        down: bool,
    ) -> bytes:
        """Return the fingerprint of an event with all that is reached from it, in any order."""
        known = self._folded.setdefault((down, sections), {})
        pending = [position]
        while pending:
            node = pending[-1]
            reached = neighbours(node)
            missing = [other for other in reached if other not in known]
            if missing:
                pending.extend(missing)
                continue
            pending.pop()
            if node not in known:
                parts = (self._print(node, sections), *sorted(known[other] for other in reached))
                known[node] = blake2b(b"".join(parts), digest_size=16).digest()
        return known[position]

    def _followers(self, position: int) -> Sequence[int]:
        if self._joiners is None:
            self._joiners = [[] for _ in self._topology.events]
            for joiner, joined in enumerate(self._topology.joins):
                for cause in joined:
                    self._joiners[cause].append(joiner)
        joiners = self._joiners[position]
        children = self._topology.children[position]
        return [*children, *joiners] if joiners else children

    def _causes(self, position: int) -> Sequence[int]:
        parent, joins = self._topology.parents[position], self._topology.joins[position]
        return (parent, *joins) if parent >= 0 else joins

    def _print(self, position: int, sections: tuple[str, ...], *, with_step: bool = True) -> bytes:
        key = position, sections, with_step
        if key not in self._events:
            event = self._topology.events[position]
            self._events[key] = _digest(event, sections, with_step=with_step)
        return self._events[key]


def _digest(event: Event, sections: tuple[str, ...], *, with_step: bool) -> bytes:
    payload = event.payload
    held = {name: _compared(name, payload[name]) for name in sections if name in payload}
    step = event.logical_step if with_step else None
    envelope = [event.component, event.event_type, step, payload.get("lane"), held]
    text = json.dumps(envelope, sort_keys=True, ensure_ascii=True)
    return blake2b(text.encode(), digest_size=16).digest()


def _compared(section: str, value: Any) -> Any:
    if section in TENSOR_SECTIONS:
        return sorted(_identity(record) for record in value)
    if section == "rng":
        return [
            {k: v for k, v in draw.items() if not k.startswith(PRIVATE_PREFIX)} for draw in value
        ]
    return value


def _identity(record: Mapping[str, Any]) -> list[str]:
    place = json.dumps(record["logical"], sort_keys=True)
    return [record["name"], record["digest"], place]
