"""One event: the seven envelope keys, and the names of the payload's sections in causal order.

Knows names and order only; what a section may hold is `validity`'s matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
Payload: TypeAlias = Mapping[str, Any]
"""Section name -> JSON value (plain dict, list, str, int, float, bool, None), already validated."""

FORMAT = "tracediff-trace/1"
KINDS = ("text", "image", "tool", "loop", "stream", "generic")

ENVELOPE = (
    "trace_id",
    "event_id",
    "parent_event_id",
    "component",
    "event_type",
    "logical_step",
    "payload",
)

SECTIONS = (
    "trace",
    "lane",
    "joins",
    "artifacts",
    "state",
    "settings",
    "inputs",
    "rng",
    "outputs",
    "choice",
    "commit",
    "ids",
    "context",
    "note",
    "end",
)
"""All sections of a payload, in the causal order in which a line writes them."""

TENSOR_SECTIONS = ("inputs", "outputs")
PRIVATE_PREFIX = "x-"
"""Payload keys with this prefix are kept and never compared."""


@dataclass(frozen=True, slots=True)
class Event:
    """One step of an execution.

    `event_id` is unique in its trace and means nothing outside it; `parent_event_id` names the
    event that caused this one (None for the root alone); `logical_step` counts the workload's own
    steps from 0; `payload` maps section names to JSON values.
    """

    trace_id: str
    event_id: str
    parent_event_id: str | None
    component: str
    event_type: str
    logical_step: int
    payload: Payload

    @property
    def parents(self) -> tuple[str, ...]:
        """Ids of all causes: the parent, then `payload.joins`."""
        own = () if self.parent_event_id is None else (self.parent_event_id,)
        joins = self.payload.get("joins")
        return (*own, *joins) if joins else own
