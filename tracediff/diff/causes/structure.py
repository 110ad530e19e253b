"""Causes seen in the graph: events that one side lacks, or that stand elsewhere."""

from __future__ import annotations

from tracediff.diff.causes.findings import Findings
from tracediff.diff.result import MISSING, Cause

FINISH_REASON = "finish_reason"


def stop_rule(findings: Findings) -> Cause | None:
    """One side goes on where the other stops, and they give different finish reasons."""
    is_finish = findings.leaf == FINISH_REASON
    if findings.first.check != "structure" and not is_finish:
        return None
    mine, other = findings.last_choices(FINISH_REASON)
    if mine == other or (mine is None and other is None):
        return None
    return Cause(
        "stop-rule",
        findings.component,
        f"one side stops where the other goes on: left ends by {mine}, right by {other}",
        {"finish_reason": {"left": mine, "right": other}},
    )


def lone_event(findings: Findings) -> Cause | None:
    """An event that only one side has."""
    if findings.first.check != "structure" or findings.field != "event":
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


def moved_event(findings: Findings) -> Cause | None:
    """The same event under another parent, in another lane or at another step."""
    if findings.first.check != "structure" or findings.field in ("component", "event_type"):
        return None
    difference = findings.first.difference
    return Cause(
        "reordered",
        findings.component,
        f"the event stands elsewhere: its {findings.field} differs",
        {"field": findings.field, "left": difference.left, "right": difference.right},
    )
