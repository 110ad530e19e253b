"""Rules on proposals: each is broken by an edit of tool-001 that breaks nothing else."""

from typing import Any

import pytest
from tool_runs import main_line
from trace_edits import Edit, payload_of, put

from tracediff.contracts import check_trace
from tracediff.contracts.tool_proposals import TOOL_PROPOSAL_RULES
from tracediff.events import Trace


def step(event_id: str, number: int, **values: Any) -> Edit:
    """Return an edit of one recorded greedy step."""

    def edit(trace: Trace) -> Trace:
        steps = [dict(found) for found in payload_of(trace, event_id)["choice"]["steps"]]
        steps[number] |= values
        return put(event_id, "choice", steps=steps)(trace)

    return edit


BROKEN: dict[str, tuple[str, str, Edit]] = {
    "another-title-is-parsed": (
        "arguments-are-the-text",
        "t02",
        put(
            "t02",
            "choice",
            arguments={
                "calendar_id": "primary",
                "title": "x",
                "local_date": "2026-07-20",
                "local_time": "09:00",
                "duration_minutes": 10,
            },
        ),
    ),
    "another-text-is-generated": ("arguments-are-the-text", "t02", put("t01", "choice", text="{}")),
    "proposal-takes-the-second": ("greedy-steps", "t01", step("t01", 0, token_id=104)),
    "answer-takes-the-second": ("greedy-steps", "t12", step("t12", 0, token_id=178)),
    "nothing-is-best": ("greedy-steps", "t12", step("t12", 3, top=[])),
}


def overridden() -> Trace:
    """Return the main line as one with overrides: the fixture's known answers do not bind it."""
    return put("t00", "trace", overrides={"service_seed": 107131})(main_line())


@pytest.mark.parametrize(("rule", "place", "edit"), BROKEN.values(), ids=BROKEN)
def test_rules_are_broken_alone(rule: str, place: str, edit: Edit) -> None:
    """The edited main line breaks its rule at its event, and no other rule."""
    violations = check_trace(edit(overridden())).violations
    assert {violation.rule for violation in violations} == {rule}, violations
    assert place in {violation.event_id for violation in violations}


def test_every_rule_is_broken_by_some_edit() -> None:
    """No rule is without its edit, nor without a statement."""
    assert {rule for rule, _, _ in BROKEN.values()} == {rule.name for rule in TOOL_PROPOSAL_RULES}
    assert all(rule.statement for rule in TOOL_PROPOSAL_RULES)
