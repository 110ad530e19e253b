"""image-001 as a workload: its settings, and what a run of it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tracediff.engine.kernels import Kernel
from tracediff.recording.recorder import Recorder
from tracediff.workloads.definitions import Definition
from tracediff.workloads.image import run_image
from tracediff.workloads.image_records import TOLERANCES
from tracediff.workloads.image_settings import SETTINGS, validate
from tracediff.workloads.workload import RunResult, Workload


def _run(
    definition: Definition,
    settings: Mapping[str, Any],
    kernel: Kernel,
    recorder: Recorder,
    on_text: Callable[[str], None],
    injection: str | None,
) -> RunResult:
    result = run_image(definition, settings, kernel, recorder)
    names = (
        ["png"]
        if len(result.pictures) == 1
        else [f"{index}.png" for index in range(len(result.pictures))]
    )
    return RunResult(
        f"{len(names)} picture{'s' if len(names) > 1 else ''} of 512 x 512",
        {"timesteps": list(result.timesteps), "png_bytes": len(result.pictures[0])},
        dict(zip(names, result.pictures, strict=True)),
    )


WORKLOAD = Workload(
    "image-001",
    _run,
    SETTINGS,
    tolerances=TOLERANCES,
    validate=validate,
    event_prefix="d",
)
