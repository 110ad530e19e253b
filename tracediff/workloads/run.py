"""Runs a fixture by name: finds it, applies overrides, records, and returns what came out.

Knows all workloads. Must not know the command line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracediff.engine.kernels import find_kernel
from tracediff.errors import UsageError
from tracediff.events import Trace
from tracediff.events.arithmetic import usual_arithmetic
from tracediff.recording.levels import parse_level
from tracediff.recording.recorder import Recorder
from tracediff.recording.sinks import EventSink, MemorySink
from tracediff.suggestions import suggest
from tracediff.workloads.definitions import Definition, data_folder, read_definition
from tracediff.workloads.fixtures import WORKLOADS
from tracediff.workloads.settings import apply_overrides
from tracediff.workloads.workload import RunResult, Workload


def find_workload(name: str) -> Workload:
    """Return the workload of this name; raise UsageError with near matches."""
    if name not in WORKLOADS:
        raise UsageError(f"there is no fixture {name!r}; {suggest(name, WORKLOADS)}")
    return WORKLOADS[name]


def definition_of(workload: Workload) -> Definition:
    """Return the workload's packaged definition."""
    return read_definition(data_folder("fixtures") / workload.name)


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What to run and how: fixture, overrides, injection, kernel and tensor level."""

    fixture: str
    overrides: Mapping[str, Any] = field(default_factory=dict)
    injection: str | None = None
    kernel: str = "ordered"
    tensors: str = "sketch"


@usual_arithmetic()
def record_fixture(
    request: RunRequest,
    sink: EventSink | Callable[[], EventSink],
    on_text: Callable[[str], None] = lambda text: None,
) -> RunResult:
    """Run a fixture into a sink; raise UsageError before anything is opened where it is wrong.

    `sink` may be a function that opens it: it is called once the request is known to be valid.
    """
    workload = find_workload(request.fixture)
    definition = definition_of(workload)
    defaults = definition.content["settings"]
    settings = apply_overrides(workload.name, workload.settings, defaults, request.overrides)
    if request.injection is not None and request.injection not in workload.injections:
        raise UsageError(
            f"{workload.name} has no injection {request.injection!r}; "
            f"{suggest(request.injection, workload.injections)}"
        )
    kernel, level = find_kernel(request.kernel), parse_level(request.tensors)
    workload.validate(definition, settings)
    overrides = {key: settings[key] for key in settings if key in request.overrides}
    header: dict[str, Any] = {"fixture": workload.name, "overrides": overrides}
    if request.injection is not None:
        header["injection"] = request.injection
    header["kernel"] = kernel.name
    recorder = Recorder(
        sink() if callable(sink) else sink,
        kind=definition.content["kind"],
        trace_id=f"trace-{workload.name}",
        tensors=level,
        tolerances=workload.tolerances,
        event_prefix=workload.event_prefix,
        header=header,
    )
    with recorder:
        return workload.run(definition, settings, kernel, recorder, on_text, request.injection)


def run_fixture(
    fixture: str,
    overrides: Mapping[str, Any] | None = None,
    *,
    injection: str | None = None,
    kernel: str = "ordered",
    tensors: str = "sketch",
) -> Trace:
    """Run a fixture in memory and return its trace.

    Raises UsageError for an unknown fixture, override, injection, kernel or tensor level, and
    TokenizerError for a prompt that the vocabulary does not cover.
    """
    sink = MemorySink()
    record_fixture(RunRequest(fixture, overrides or {}, injection, kernel, tensors), sink)
    return sink.trace(fixture)


def golden_path(fixture: str, injection: str | None = None) -> Path:
    """Return where the committed golden trace of a fixture (and branch) is."""
    name = fixture if injection is None else f"{fixture}.{injection}"
    return data_folder("traces") / f"{name}.jsonl"
