"""Runs of tool-001, and what tests look at in their traces."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from tracediff.engine.kernels import find_kernel
from tracediff.events import Event, Trace
from tracediff.recording.recorder import Recorder
from tracediff.recording.sinks import MemorySink
from tracediff.workloads.definitions import Definition, data_folder, read_definition
from tracediff.workloads.run import run_fixture
from tracediff.workloads.tool import World, run_tool
from tracediff.workloads.tool_injections import Injection

FIXTURE = "tool-001"
BRANCHES = (
    "extra-field",
    "confirmation-mismatch",
    "timeout-before-commit",
    "response-lost-after-commit",
    "cancel-after-commit",
)

GENERATED = [("proposal.generated", "PROPOSED")]
PARSED = [*GENERATED, ("proposal.parsed", "PARSED")]
VALIDATED = [*PARSED, ("schema.validated", "VALIDATED")]
NORMALIZED = [*VALIDATED, ("invocation.normalized", "VALIDATED")]
PREPARED = [
    *NORMALIZED,
    ("authorization.allowed", "AUTHORIZED"),
    ("confirmation.requested", "PREPARED"),
]
STARTED = [*PREPARED, ("confirmation.approved", "PREPARED"), ("invocation.started", "EXECUTING")]
COMMITTED = ("external.committed", "COMMITTED")
OBSERVED = ("result.encoded", "OBSERVED")
"""Type and status of the events of a call, up to each of these points of the main line."""


@cache
def definition() -> Definition:
    """Return the fixture's definition."""
    return read_definition(data_folder("fixtures") / FIXTURE)


@cache
def main_line() -> Trace:
    """Return the run without overrides."""
    return run_fixture(FIXTURE)


@cache
def branch(injection: str) -> Trace:
    """Return the run with an injection."""
    return run_fixture(FIXTURE, injection=injection)


def run_with(world: World, **overrides: Any) -> Trace:
    """Return the run in which something outside is replaced."""
    sink = MemorySink()
    settings: Mapping[str, Any] = {**definition().content["settings"], **overrides}
    recorder = Recorder(sink, kind="tool", trace_id="trace-test", event_prefix="t")
    with recorder:
        run_tool(definition(), settings, find_kernel("ordered"), recorder, world=world)
    return sink.trace("test")


def proposing(content: bytes | Callable[[bytes], bytes], **overrides: Any) -> Trace:
    """Return the run in which other bytes stand for the proposal."""
    replaced = content if callable(content) else lambda proposed: content
    return run_with(World(Injection(proposal=replaced)), **overrides)


def states(trace: Trace) -> list[tuple[str, str]]:
    """Return type and status of the events of the tool call."""
    return [
        (event.event_type, event.payload["state"]["status"])
        for event in trace.events
        if "status" in event.payload.get("state", {})
    ]


def the(trace: Trace, event_type: str) -> Event:
    """Return the one event of a type."""
    (found,) = (event for event in trace.events if event.event_type == event_type)
    return found


def choice(trace: Trace, event_type: str) -> Any:
    """Return the choice of the one event of a type."""
    return the(trace, event_type).payload["choice"]


def ending(trace: Trace) -> tuple[str, Any]:
    """Return final status and external commit."""
    closed = trace.events[-1]
    assert closed.event_type == "trace.closed"
    return closed.payload["choice"]["status"], closed.payload["commit"]["external_commit"]


def commits(trace: Trace, key: str) -> list[Any]:
    """Return what the commit sections hold under a key, in order."""
    return [
        event.payload["commit"][key]
        for event in trace.events
        if key in event.payload.get("commit", {})
    ]
