"""The state table of a tool call: what it must promise whoever relies on it."""

import pytest

from tracediff.events.tool_states import (
    CALL_TRIGGERS,
    TRANSITIONS,
    ToolState,
    Trigger,
    find_trigger,
    next_state,
)

SAFE = (ToolState.VALIDATED, ToolState.AUTHORIZED, ToolState.CONFIRMED)

# Chapter 7, 7.11 to 7.14: the events t01 to t10 and the status that each records.
MAIN_LINE = (
    (Trigger.PROPOSAL_GENERATED, "PROPOSED"),
    (Trigger.PROPOSAL_PARSED, "PARSED"),
    (Trigger.SCHEMA_VALIDATED, "VALIDATED"),
    (Trigger.INVOCATION_NORMALIZED, "VALIDATED"),
    (Trigger.AUTHORIZATION_ALLOWED, "AUTHORIZED"),
    (Trigger.CONFIRMATION_REQUESTED, "PREPARED"),
    (Trigger.CONFIRMATION_APPROVED, "PREPARED"),
    (Trigger.INVOCATION_STARTED, "EXECUTING"),
    (Trigger.EXTERNAL_COMMITTED, "COMMITTED"),
    (Trigger.RESULT_ENCODED, "OBSERVED"),
)


def reachable(start: ToolState, without: ToolState | None = None) -> set[ToolState]:
    found: set[ToolState] = set()
    waiting = [start]
    while waiting:
        state = waiting.pop()
        if state not in found and state is not without:
            found.add(state)
            waiting.extend(TRANSITIONS[state].values())
    return found


def test_main_line_has_the_chapters_states() -> None:
    """The events of the main line lead through the chapter's states."""
    state = ToolState.GENERATING
    for trigger, status in MAIN_LINE:
        following = next_state(state, trigger)
        assert following is not None
        assert following.status == status
        state = following


def test_every_state_has_a_row_and_is_reached() -> None:
    """The table names every state, and a request can get to each."""
    assert set(TRANSITIONS) == set(ToolState)
    assert reachable(ToolState.READY) == set(ToolState)


def test_every_trigger_is_used() -> None:
    """No trigger is without a place in the table."""
    assert {trigger for row in TRANSITIONS.values() for trigger in row} == set(Trigger)


@pytest.mark.parametrize("state", ToolState)
def test_every_state_can_be_closed(state: ToolState) -> None:
    """From everywhere there is a way to the end."""
    assert ToolState.CLOSED in reachable(state)


@pytest.mark.parametrize("needed", SAFE)
def test_no_way_to_execution_leads_past(needed: ToolState) -> None:
    """Without this state nothing executes."""
    assert ToolState.EXECUTING not in reachable(ToolState.READY, without=needed)


def test_no_way_to_a_commit_leads_past_execution() -> None:
    """Nothing is committed that was not started."""
    assert ToolState.COMMITTED not in reachable(ToolState.READY, without=ToolState.EXECUTING)


def test_an_unknown_outcome_is_left_by_asking_or_openly() -> None:
    """From an unknown outcome only an answered query leads on; giving up says so."""
    leads = TRANSITIONS[ToolState.OUTCOME_UNKNOWN]
    assert Trigger.INVOCATION_STARTED not in leads
    assert Trigger.REQUEST_CANCELLED not in leads
    assert leads[Trigger.INVOCATION_ABANDONED] is ToolState.OUTCOME_UNRESOLVED


def test_nothing_starts_again_after_a_commit() -> None:
    """Once committed, no way leads back to an execution."""
    assert ToolState.EXECUTING not in reachable(ToolState.COMMITTED)


@pytest.mark.parametrize(
    ("event_type", "outcome", "trigger"),
    [
        pytest.param("external.committed", None, Trigger.EXTERNAL_COMMITTED, id="plain"),
        pytest.param("external.committed", "x", Trigger.EXTERNAL_COMMITTED, id="needless-outcome"),
        pytest.param("external.queried", "found", Trigger.QUERY_FOUND, id="found"),
        pytest.param("external.queried", "absent", Trigger.QUERY_ABSENT, id="absent"),
        pytest.param("external.queried", None, None, id="query-without-outcome"),
        pytest.param("token.selected", None, None, id="another-kind-of-event"),
    ],
)
def test_events_are_recognised(
    event_type: str, outcome: str | None, trigger: Trigger | None
) -> None:
    """An event's type, and its outcome where it needs one, say what it does."""
    assert find_trigger(event_type, outcome) is trigger


def test_every_recorded_type_names_its_trigger() -> None:
    """The way from a trigger to its event and back ends where it began."""
    for trigger in Trigger:
        assert find_trigger(trigger.event_type, trigger.outcome) is trigger
    assert frozenset(Trigger) >= CALL_TRIGGERS


@pytest.mark.parametrize(
    ("state", "word"),
    [
        (ToolState.FINISHED, "FINISHED"),
        (ToolState.VALIDATION_REJECTED, "validation-rejected"),
        (ToolState.CONFIRMATION_REJECTED, "confirmation-rejected"),
        (ToolState.CANCELLED_AFTER_COMMIT, "cancelled-after-commit"),
    ],
)
def test_final_words(state: ToolState, word: str) -> None:
    """A request that ends here is called by this word."""
    assert state.final_status == word
