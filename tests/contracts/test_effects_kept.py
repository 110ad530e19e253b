"""Hand-written traces that are in order, and calls that are told apart."""

from typing import Any

import pytest
from contracts.tool_traces import (
    ABANDONED,
    ABSENT,
    AFTER,
    ALLOWED,
    BEFORE,
    NOT_COMMITTED,
    NOTHING,
    ROOT,
    SECOND,
    UNANSWERED,
    answered,
    approved,
    checked,
    closed,
    committed,
    completed,
    encoded,
    proposed,
    queried,
    started,
    timed_out,
    told,
    tool,
    whole,
)
from trace_building import chain, event

from tracediff.contracts import check_trace
from tracediff.events import Event, Trace

IN_ORDER: dict[str, Trace] = {
    "plain": whole(started(), committed()),
    "retried-after-a-no": whole(started(), NOT_COMMITTED, SECOND, committed()),
    "queried": whole(started(), timed_out(), queried()),
    "queried-and-retried": whole(started(), timed_out(), ABSENT, SECOND, committed()),
    "asked-twice": whole(started(), timed_out(), UNANSWERED, queried()),
    "told-twice": whole(started(), committed(), committed("copy")),
    "never-known": tool(*BEFORE, started(), timed_out(), UNANSWERED, ABANDONED, *NOTHING),
    "refused": tool(*BEFORE, started(), told("no", "external.refused", "refused"), closed(False)),
    "rejected": tool(
        ROOT, proposed(), ALLOWED[0], checked("bad", "schema.rejected"), closed(False)
    ),
    "cut-off": tool(ROOT, proposed("length"), checked("no", "proposal.rejected"), closed(False)),
    "confirmed-anew": tool(
        *BEFORE[:-1],
        checked("stale", "confirmation.rejected"),
        event("new", None, "invocation.normalized", ids={"tool_call_id": "c1"}),
        checked("allowed-2", "authorization.allowed"),
        checked("asked-2", "confirmation.requested"),
        approved(),
        started(),
        committed(),
        *AFTER,
    ),
}


@pytest.mark.parametrize("name", IN_ORDER)
def test_traces_in_order(name: str) -> None:
    """What is in order breaks no rule, whoever wrote it."""
    assert check_trace(IN_ORDER[name]).violations == ()


def call(number: int, *events: Event) -> list[Event]:
    """Return events as another call's, under ids and keys of their own."""

    def renamed(found: Event) -> Event:
        payload: dict[str, Any] = {**found.payload}
        ids = payload.get("ids", {})
        payload["ids"] = {key: f"{value}-{number}" for key, value in ids.items()}
        if "commit" in payload:
            key = f"k{number}"
            payload["commit"] = {**payload["commit"], "idempotency_key": key}
            if "external_id" in payload["commit"]:
                payload["commit"]["external_id"] = f"e{number}"
        event_id = f"{found.event_id}-{number}"
        return event(event_id, None, found.event_type, **payload)

    return [renamed(found) for found in events]


def interleaved(*calls: list[Event]) -> list[Event]:
    return [found for row in zip(*calls, strict=True) for found in row]


def test_parallel_calls_are_told_apart() -> None:
    """Two calls whose events alternate are two calls, each in order."""
    events = (*BEFORE[1:], started(), committed(), encoded())
    both = interleaved(call(1, *events), call(2, *events))
    trace = tool(ROOT, *both, answered(), completed(), closed(ids=["e1", "e2"]))
    assert check_trace(trace).violations == ()


def test_one_calls_approval_is_not_anothers() -> None:
    """An approval of call 1 does not serve call 2."""
    events = (*BEFORE[1:], started(), committed(), encoded())
    unapproved = [found for found in events if found.event_id != "approved"]
    trace = tool(
        ROOT,
        *call(1, *events),
        *call(2, *unapproved),
        answered(),
        completed(),
        closed(ids=["e1", "e2"]),
    )
    violations = check_trace(trace).violations
    assert [(v.rule, v.event_id) for v in violations] == [
        ("executes-only-what-is-allowed", "started-2")
    ]


def test_other_kinds_are_not_held_to_these_rules() -> None:
    """A trace of another kind may execute what it likes."""
    trace = chain(ROOT, started(), kind="generic")
    assert check_trace(trace).violations == ()
