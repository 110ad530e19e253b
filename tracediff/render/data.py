"""Results as JSON-ready data, with a versioned format name.

A side that lacks a value lacks the key; a value that is null in the trace is null here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from tracediff.diff import TraceDiff
from tracediff.diff.result import MISSING, FieldDifference
from tracediff.diff.sections import place_of
from tracediff.errors import TracediffError, TraceError
from tracediff.events import Event
from tracediff.render.pairs import is_problem, overall_outcome, with_problems

if TYPE_CHECKING:
    from tracediff.contracts import Report

REPORT_FORMAT = "tracediff-report/1"
FOLDER_FORMAT = "tracediff-folder-report/1"
CHECK_FORMAT = "tracediff-check/1"


MOST_ENTRIES = 1_000
"""Origins, settings, conditions and points of drift that a report holds unless all are wanted."""


def diff_to_json(diff: TraceDiff, *, show_all: bool = False) -> dict[str, Any]:
    """Return a comparison as JSON-ready data; `show_all` lifts the limit on the lists' lengths."""
    return {"format": REPORT_FORMAT, **_diff_to_json(diff, show_all=show_all)}


def folder_to_json(diffs: Sequence[TraceDiff], *, show_all: bool = False) -> dict[str, Any]:
    """Return the comparisons of two folders as JSON-ready data.

    `outcome` is that of all pairs and problems together, as the exit status ranks them.
    """
    pairs = [diff for diff in diffs if not is_problem(diff)]
    problems = [diff for diff in with_problems(diffs) if is_problem(diff)]
    return {
        "format": FOLDER_FORMAT,
        "outcome": str(overall_outcome([*pairs, *problems])),
        "problems": [problem.message for problem in problems],
        "pairs": [_diff_to_json(diff, show_all=show_all) for diff in pairs],
    }


def check_to_json(report: Report) -> dict[str, Any]:
    """Return a contract report as JSON-ready data."""
    return {
        "format": CHECK_FORMAT,
        "trace": report.trace,
        "kind": report.kind,
        "events": report.events,
        "rules": [rule.name for rule in report.applied],
        "violations": [_plain(violation) for violation in report.violations],
    }


def problem_to_json(trace: str, error: TracediffError) -> dict[str, Any]:
    """Return what kept a trace from being checked or compared as JSON-ready data."""
    found: dict[str, Any] = {"format": CHECK_FORMAT, "trace": trace, "error": str(error)}
    if isinstance(error, TraceError):
        found["outcome"] = error.outcome
        found["place"] = _plain(error.place)
    return found


def event_to_json(event: Event) -> dict[str, Any]:
    """Return an event as its line holds it."""
    return {field.name: getattr(event, field.name) for field in fields(event)}


def _diff_to_json(diff: TraceDiff, *, show_all: bool) -> dict[str, Any]:
    shown = diff if show_all else _shortened(diff)
    return {**_plain(shown), "origins": len(diff.frontier)}


def _shortened(diff: TraceDiff) -> TraceDiff:
    drift = diff.drift
    return replace(
        diff,
        frontier=diff.frontier[:MOST_ENTRIES],
        triggers=diff.triggers[:MOST_ENTRIES],
        context=diff.context[:MOST_ENTRIES],
        drift=None if drift is None else replace(drift, points=drift.points[:MOST_ENTRIES]),
    )


def _plain(value: Any) -> Any:
    if isinstance(value, Event):
        value = place_of(value)
    if isinstance(value, FieldDifference):
        sides = {"left": value.left, "right": value.right}
        return {
            "field": value.field,
            **{side: _plain(found) for side, found in sides.items() if found is not MISSING},
        }
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return str(value) if isinstance(value, str) else value
