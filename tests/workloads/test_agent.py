"""agent-001: the main line, every reason for which the loop ends, and what it never does."""

from typing import Any

import pytest

from tracediff.contracts import check_trace
from tracediff.diff import Outcome, diff_traces
from tracediff.errors import TokenizerError, UsageError
from tracediff.events import Event, Trace
from tracediff.workloads.run import run_fixture

FIXTURE = "agent-001"
REPEATING = "当地“七点中午"
"""A request at which the toy asks 14:00, 09:00 and then one of them again."""

MAIN_LINE = {"stop_reason": "final_answer", "turns": 3, "answer": "09:00", "total_tokens": 207}
FREE = {"repeats_allowed": 100, "max_turns": 30, "budget_tokens": 1_000_000}
"""Limits that are out of the way."""


def run(**overrides: Any) -> Trace:
    """Return a run with overrides."""
    return run_fixture(FIXTURE, overrides)


def of_type(trace: Trace, event_type: str) -> list[Event]:
    """Return the events of a type."""
    return [event for event in trace.events if event.event_type == event_type]


def finish(trace: Trace) -> Any:
    """Return how the loop ended."""
    (found,) = of_type(trace, "agent.finished")
    return found.payload["choice"]


def calls(trace: Trace) -> list[str]:
    """Return the options that the tool was asked about."""
    return [event.payload["state"]["arguments"]["at"] for event in of_type(trace, "tool.returned")]


def test_main_line() -> None:
    """Two calls of the tool, then the answer; each turn reads what the ones before returned."""
    trace = run()
    types = [event.event_type for event in trace.events]
    turn = ["model.started", "action.generated", "action.accepted"]
    assert types == [
        "agent.started",
        *[*turn, "tool.returned"] * 2,
        *turn,
        "agent.finished",
    ]
    assert finish(trace) == MAIN_LINE
    lengths = [event.payload["state"]["input_token_count"] for event in of_type(trace, turn[0])]
    reused = [event.payload["state"]["reused_positions"] for event in of_type(trace, turn[0])]
    assert lengths == sorted(lengths)
    # Only what is new is computed: the history comes from the cache.
    assert reused[0] == 0
    assert reused[1:] == lengths[:-1]


# overrides, reason, turns, tool calls
ENDINGS = [
    pytest.param({"max_turns": 2}, "max_turns", 2, 2, id="max-turns"),
    pytest.param({"max_turns": 1}, "max_turns", 1, 1, id="one-turn"),
    pytest.param({"max_turns": 3}, "final_answer", 3, 2, id="answer-at-the-limit"),
    pytest.param({"budget_tokens": 100}, "budget", 1, 1, id="budget"),
    pytest.param({"budget_tokens": 30}, "budget", 0, 0, id="budget-for-nothing"),
    pytest.param({"max_turn_tokens": 5}, "truncated", 1, 0, id="cut-in-the-middle"),
    pytest.param({"context_window": 40}, "context_window", 0, 0, id="window-of-the-request"),
    pytest.param({"request": REPEATING}, "repeated_call", 3, 2, id="repeated"),
]


@pytest.mark.parametrize(("overrides", "reason", "turns", "called"), ENDINGS)
def test_endings(overrides: dict[str, Any], reason: str, turns: int, called: int) -> None:
    """Each limit ends the loop by its own word, and the contract holds."""
    trace = run(**overrides)
    ended = finish(trace)
    assert (ended["stop_reason"], ended["turns"]) == (reason, turns)
    assert (ended["answer"] is not None) == (reason == "final_answer")
    assert len(calls(trace)) == called
    assert check_trace(trace).violations == ()


@pytest.mark.parametrize("limit", range(1, 16))
def test_a_cut_off_action_is_never_carried_out(limit: int) -> None:
    """Wherever max_turn_tokens cuts the arguments: truncated, and the tool is not called."""
    trace = run(max_turn_tokens=limit)
    (generated,) = of_type(trace, "action.generated")
    assert generated.payload["choice"]["finish_reason"] == "max_tokens"
    (rejected,) = of_type(trace, "action.rejected")
    assert rejected.payload["choice"]["reason"] == "truncated"
    assert calls(trace) == []
    assert check_trace(trace).violations == ()


def test_a_repeated_call_is_not_made() -> None:
    """The same call again is refused before the tool hears of it."""
    trace = run(request=REPEATING)
    (rejected,) = of_type(trace, "action.rejected")
    assert rejected.payload["choice"]["reason"] == "repeated_call"
    made = calls(trace)
    assert len(made) == len(set(made))


def test_allowed_repeats() -> None:
    """A loop that may repeat itself once goes on, and comes to another end."""
    trace = run(request=REPEATING, repeats_allowed=1)
    assert finish(trace)["stop_reason"] == "final_answer"
    assert calls(trace) == ["14:00", "09:00", "09:00"]
    assert check_trace(trace).violations == ()


def test_history_is_compacted() -> None:
    """A context that is nearly full drops its oldest rounds, keeps what they said, and goes on."""
    trace = run(request=REPEATING, **{**FREE, "max_turns": 8, "context_window": 110})
    compacted = of_type(trace, "history.compacted")
    assert compacted
    for event in compacted:
        before = event.payload["state"]["prompt_tokens"]
        choice = event.payload["choice"]
        assert choice["prompt_tokens"] < before
        assert choice["prompt_tokens"] + 32 <= 110 < before + 32
        assert set(choice["learnt"]) <= set(calls(trace))
    assert finish(trace)["stop_reason"] == "max_turns"
    assert check_trace(trace).violations == ()


def test_the_first_difference_is_where_the_loops_part() -> None:
    """Fewer turns are found at the turn that is missing, with the setting as trigger."""
    compared = diff_traces(run(), run(max_turns=2))
    assert compared.outcome is Outcome.DIVERGED
    assert compared.first is not None
    assert compared.first.left is not None
    assert compared.first.left.event_type == "model.started"
    assert compared.first.left.logical_step == 3
    assert [trigger.field for trigger in compared.triggers] == ["payload.settings.max_turns"]


@pytest.mark.parametrize(
    ("overrides", "error", "message"),
    [
        pytest.param({"max_turns": 0}, UsageError, "from 1 to 100", id="no-turns"),
        pytest.param({"turns": 1}, UsageError, "has no setting 'turns'", id="unknown"),
        pytest.param({"request": "😀"}, TokenizerError, "no piece for", id="vocabulary"),
    ],
)
def test_refused_settings(overrides: dict[str, Any], error: type[Exception], message: str) -> None:
    """What cannot be run is refused before anything is recorded."""
    with pytest.raises(error, match=message):
        run(**overrides)
