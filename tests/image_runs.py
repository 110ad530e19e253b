"""Runs of image-001, and what tests look at in their traces."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from tracediff.events import Event, Trace
from tracediff.events.tensors import tensor_from_json
from tracediff.recording.sinks import MemorySink
from tracediff.workloads.run import RunRequest, record_fixture, run_fixture
from tracediff.workloads.workload import RunResult

SHORT = {"timesteps": [999, 499]}
"""Two steps instead of four, where the number of steps does not matter."""


def run(overrides: Mapping[str, Any], kernel: str = "ordered", tensors: str = "sketch") -> Trace:
    """Run image-001 with overrides in memory."""
    return run_fixture("image-001", overrides, kernel=kernel, tensors=tensors)


@cache
def main_line(kernel: str = "ordered", tensors: str = "sketch") -> Trace:
    """Return the run without overrides."""
    return run({}, kernel, tensors)


@cache
def short_run(kernel: str = "ordered", tensors: str = "sketch") -> Trace:
    """Return the run with two steps."""
    return run(SHORT, kernel, tensors)


@cache
def finished_run() -> tuple[Trace, RunResult]:
    """Return the run without overrides with all its tensors, and what it returned."""
    sink = MemorySink()
    result = record_fixture(RunRequest("image-001", tensors="full"), sink)
    return sink.trace("image-001"), result


def of_type(trace: Trace, event_type: str) -> list[Event]:
    """Return the events of one type, in order."""
    return [event for event in trace.events if event.event_type == event_type]


def states(trace: Trace, key: str) -> list[Any]:
    """Return a value of every denoising step's state."""
    return [event.payload["state"][key] for event in of_type(trace, "denoise.updated")]


def record_of(event: Event, name: str) -> Mapping[str, Any]:
    """Return the record of one tensor of an event."""
    records = [*event.payload.get("inputs", ()), *event.payload.get("outputs", ())]
    found: Mapping[str, Any] = next(record for record in records if record["name"] == name)
    return found


def tensor_of(trace: Trace, event: Event, name: str) -> np.ndarray[Any, Any]:
    """Return one tensor of an event in a run with full tensors."""
    assert trace.tensors is not None
    found = trace.tensors.load(tensor_from_json(record_of(event, name)))
    assert found is not None
    return found
