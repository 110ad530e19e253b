"""ddim-2d as a workload: its settings, and what a run of it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tracediff.engine.kernels import Kernel
from tracediff.recording.recorder import Recorder
from tracediff.workloads.ddim_2d import SETTINGS, run_ddim_2d, validate
from tracediff.workloads.definitions import Definition
from tracediff.workloads.workload import RunResult, Workload


def _run(
    definition: Definition,
    settings: Mapping[str, Any],
    kernel: Kernel,
    recorder: Recorder,
    on_text: Callable[[str], None],
    injection: str | None,
) -> RunResult:
    latent = run_ddim_2d(definition, settings, recorder)
    return RunResult(", ".join(f"{x:.6f}" for x in latent), {"latent": list(latent)})


WORKLOAD = Workload("ddim-2d", _run, SETTINGS, validate=validate, event_prefix="d")
