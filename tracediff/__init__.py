"""tracediff: record what a model execution did, and find the first event in which two part.

The public library. Names load on first use, so that importing the package costs nothing.

PYTEST_DONT_REWRITE: pytest would rewrite the assertions of a plugin's package, and warns where
that was imported before. This module has none.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracediff.contracts import Report, Violation, check_trace
    from tracediff.diff import (
        Cause,
        DiffOptions,
        Divergence,
        Outcome,
        TensorDifference,
        TraceDiff,
        diff_traces,
    )
    from tracediff.errors import TracediffError
    from tracediff.events import Event, ToleranceRule, Tolerances, Trace
    from tracediff.recording.recordable import Draw, Tensor
    from tracediff.recording.recorder import Recorder
    from tracediff.storage import read_trace, write_trace
    from tracediff.workloads.run import run_fixture

__version__ = "0.1.0"

_HOMES = {
    "Cause": "tracediff.diff",
    "DiffOptions": "tracediff.diff",
    "Divergence": "tracediff.diff",
    "Draw": "tracediff.recording.recordable",
    "Event": "tracediff.events",
    "Outcome": "tracediff.diff",
    "Recorder": "tracediff.recording.recorder",
    "Report": "tracediff.contracts",
    "Tensor": "tracediff.recording.recordable",
    "TensorDifference": "tracediff.diff",
    "ToleranceRule": "tracediff.events",
    "Tolerances": "tracediff.events",
    "Trace": "tracediff.events",
    "TraceDiff": "tracediff.diff",
    "TracediffError": "tracediff.errors",
    "Violation": "tracediff.contracts",
    "check_trace": "tracediff.contracts",
    "diff_traces": "tracediff.diff",
    "read_trace": "tracediff.storage",
    "run_fixture": "tracediff.workloads.run",
    "write_trace": "tracediff.storage",
}

__all__ = [
    "Cause",
    "DiffOptions",
    "Divergence",
    "Draw",
    "Event",
    "Outcome",
    "Recorder",
    "Report",
    "Tensor",
    "TensorDifference",
    "ToleranceRule",
    "Tolerances",
    "Trace",
    "TraceDiff",
    "TracediffError",
    "Violation",
    "check_trace",
    "diff_traces",
    "read_trace",
    "run_fixture",
    "write_trace",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tracediff' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
