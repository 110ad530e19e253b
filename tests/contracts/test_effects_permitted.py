"""Rules of permission: each is broken by an edit of tool-001 that breaks nothing else."""

from typing import Any

import pytest
from tool_runs import main_line
from trace_edits import Edit, payload_of, put

from tracediff.contracts import check_trace
from tracediff.contracts.effects_permitted import PERMISSION_RULES
from tracediff.events import Trace


def showing(key: str, value: Any) -> Edit:
    """Return an edit that shows the person another value."""

    def edit(trace: Trace) -> Trace:
        shown = payload_of(trace, "t06")["choice"]["shown"]
        return put("t06", "choice", shown={**shown, key: value})(trace)

    return edit


BROKEN: dict[str, tuple[str, str, Edit]] = {
    "denied-yet-approved": ("permissions-permit", "t07", put("t07", "choice", decision="deny")),
    "denied-by-the-settings": (
        "permissions-permit",
        "t07",
        put("t00", "settings", decision="deny"),
    ),
    "verdict-denied": ("permissions-permit", "t05", put("t05", "choice", verdict="denied")),
    "verdict-invalid": ("permissions-permit", "t03", put("t03", "choice", verdict="invalid")),
    "with-breaches": (
        "permissions-permit",
        "t03",
        put("t03", "choice", breaches=[{"path": "$", "keyword": "type", "detail": "x"}]),
    ),
    "capability-not-held": (
        "capability-is-held",
        "t05",
        put("t00", "settings", capabilities=["calendar.read"]),
    ),
    "granted-by-another": (
        "capability-is-held",
        "t05",
        put("t05", "choice", granted_by="calendar.write:work"),
    ),
    "another-is-required": (
        "capability-is-held",
        "t05",
        put("t05", "state", required_capability="calendar.read"),
    ),
    "nothing-confirmed": ("approval-is-bound", "t07", put("t07", "state", confirmed_digest=None)),
    "asked-about-another": (
        "approval-is-bound",
        "t06",
        put("t06", "state", invocation_digest="sha256:00"),
    ),
    "allowed-for-another-invocation": (
        "permission-is-for-this",
        "t05",
        put("t05", "ids", invocation_id="inv_02"),
    ),
    "asked-for-another-invocation": (
        "permission-is-for-this",
        "t06",
        put("t06", "ids", invocation_id="inv_02"),
    ),
    "allowed-for-another-subject": (
        "permission-is-for-this",
        "t05",
        put("t05", "state", subject="user-1"),
    ),
    "another-confirmation": (
        "permission-is-for-this",
        "t07",
        put("t07", "ids", confirmation_id="confirm_02"),
    ),
    **{
        f"shown-{key}": ("shown-is-meant", "t06", showing(key, value))
        for key, value in {
            "tool": "calendar.read@v1",
            "title": "x",
            "start": "2026-07-20T10:00:00+08:00",
            "duration_minutes": 11,
            "timezone": "Asia/Tokyo",
            "calendar_id": None,
        }.items()
    },
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
    assert {rule for rule, _, _ in BROKEN.values()} == {rule.name for rule in PERMISSION_RULES}
    assert all(rule.statement for rule in PERMISSION_RULES)
