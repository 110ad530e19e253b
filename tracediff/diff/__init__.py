"""Compares two traces: align, compare, decide tolerances, explain, and return one result.

Knows events only. Must not know files, engines, colours or exit statuses.
"""

from tracediff.diff.compare import diff_traces
from tracediff.diff.options import DiffOptions
from tracediff.diff.result import (
    Cause,
    Coverage,
    Divergence,
    EventPlace,
    FieldDifference,
    Outcome,
    TensorDifference,
    TraceDiff,
)

__all__ = [
    "Cause",
    "Coverage",
    "DiffOptions",
    "Divergence",
    "EventPlace",
    "FieldDifference",
    "Outcome",
    "TensorDifference",
    "TraceDiff",
    "diff_traces",
]
