"""tool-001 as a workload: its settings and injections, and what a run of it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tracediff.engine.kernels import Kernel
from tracediff.recording.recorder import Recorder
from tracediff.workloads.definitions import Definition
from tracediff.workloads.tool import World, run_tool
from tracediff.workloads.tool_injections import INJECTIONS
from tracediff.workloads.tool_settings import SETTINGS, validate
from tracediff.workloads.workload import RunResult, Workload


def _run(
    definition: Definition,
    settings: Mapping[str, Any],
    kernel: Kernel,
    recorder: Recorder,
    on_text: Callable[[str], None],
    injection: str | None,
) -> RunResult:
    world = World() if injection is None else World(INJECTIONS[injection])
    result = run_tool(definition, settings, kernel, recorder, on_text, world)
    return RunResult(
        result.text or result.status,
        {
            "status": result.status,
            "external_commit": result.external_commit,
            "external_id": result.external_id,
        },
    )


WORKLOAD = Workload(
    "tool-001",
    _run,
    SETTINGS,
    injections=tuple(INJECTIONS),
    validate=validate,
    event_prefix="t",
)
