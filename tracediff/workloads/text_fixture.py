"""text-001 as a workload: its settings, and what a run of it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tracediff.engine.kernels import Kernel
from tracediff.recording.recorder import Recorder
from tracediff.workloads.definitions import Definition
from tracediff.workloads.text import run_text
from tracediff.workloads.text_settings import SETTINGS, validate_text
from tracediff.workloads.workload import RunResult, Workload


def _run(
    definition: Definition,
    settings: Mapping[str, Any],
    kernel: Kernel,
    recorder: Recorder,
    on_text: Callable[[str], None],
    injection: str | None,
) -> RunResult:
    result = run_text(definition, settings, kernel, recorder, on_text)
    return RunResult(
        result.text,
        {"finish": str(result.finish_reason), "selected_ids": list(result.selected)},
    )


WORKLOAD = Workload("text-001", _run, SETTINGS, validate=validate_text)
