"""Causes seen in the graph: events that one side lacks, or that stand elsewhere."""

from __future__ import annotations

from typing import Any, Final

from tracediff.diff.causes.findings import FINISH_REASON, Findings
from tracediff.diff.result import MISSING, Cause
from tracediff.events import Event

_FINISH_LEAVES: Final = (FINISH_REASON, "finish_reason_openai", "finish_reason_anthropic")
LOOP_STOP: Final = "stop_reason"
"""Why a loop of several generations ended; each of them has a finish reason of its own."""

_TOKENS: Final = "output_tokens_selected"
_TYPE_FIELDS: Final = ("component", "event_type")


def stop_rule(findings: Findings) -> Cause | None:
    """One side goes on where the other stops, or the reason to stop has another word."""
    if findings.first.check == "structure":
        return _other_stop(findings)
    if findings.first.check != "choice" or findings.leaf not in _FINISH_LEAVES:
        return None
    mine, other = findings.last_choices(FINISH_REASON)
    if mine is None or other is None:
        return None
    if mine == other:
        text = f"both sides end by {mine} and call it differently"
        return Cause("stop-rule", findings.component, text, findings.values)
    return _reasons_differ(findings, mine, other)


def _other_stop(findings: Findings) -> Cause | None:
    loop, other_loop = findings.last_choices(LOOP_STOP)
    if loop is not None and other_loop is not None and loop != other_loop:
        return _reasons_differ(findings, loop, other_loop)
    sides = [[_finish_reason(event) for event in events] for events in findings.all_events()]
    pairs = zip(*([reason for reason in side if reason] for side in sides), strict=False)
    reasons = list(pairs)
    for mine, other in reasons:
        if mine != other:
            return _reasons_differ(findings, mine, other)
    return _later_stop(findings, reasons[-1][0]) if reasons else None


def _reasons_differ(findings: Findings, left: Any, right: Any) -> Cause:
    return Cause(
        "stop-rule",
        findings.component,
        f"one side stops where the other goes on: left ends by {left}, right by {right}",
        {FINISH_REASON: {"left": left, "right": right}},
    )


def _finish_reason(event: Event) -> Any:
    return event.payload.get("choice", {}).get(FINISH_REASON)


def _later_stop(findings: Findings, reason: Any) -> Cause | None:
    left, right = findings.last_choices(_TOKENS)
    if left is None or right is None or left == right:
        return None
    return Cause(
        "stop-rule",
        findings.component,
        f"both sides end by {reason}, left after {left} tokens, right after {right}",
        {FINISH_REASON: reason, _TOKENS: {"left": left, "right": right}},
    )


def truncated(findings: Findings) -> Cause | None:
    """One trace ends where the other goes on: all it has is the beginning of the other one."""
    side = findings.lone_side
    if side is None:
        return None
    traces = findings.all_events()
    longer, shorter = traces[side], traces[1 - side]
    start = next(i for i, e in enumerate(longer) if e.event_id == findings.event.event_id)
    if start != len(shorter) or not _same_types(longer[:start], shorter):
        return None
    names = ("right", "left") if side == 0 else ("left", "right")
    return Cause(
        "truncated",
        findings.component,
        f"{names[0]} ends after {shorter[-1].event_id}, {names[1]} goes on with "
        f"{len(longer) - start} more events",
        {"events": {names[0]: len(shorter), names[1]: len(longer)}},
    )


def lone_event(findings: Findings) -> Cause | None:
    """An event that only one side has."""
    side = findings.lone_side
    if side is None:
        return None
    difference = findings.first.difference
    missing = difference.right is MISSING
    name = difference.left if missing else difference.right
    return Cause(
        "missing-event" if missing else "extra-event",
        findings.component,
        f"right has no {name} here" if missing else f"right has a {name} that left has not",
        {"event": name},
    )


def replaced_event(findings: Findings) -> Cause | None:
    """Another event stands in the place of one."""
    if findings.first.check != "structure" or findings.field not in _TYPE_FIELDS:
        return None
    names = [
        f"{event.component} {event.event_type}"
        for event in (findings.left, findings.right)
        if event is not None
    ]
    return Cause(
        "replaced-event",
        findings.component,
        f"left has {names[0]} where right has {names[-1]}",
        {"left": names[0], "right": names[-1]},
    )


def moved_event(findings: Findings) -> Cause | None:
    """The same event under another parent, in another lane or at another step."""
    if findings.first.check != "structure" or findings.field in _TYPE_FIELDS:
        return None
    difference = findings.first.difference
    return Cause(
        "reordered",
        findings.component,
        f"the event stands elsewhere: its {findings.field} differs",
        {"field": findings.field, "left": difference.left, "right": difference.right},
    )


def _same_types(left: list[Event], right: list[Event]) -> bool:
    return all(
        (x.component, x.event_type) == (y.component, y.event_type)
        for x, y in zip(left, right, strict=True)
    )
