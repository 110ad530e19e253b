"""Causes seen in discrete values: artifacts, inputs, state, random counters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, Final

from tracediff.diff.causes.findings import Findings, Record
from tracediff.diff.result import MISSING, Cause

_INPUT_FIELDS: Final = frozenset(
    (
        *("prompt", "messages", "text", "negative_prompt", "request", "arguments"),
        *("input_ids", "token_id", "chosen_ids"),
    )
)

_STATE_KINDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "cache_length": "cache-length",
        "cache_length_before": "cache-length",
        "cache_final_length": "cache-length",
        "logical_length": "cache-length",
        "position": "cache-position",
        "position_ids": "cache-position",
        "positions": "cache-position",
        "attended": "mask",
        "timestep": "schedule",
        "timesteps": "schedule",
        "timestep_index": "schedule",
        "previous_timestep": "schedule",
        "end_timestep": "schedule",
        "alpha_bar": "schedule",
        "alpha_bar_previous": "schedule",
        "prediction_type": "prediction-type",
        "guidance_order": "guidance-order",
    }
)
"""Names of discrete state that point at one cause."""


def artifact_changed(findings: Findings) -> Cause | None:
    """An immutable id differs."""
    if findings.first.check != "artifacts":
        return None
    return Cause(
        "artifact-changed",
        findings.leaf,
        f"the artifact {findings.leaf} is another one",
        findings.values,
    )


def input_changed(findings: Findings) -> Cause | None:
    """What went into the execution differs, or what an earlier event handed on."""
    inputs = _INPUT_FIELDS.intersection(str(part) for part in findings.path)
    if findings.first.check != "state" or not inputs:
        return None
    text = f"the input {findings.leaf} differs"
    return Cause("input-changed", findings.component, text, findings.values)


def time_shift(findings: Findings) -> Cause | None:
    """Two moments differ: by how much, or in that only one of them says which zone it is in."""
    difference = findings.first.difference
    moments = [_moment(value) for value in (difference.left, difference.right)]
    if findings.first.check not in ("state", "choice") or None in moments:
        return None
    left, right = moments
    assert left is not None
    assert right is not None
    if (left.tzinfo is None) != (right.tzinfo is None):
        text = f"{findings.leaf} has a zone on one side only: which moment it is is unknown"
        return Cause("time-shift", findings.component, text, findings.values)
    seconds = (right - left).total_seconds()
    text = f"{findings.leaf} is {_spell_shift(seconds)} on the right"
    evidence = {**findings.values, "seconds": seconds}
    return Cause("time-shift", findings.component, text, evidence)


def exchanged_values(findings: Findings) -> Cause | None:
    """The same values stand in other places."""
    section, path = findings.first.check, findings.path
    if section not in ("state", "choice") or len(path) < 3:
        return None
    mine, other = (held.get(path[1]) for held in findings.sections(section))
    if not isinstance(mine, list) or not isinstance(other, list):
        return None
    if Counter(map(repr, _leaves(mine))) != Counter(map(repr, _leaves(other))):
        return None
    text = f"the same values of {path[1]} stand in other places"
    return Cause("permuted", findings.component, text, {"left": mine, "right": other})


def identifiers(findings: Findings) -> Cause | None:
    """Local ids do not correspond one to one."""
    if findings.first.check != "ids":
        return None
    text = f"{findings.leaf} does not correspond one to one"
    return Cause("identifier", findings.component, text, findings.values)


def known_state(findings: Findings) -> Cause | None:
    """A named piece of discrete state (a cache length, a position, a timestep) differs."""
    is_place = ".logical." in findings.field
    if findings.first.check not in ("state", "choice") and not is_place:
        return None
    kind = _STATE_KINDS.get(findings.leaf)
    if kind is None:
        return None
    return Cause(kind, findings.component, f"{findings.leaf} differs", findings.values)


def recorded_place(findings: Findings) -> Cause | None:
    """A tensor differs, and a tensor of the same event sits at other positions."""
    if findings.first.check != "outputs" or findings.tensor is None:
        return None
    mine, other = findings.all_records()
    for name in (name for name in mine if name in other):
        places = [_positions(side[name]) for side in (mine, other)]
        if None not in places and places[0] != places[1]:
            lengths = [len(place) if isinstance(place, list) else 0 for place in places]
            kind = "cache-position" if lengths[0] == lengths[1] else "cache-length"
            return Cause(
                kind,
                findings.component,
                f"{name} sits at other positions",
                {"tensor": name, "left": places[0], "right": places[1]},
            )
    return None


def handed_on(findings: Findings) -> Cause | None:
    """A tensor that an event reads is not the one that was made for it on one side."""
    tensor = findings.tensor
    if findings.first.check != "inputs" or tensor is None or not tensor.decidable:
        return None
    # Statistics show differences only: what came before need not agree.
    shown = "nothing before is shown to differ" if tensor.evidence == "statistics" else ""
    return Cause(
        "input-changed",
        findings.component,
        f"{shown or 'everything before agrees'}, but {tensor.name} arrives changed",
        {"tensor": tensor.name, "relative_l2": tensor.relative_l2},
    )


def one_sided(findings: Findings) -> Cause | None:
    """Only one side has a section, field or tensor: there is nothing to compare it with."""
    difference = findings.first.difference
    if findings.first.check == "structure" or MISSING not in (difference.left, difference.right):
        return None
    side = "left" if difference.right is MISSING else "right"
    text = f"only {side} has {findings.field}, so there is nothing to compare it with"
    return Cause("missing-field", findings.component, text, findings.values)


def _moment(value: Any) -> datetime | None:
    if not isinstance(value, str) or "T" not in value:
        return None
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None


def _spell_shift(seconds: float) -> str:
    if seconds == 0:
        return "the same moment in another zone"
    size = timedelta(seconds=abs(seconds))
    return f"{size} {'later' if seconds > 0 else 'earlier'}"


def _leaves(value: Any) -> Iterator[Any]:
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, Mapping):
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
        else:
            yield item


def _positions(record: Record) -> Any:
    return record["logical"].get("positions")
