"""What the causes look at: the first divergence, its events, and the whole traces around it.

Reading a whole trace may mean reading a file once more: a cause does so only where the divergence
calls for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tracediff.diff.result import MISSING, Divergence, FieldDifference, TensorDifference
from tracediff.events import Event
from tracediff.events.event import TENSOR_SECTIONS

Record = Mapping[str, Any]
FINISH_REASON = "finish_reason"


class WholeTrace(Protocol):
    """One side's trace, read as often as asked for."""

    def events(self) -> Iterator[Event]:
        """Yield all events in file order."""

    def last_choice(self, key: str) -> Any:
        """Return the last value of a `choice` entry, None where there is none."""


@dataclass(frozen=True, slots=True)
class Findings:
    """The first divergence with both whole events (None on the side that lacks the event).

    `apart` are the first event of left and the first of right, from there on, that have no
    counterpart of their type (None where a side has none such).
    """

    first: Divergence
    left: Event | None
    right: Event | None
    left_trace: WholeTrace
    right_trace: WholeTrace
    triggers: tuple[FieldDifference, ...]
    apart: tuple[Event | None, Event | None] = (None, None)

    @property
    def field(self) -> str:
        """The path of the first differing field."""
        return self.first.difference.field

    @property
    def leaf(self) -> str:
        """The last key of that path, without indices: `token_id` of `payload.choice.token_id`."""
        return self.field.rpartition(".")[2].partition("[")[0]

    @property
    def path(self) -> tuple[str | int, ...]:
        """The field's path in the payload: keys and indices from the section on."""
        parts = re.findall(r"\[(\d+)\]|([^.\[\]]+)", self.field.removeprefix("payload."))
        return tuple(int(index) if index else key for index, key in parts)

    def holders(self) -> tuple[Any, Any]:
        """Return the objects that hold the differing entry, {} where a side has none."""
        mine, other = (
            _follow(event.payload, self.path[:-1]) if event is not None else {}
            for event in (self.left, self.right)
        )
        return mine, other

    @property
    def tensor(self) -> TensorDifference | None:
        """The tensor that differs, if the divergence is one of tensors."""
        return self.first.tensor

    @property
    def tensor_name(self) -> str:
        """The name of the tensor that the divergence is about, also where one side lacks it."""
        if self.tensor is not None:
            return self.tensor.name
        return self.field.partition("[")[2].partition("]")[0]

    @property
    def event(self) -> Event:
        """The divergent event, left's where both sides have it."""
        event = self.left or self.right
        assert event is not None
        return event

    @property
    def component(self) -> str:
        """The component of the divergent event."""
        return self.event.component

    @property
    def lone_side(self) -> int | None:
        """The side that alone has the event (0 left, 1 right), None where both have it."""
        if self.first.check != "structure" or self.field != "event":
            return None
        return 0 if self.first.difference.right is MISSING else 1

    @property
    def values(self) -> dict[str, Any]:
        """The differing field with both values, as evidence."""
        difference = self.first.difference
        return {"field": difference.field, "left": difference.left, "right": difference.right}

    def sections(self, name: str) -> tuple[Any, Any]:
        """Return a section of both events; an empty one where a side has none."""
        mine, other = (_section(event, name) for event in (self.left, self.right))
        return mine, other

    def records(self, name: str) -> tuple[Record, Record] | None:
        """Return both records of the divergent events' tensor `name`, if both sides have it."""
        mine, other = self.all_records()
        return (mine[name], other[name]) if name in mine and name in other else None

    def all_records(self) -> tuple[dict[str, Record], dict[str, Record]]:
        """Return both events' tensor records by name, outputs before inputs of that name."""
        mine, other = (_by_name(event) for event in (self.left, self.right))
        return mine, other

    def last_choices(self, key: str) -> tuple[Any, Any]:
        """Return the last value of a `choice` entry on both sides, None where there is none."""
        return self.left_trace.last_choice(key), self.right_trace.last_choice(key)

    def all_events(self) -> tuple[list[Event], list[Event]]:
        """Return all events of both sides in file order."""
        return list(self.left_trace.events()), list(self.right_trace.events())


def _follow(value: Any, path: tuple[str | int, ...]) -> Any:
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return {}
    return value if isinstance(value, Mapping) else {}


def _section(event: Event | None, name: str) -> Any:
    empty: Any = [] if name in (*TENSOR_SECTIONS, "rng") else {}
    return empty if event is None else event.payload.get(name, empty)


def _by_name(event: Event | None) -> dict[str, Record]:
    return {record["name"]: record for name in TENSOR_SECTIONS for record in _section(event, name)}
