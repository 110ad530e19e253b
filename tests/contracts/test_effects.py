"""Each rule of effect safety is broken by a hand-written trace that breaks nothing else."""

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
    tool,
    whole,
)
from trace_building import event

from tracediff.contracts import check_trace
from tracediff.contracts.effects import EFFECT_RULES
from tracediff.events import Event, Trace


def without(event_id: str, *events: Event) -> Trace:
    """Return the plain trace without one event, with others in place of its execution."""
    execution = events or (started(), committed())
    kept = [found for found in BEFORE if found.event_id != event_id]
    return tool(*kept, *execution, *AFTER)


OTHER_CALL = {"tool_call_id": "c2", "invocation_id": "i2"}

# rule, event that is reported (None: the whole trace), trace
BROKEN: dict[str, tuple[str, str | None, Trace]] = {
    "not-validated": ("executes-only-what-is-allowed", "started", without("valid")),
    "not-authorised": ("executes-only-what-is-allowed", "started", without("allowed")),
    "not-confirmed": ("executes-only-what-is-allowed", "started", without("approved")),
    "denied-after-all": (
        "executes-only-what-is-allowed",
        "started",
        whole(checked("no", "confirmation.denied"), started(), committed()),
    ),
    "changed-after-approval": (
        "executes-only-what-is-allowed",
        "started",
        whole(
            event("changed", None, "invocation.normalized", ids={"tool_call_id": "c1"}),
            started(),
            committed(),
        ),
    ),
    "approved-is-not-executed": (
        "confirmed-is-executed",
        "started",
        whole(started(digest="sha256:bb"), committed()),
    ),
    "approval-of-another-digest": (
        "confirmed-is-executed",
        "approved",
        tool(
            *BEFORE[:-1],
            event(
                "approved",
                None,
                "confirmation.approved",
                state={"confirmed_digest": "sha256:aa", "invocation_digest": "sha256:bb"},
                ids={"tool_call_id": "c1"},
            ),
            started(),
            committed(),
            *AFTER,
        ),
    ),
    "session-wide-approval": (
        "confirmed-is-executed",
        "started",
        whole(started(ids={"invocation_id": "i9"}), committed(ids={"invocation_id": "i9"})),
    ),
    "no-digest-to-bind": (
        "confirmed-is-executed",
        "started",
        whole(started(digest=None), committed()),
    ),
    "second-effect": (
        "one-effect-per-call",
        "second",
        tool(
            *BEFORE,
            started(),
            committed(),
            committed("second", external_id="e2"),
            encoded(),
            answered(),
            completed(),
            closed(ids=["e1", "e2"]),
        ),
    ),
    "second-effect-without-ids": (
        "one-effect-per-call",
        "second",
        tool(
            *BEFORE,
            started(),
            committed(external_id=None),
            committed("second", external_id=None),
            event("closed", None, "trace.closed", commit={"external_commit": True}),
        ),
    ),
    "started-again-after-the-effect": (
        "one-effect-per-call",
        "again",
        whole(started(), committed(), SECOND),
    ),
    "key-for-two-requests": (
        "one-request-per-key",
        "again",
        whole(
            started(),
            NOT_COMMITTED,
            started("again", attempt=2, request_digest="r2"),
            committed(request_digest="r1"),
        ),
    ),
    "unknown-then-tried-anew": (
        "unknown-outcome-is-queried",
        "again",
        whole(started(), timed_out(), SECOND, committed()),
    ),
    "unknown-then-another-key": (
        "unknown-outcome-is-queried",
        "again",
        whole(
            started(),
            timed_out(),
            ABSENT,
            started("again", attempt=2, idempotency_key="k2"),
            committed(),
        ),
    ),
    "unknown-and-nobody-asked": (
        "unknown-outcome-is-queried",
        "timed-out",
        tool(*BEFORE, started(), timed_out(), *NOTHING),
    ),
    "query-without-an-answer": (
        "unknown-outcome-is-queried",
        "mute",
        whole(started(), queried("mute", None), committed()),
    ),
    "given-up-without-asking": (
        "unknown-outcome-is-queried",
        "abandoned",
        tool(*BEFORE, started(), timed_out(), ABANDONED, *NOTHING),
    ),
    "cut-off-by-length": (
        "truncated-is-not-executed",
        "started",
        tool(ROOT, proposed("length"), *ALLOWED, approved(), started(), committed(), *AFTER),
    ),
    "cut-off-by-max-tokens": (
        "truncated-is-not-executed",
        "started",
        tool(ROOT, proposed("max_tokens"), *ALLOWED, approved(), started(), committed(), *AFTER),
    ),
    "text-as-the-effect": (
        "commit-is-the-effect",
        "said",
        tool(
            *BEFORE,
            started(),
            committed(),
            encoded(),
            answered(commit={"status": "committed"}),
            completed(),
            closed(),
        ),
    ),
    "result-without-effect": (
        "commit-is-the-effect",
        "encoded",
        tool(*BEFORE, started(), NOT_COMMITTED, encoded(), answered(), completed(), closed(False)),
    ),
    "closed-without-the-effect": (
        "closing-tells-the-truth",
        "closed",
        tool(*BEFORE, started(), committed(), *AFTER[:-1], closed(False, ["e1"])),
    ),
    "closed-with-an-effect-that-is-none": (
        "closing-tells-the-truth",
        "closed",
        tool(*BEFORE, closed(True, [])),
    ),
    "closed-with-another-id": (
        "closing-tells-the-truth",
        "closed",
        tool(*BEFORE, started(), committed(), *AFTER[:-1], closed(True, ["e2"])),
    ),
    "closed-as-if-known": (
        "closing-tells-the-truth",
        "closed",
        tool(*BEFORE, started(), timed_out(), UNANSWERED, ABANDONED, closed(False)),
    ),
    "never-closed": (
        "closing-tells-the-truth",
        None,
        tool(*BEFORE, started(), committed(), *AFTER[:-1]),
    ),
    "attempt-counted-wrongly": (
        "attempts-are-counted",
        "again",
        whole(started(), NOT_COMMITTED, started("again", attempt=3), committed()),
    ),
    "beyond-the-budget": (
        "attempts-are-counted",
        "again",
        tool(
            event("root", None, "model.started", settings={"retry_budget": 0}),
            *BEFORE[1:],
            started(),
            NOT_COMMITTED,
            SECOND,
            committed(),
            *AFTER,
        ),
    ),
}


@pytest.mark.parametrize(("rule", "place", "trace"), BROKEN.values(), ids=BROKEN)
def test_rules_are_broken_alone(rule: str, place: str | None, trace: Trace) -> None:
    """The trace breaks its rule at its event, and no other rule."""
    violations = check_trace(trace).violations
    assert {violation.rule for violation in violations} == {rule}, violations
    assert place in {violation.event_id for violation in violations}


def test_every_rule_is_broken_by_some_trace() -> None:
    """No rule of effect safety is without its trace, nor without a statement."""
    assert {rule for rule, _, _ in BROKEN.values()} == {rule.name for rule in EFFECT_RULES}
    assert all(rule.statement for rule in EFFECT_RULES)
