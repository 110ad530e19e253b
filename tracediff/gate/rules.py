"""How a golden and a new trace are held against each other, NaN in the golden included.

Knows trace files. Must not know where the new trace comes from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path

from tracediff.comparison import diff_files
from tracediff.diff import DiffOptions, Outcome, TraceDiff
from tracediff.events import Event, Trace
from tracediff.events.event import TENSOR_SECTIONS
from tracediff.storage import read_trace
from tracediff.workloads.fixtures import WORKLOADS


@dataclass(frozen=True, slots=True)
class GateRules:
    """The options of the comparison, and globs of the tensors in which NaN is meant to be."""

    options: DiffOptions = field(default_factory=DiffOptions)
    nan_tensors: tuple[str, ...] = ()


def compare_with_golden(golden: Path, new: Path, rules: GateRules, shown_new: str) -> TraceDiff:
    """Compare a golden with a new trace; NaN that nobody declared in the golden diverges.

    The result calls the new trace `shown_new`.
    """
    found = diff_files(golden, new, rules.options)
    found = replace(found, left=str(golden), right=shown_new)
    if found.outcome not in (Outcome.EQUAL, Outcome.WITHIN_TOLERANCE, Outcome.DIVERGED):
        return found
    nan = find_undeclared_nan(read_trace(golden), rules.nan_tensors)
    if nan is None:
        return found
    if found.outcome is Outcome.DIVERGED:
        return replace(found, warnings=(*found.warnings, f"golden: {nan}"))
    return replace(found, outcome=Outcome.DIVERGED, message=f"golden: {nan}")


def find_undeclared_nan(trace: Trace, nan_tensors: Sequence[str]) -> str | None:
    """Return a sentence about the first NaN of a trace that its fixture does not declare.

    `nan_tensors` are globs of tensors in which NaN is declared otherwise; None where all is well.
    """
    fixture = str(trace.header.get("fixture"))
    known = WORKLOADS[fixture].nan_tensors if fixture in WORKLOADS else ()
    declared = (*known, *nan_tensors)
    for event in trace.events:
        for name, count in _nan_counts(event):
            if not any(fnmatchcase(name, glob) for glob in declared):
                return (
                    f"tensor {name} of event {event.event_id} holds {count} NaN, which nothing "
                    f"declares; if it is meant, --allow-nan {name} says so"
                )
    return None


def _nan_counts(event: Event) -> Iterator[tuple[str, int]]:
    """Yield the tensors of an event that hold NaN, with how many."""
    for section in TENSOR_SECTIONS:
        for record in event.payload.get(section, ()):
            count = max(record["stats"].get("nan", 0), list(record.get("values", ())).count("NaN"))
            if count:
                yield record["name"], count
