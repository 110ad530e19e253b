"""Rules of one effect kept: each is broken by an edit of tool-001 that breaks nothing else."""

import json
from typing import Any

import pytest
from tool_runs import main_line
from trace_edits import Edit, both, payload_of, put

from tracediff.contracts import check_trace
from tracediff.contracts.effects_kept import KEPT_EFFECT_RULES
from tracediff.events import Trace


def retelling(**entries: Any) -> Edit:
    """Return an edit that tells another result, as object, as text and to the model."""

    def edit(trace: Trace) -> Trace:
        told = payload_of(trace, "t10")["choice"]
        text = json.dumps({**json.loads(told["text"]), **entries})
        return both(
            put("t10", "choice", result={**told["result"], **entries}, text=text),
            put("t11", "state", tool_results=[text]),
        )(trace)

    return edit


BROKEN: dict[str, tuple[str, str, Edit]] = {
    "attempt-without-key": ("effect-has-a-key", "t08", put("t08", "commit", idempotency_key=None)),
    "commit-without-key": ("effect-has-a-key", "t09", put("t09", "commit", idempotency_key=None)),
    "no-keys": (
        "effect-has-a-key",
        "t09",
        both(
            put("t08", "commit", idempotency_key=None), put("t09", "commit", idempotency_key=None)
        ),
    ),
    "another-scope": ("answer-is-to-the-attempt", "t09", put("t09", "commit", scope="user-1/x")),
    "another-tool-version": (
        "answer-is-to-the-attempt",
        "t09",
        put("t09", "commit", tool_version="calendar.create_event@v2"),
    ),
    "another-attempt": ("answer-is-to-the-attempt", "t09", put("t09", "commit", attempt=2)),
    "another-invocation": (
        "answer-is-to-the-attempt",
        "t09",
        put("t09", "ids", invocation_id="inv_02"),
    ),
    "commit-not-committed": (
        "commit-says-committed",
        "t09",
        put("t09", "commit", status="not_committed"),
    ),
    "attempt-committed": ("commit-says-committed", "t08", put("t08", "commit", status="committed")),
    "another-start": (
        "approved-is-committed",
        "t09",
        both(
            put("t09", "commit", start="2026-07-20T10:00:00+08:00"),
            retelling(start="2026-07-20T10:00:00+08:00"),
        ),
    ),
    "another-title": ("approved-is-committed", "t09", put("t09", "commit", title="x")),
    "another-tool": (
        "approved-is-committed",
        "t08",
        put("t08", "artifacts", tool="calendar.delete_event@v1"),
    ),
    "told-another-event": ("result-tells-the-commit", "t10", retelling(event_id="evt_AAA")),
    "told-another-start": (
        "result-tells-the-commit",
        "t10",
        retelling(start="2026-07-20T10:00:00+08:00"),
    ),
    "committed-before-the-attempt": (
        "commit-follows-attempt",
        "t09",
        both(
            put("t09", "commit", committed_at="2026-07-19T14:00:02+08:00"),
            retelling(committed_at="2026-07-19T14:00:02+08:00"),
        ),
    ),
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
    assert {rule for rule, _, _ in BROKEN.values()} == {rule.name for rule in KEPT_EFFECT_RULES}
    assert all(rule.statement for rule in KEPT_EFFECT_RULES)
