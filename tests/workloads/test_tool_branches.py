"""tool-001, the branches: each injection leads through its events and states to its end."""

import pytest
from tool_runs import (
    BRANCHES,
    COMMITTED,
    OBSERVED,
    PARSED,
    PREPARED,
    STARTED,
    branch,
    choice,
    commits,
    ending,
    main_line,
    run_with,
    states,
    the,
)

from tracediff.contracts import check_trace
from tracediff.toolcalls.channel import FaultPoint
from tracediff.workloads.fixtures import WORKLOADS
from tracediff.workloads.run import run_fixture
from tracediff.workloads.tool import World
from tracediff.workloads.tool_injections import Injection

BRANCH_TABLE: dict[str, tuple[list[tuple[str, str]], str, bool]] = {
    "extra-field": (
        [*PARSED, ("schema.rejected", "VALIDATION_REJECTED")],
        "validation-rejected",
        False,
    ),
    "confirmation-mismatch": (
        [*PREPARED, ("confirmation.rejected", "CONFIRMATION_REJECTED")],
        "confirmation-rejected",
        False,
    ),
    "timeout-before-commit": (
        [
            *STARTED,
            ("external.not_committed", "NOT_COMMITTED"),
            ("invocation.started", "EXECUTING"),
            COMMITTED,
            OBSERVED,
        ],
        "FINISHED",
        True,
    ),
    "response-lost-after-commit": (
        [
            *STARTED,
            ("external.timed_out", "OUTCOME_UNKNOWN"),
            ("external.queried", "COMMITTED"),
            OBSERVED,
        ],
        "FINISHED",
        True,
    ),
    "cancel-after-commit": (
        [*STARTED, COMMITTED, ("request.cancelled", "CANCELLED_AFTER_COMMIT")],
        "cancelled-after-commit",
        True,
    ),
}


@pytest.mark.parametrize("name", BRANCH_TABLE)
def test_branches(name: str) -> None:
    """Each injection leads through these events and states to this end."""
    expected, status, external_commit = BRANCH_TABLE[name]
    trace = branch(name)
    assert states(trace) == expected
    assert ending(trace) == (status, external_commit)
    assert trace.header["injection"] == name
    assert check_trace(trace).violations == ()


def test_the_injections_are_these() -> None:
    """The fixture offers exactly the branches of the table."""
    assert WORKLOADS["tool-001"].injections == BRANCHES == tuple(BRANCH_TABLE)


def test_the_extra_field_is_named() -> None:
    """The rejection names the field that the schema does not know."""
    breaches = choice(branch("extra-field"), "schema.rejected")["breaches"]
    assert breaches == [{"path": "$", "keyword": "additionalProperties", "detail": "notify_all"}]
    assert b"notify_all" not in choice(branch("extra-field"), "proposal.generated")["text"].encode()


def test_the_mismatch_shows_both_digests() -> None:
    """The rejection holds the digest for 9:00 and the one for 10:00."""
    trace = branch("confirmation-mismatch")
    state = the(trace, "confirmation.rejected").payload["state"]
    asked = the(trace, "confirmation.requested").payload["state"]["invocation_digest"]
    assert state["confirmed_digest"] == asked
    assert state["invocation_digest"] != asked


@pytest.mark.parametrize("name", ["timeout-before-commit", "response-lost-after-commit"])
def test_one_key_and_one_effect(name: str) -> None:
    """All attempts and queries have one key and one digest, and there is one external id."""
    trace = branch(name)
    assert set(commits(trace, "idempotency_key")) == {"req-42:create-event:1"}
    assert len(set(commits(trace, "request_digest"))) == 1
    assert commits(trace, "external_id") == ["evt_6K2"]


def test_the_retry_is_attempt_2_and_commits_later() -> None:
    """What was not committed is tried again after a while; the commit has its own time."""
    trace = branch("timeout-before-commit")
    assert commits(trace, "attempt") == [1, 1, 2, 2]
    assert commits(trace, "committed_at") == ["2026-07-19T14:00:07+08:00"]


def test_the_queried_commit_keeps_its_time() -> None:
    """The lost reply cost the client its deadline; the event is as old as it is."""
    trace = branch("response-lost-after-commit")
    assert commits(trace, "committed_at") == ["2026-07-19T14:00:04+08:00"]
    assert commits(trace, "at")[-1] == "2026-07-19T14:00:33+08:00"


@pytest.mark.parametrize("name", ["timeout-before-commit", "response-lost-after-commit"])
def test_the_model_reads_and_says_the_same(name: str) -> None:
    """However the commit came about, the second call's prompt and answer are the main line's."""
    for event_type in ("text.delta", "response.completed"):
        assert choice(branch(name), event_type) == choice(main_line(), event_type)


def test_a_cancelled_request_returns_the_event() -> None:
    """After a late cancellation nothing is generated, and the event's id is given back."""
    trace = branch("cancel-after-commit")
    assert choice(trace, "request.cancelled") == {"event_id": "evt_6K2", "effect": "stays"}
    assert [e.event_type for e in trace.events].count("model.started") == 1


def test_the_budget_ends_the_retries() -> None:
    """With no retry left the call is given up, and the trace says that nothing was committed."""
    trace = run_fixture("tool-001", {"retry_budget": 0}, injection="timeout-before-commit")
    assert states(trace)[-1] == ("invocation.abandoned", "RETRIES_EXHAUSTED")
    assert ending(trace) == ("retries-exhausted", False)
    assert check_trace(trace).violations == ()


def test_an_outcome_that_stays_unknown_is_called_so() -> None:
    """Where no query is ever answered, the trace states neither that there is an effect nor not."""
    faults = (FaultPoint.REPLY_LOST, *[FaultPoint.BEFORE_SEND] * 3)
    trace = run_with(World(Injection(faults=faults)))
    assert states(trace)[-1] == ("invocation.abandoned", "OUTCOME_UNRESOLVED")
    assert ending(trace) == ("outcome-unresolved", None)
    assert check_trace(trace).violations == ()
