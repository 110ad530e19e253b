"""Runs of text-001 with overrides, and what tests look at in their traces."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from tracediff.events import Event, Trace
from tracediff.workloads.run import run_fixture


def run(overrides: Mapping[str, Any], kernel: str = "ordered") -> Trace:
    """Run text-001 with overrides in memory."""
    return run_fixture("text-001", overrides, kernel=kernel)


@cache
def main_line() -> Trace:
    """Return the run without overrides."""
    return run({})


@cache
def sampled_run() -> Trace:
    """Return a run that draws a random number at e05, e09, e13 and e17."""
    return run({"temperature": 0.7, "seed": 1})


def of_type(trace: Trace, event_type: str) -> list[Event]:
    """Return the events of one type, in order."""
    return [event for event in trace.events if event.event_type == event_type]


def selected(trace: Trace) -> list[int]:
    """Return the selected ids."""
    return [event.payload["choice"]["token_id"] for event in of_type(trace, "token.selected")]


def deltas(trace: Trace) -> list[str]:
    """Return the streamed pieces of text."""
    return [event.payload["choice"]["text"] for event in of_type(trace, "stream.delta")]


def logits_after(event: Event, processor: str) -> np.ndarray[Any, Any]:
    """Return the float32 logits [vocabulary] that a selection records after a processor."""
    name = f"logits.{processor}"
    record = next(record for record in event.payload["outputs"] if record["name"] == name)
    return np.array(record["values"], np.float32)
