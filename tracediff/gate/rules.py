"""How a golden and a new trace are held against each other, NaN in the golden included.

Knows trace files. Must not know where the new trace comes from.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from tracediff.comparison.folders import diff_listed
from tracediff.diff import DiffOptions, Outcome, TraceDiff
from tracediff.events import Trace
from tracediff.gate.nan import find_undeclared_nan, unused_nan_globs
from tracediff.storage import read_trace


@dataclass(frozen=True, slots=True)
class GateRules:
    """The options of the comparison, and globs of the tensors and fields in which NaN is meant."""

    options: DiffOptions = field(default_factory=DiffOptions)
    nan_tensors: tuple[str, ...] = ()


def compare_with_golden(golden: Path, new: Path, rules: GateRules, shown_new: str) -> TraceDiff:
    """Compare a golden with a new trace; NaN that nobody declared in the golden diverges.

    The result calls the new trace `shown_new`.
    """
    found = diff_listed(golden, new, rules.options)
    found = replace(found, left=str(golden), right=shown_new)
    if found.outcome not in (Outcome.EQUAL, Outcome.WITHIN_TOLERANCE, Outcome.DIVERGED):
        return found
    trace = read_trace(golden)
    if rules.nan_tensors:
        found = _with_unused(found, (trace, read_trace(new)), rules)
    nan = find_undeclared_nan(trace, rules.nan_tensors)
    if nan is None:
        return found
    if found.outcome is Outcome.DIVERGED:
        return replace(found, warnings=(*found.warnings, f"golden: {nan}"))
    return replace(found, outcome=Outcome.DIVERGED, message=f"golden: {nan}")


def _with_unused(found: TraceDiff, traces: Iterable[Trace], rules: GateRules) -> TraceDiff:
    """Return the comparison with the globs for NaN that fit nothing among its unused rules."""
    unused = unused_nan_globs(traces, rules.nan_tensors)
    return replace(found, unused_rules=(*found.unused_rules, *unused)) if unused else found
