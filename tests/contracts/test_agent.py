"""Each rule on agent loops is broken by an edit that breaks nothing else, and is reported."""

from functools import cache
from typing import Any

import pytest
from contracts.text_edits import broken, broken_rules
from trace_edits import Edit, drop, put, repeat

from tracediff.contracts.agent import AGENT_RULES
from tracediff.events import Trace
from tracediff.workloads.run import run_fixture


@cache
def main_line() -> Trace:
    """Return the run without overrides: a00 to a12, the tool is called at a04 and a08."""
    return run_fixture("agent-001")


def first_call_again(trace: Trace) -> Trace:
    """Return the trace with the digest of the first call at the second."""
    (first,) = (event for event in trace.events if event.event_id == "a04")
    digest = first.payload["state"]["arguments_digest"]
    return put("a08", "state", arguments_digest=digest)(trace)


BROKEN: list[Any] = [
    pytest.param(
        *("agent-turns-are-counted", "a12"), put("a12", "choice", turns=2), id="turns-miscounted"
    ),
    pytest.param(
        *("agent-turns-are-counted", "a12"), put("a00", "settings", max_turns=2), id="turns-beyond"
    ),
    pytest.param(
        *("agent-budget-is-kept", "a12"), put("a12", "choice", total_tokens=1), id="miscounted"
    ),
    pytest.param(
        *("agent-budget-is-kept", "a12"), put("a00", "settings", budget_tokens=100), id="overdrawn"
    ),
    pytest.param(
        *("agent-prompts-fit", "a09"), put("a00", "settings", context_window=90), id="no-room"
    ),
    pytest.param(
        *("agent-actions-are-the-text", "a03"),
        put("a02", "choice", finish_reason="max_tokens"),
        id="truncated-and-accepted",
    ),
    pytest.param(
        *("agent-actions-are-the-text", "a11"),
        put("a11", "choice", action={"action": "reply", "at": "none"}),
        id="another-answer",
    ),
    pytest.param(
        *("agent-calls-were-accepted", "a04"),
        put("a04", "state", arguments={"action": "find", "at": "none"}),
        id="other-arguments",
    ),
    pytest.param(
        *("agent-calls-are-not-repeated", "a08"),
        first_call_again,
        id="the-same-call-twice",
    ),
    pytest.param(
        *("agent-reason-is-true", "a12"), put("a12", "choice", answer=None), id="no-answer"
    ),
    pytest.param(
        *("agent-reason-is-true", "a12"),
        put("a12", "choice", stop_reason="max_turns", answer=None),
        id="not-at-the-limit",
    ),
    pytest.param(
        *("agent-reason-is-true", "a12"),
        put("a12", "choice", stop_reason="repeated_call", answer=None),
        id="nothing-was-repeated",
    ),
]


@pytest.mark.parametrize(("rule", "event_id", "edit"), BROKEN)
def test_rule_is_broken_alone(rule: str, event_id: str, edit: Edit) -> None:
    """Only the rule that the edit breaks is reported, at the event where it breaks."""
    assert broken(edit(main_line())) == {(rule, event_id)}


@pytest.mark.parametrize(
    "edit", [pytest.param(repeat("a12"), id="twice"), pytest.param(drop("a12"), id="never")]
)
def test_an_end_that_is_not_one(edit: Edit) -> None:
    """A loop ends exactly once."""
    assert "agent-finishes-once" in broken_rules(edit(main_line()))


def test_main_line_breaks_nothing() -> None:
    """The true run keeps the contract."""
    assert broken(main_line()) == set()


def test_every_rule_was_broken() -> None:
    """The tables above break every rule there is."""
    names = {row.values[0] for row in BROKEN} | {"agent-finishes-once"}
    assert names == {rule.name for rule in AGENT_RULES}
