"""Confirmation: a decision serves the one invocation that was shown, as it was shown."""

from dataclasses import replace
from typing import Any

import pytest
from toolcalls.calendar_tool import NORMALIZED

from tracediff.events.canonical_json import json_digest
from tracediff.toolcalls.confirm import Decision, decide, find_mismatch, request_confirmation
from tracediff.toolcalls.invocation import Invocation

INVOCATION = Invocation(
    "inv_01", "calendar.create_event@v1", NORMALIZED, "user-42", "calendar.write:primary"
)
ASKED = request_confirmation("confirm_01", INVOCATION, "Asia/Shanghai")


def test_the_person_sees_what_will_be_done() -> None:
    """Time, title, calendar and zone are shown, and the digest is the invocation's."""
    assert ASKED.shown == {
        "tool": "calendar.create_event@v1",
        "calendar_id": "primary",
        "title": "带护照",
        "start": "2026-07-20T09:00:00+08:00",
        "duration_minutes": 10,
        "timezone": "Asia/Shanghai",
    }
    assert ASKED.invocation_digest == INVOCATION.digest


def test_the_digest_is_that_of_the_chapters_object() -> None:
    """The invocation of chapter 7, 7.12, whole, in its canonical form."""
    assert INVOCATION.digest == json_digest(
        {
            "invocation_id": "inv_01",
            "tool": "calendar.create_event@v1",
            "normalized_arguments": {
                "calendar_id": "primary",
                "title": "带护照",
                "start": "2026-07-20T09:00:00+08:00",
                "duration_minutes": 10,
            },
            "subject": "user-42",
            "required_capability": "calendar.write:primary",
        }
    )


def changed(**fields: Any) -> Invocation:
    return replace(INVOCATION, **fields)


def with_argument(**arguments: Any) -> Invocation:
    return changed(normalized_arguments={**NORMALIZED, **arguments})


@pytest.mark.parametrize(
    ("present", "reason"),
    [
        pytest.param(INVOCATION, None, id="unchanged"),
        pytest.param(
            changed(normalized_arguments=dict(reversed(NORMALIZED.items()))), None, id="key-order"
        ),
        pytest.param(
            with_argument(start="2026-07-20T10:00:00+08:00"), "digest-mismatch", id="other-time"
        ),
        pytest.param(
            with_argument(start="2026-07-20T01:00:00Z"), "digest-mismatch", id="same-moment-respelt"
        ),
        pytest.param(with_argument(title="带护照 "), "digest-mismatch", id="a-space-more"),
        pytest.param(with_argument(notify=True), "digest-mismatch", id="argument-more"),
        pytest.param(
            changed(
                normalized_arguments={
                    k: v for k, v in NORMALIZED.items() if k != "duration_minutes"
                }
            ),
            "digest-mismatch",
            id="argument-dropped",
        ),
        pytest.param(changed(tool="calendar.delete@v1"), "digest-mismatch", id="other-tool"),
        pytest.param(changed(subject="user-43"), "digest-mismatch", id="other-subject"),
        pytest.param(changed(invocation_id="inv_02"), "other-invocation", id="session-wide"),
    ],
)
def test_what_a_confirmation_serves(present: Invocation, reason: str | None) -> None:
    """Only the invocation that was shown, unchanged, is served by the approval."""
    mismatch = find_mismatch(decide(ASKED, Decision.APPROVE), present)
    assert (None if mismatch is None else mismatch.reason) == reason


def test_both_digests_are_told() -> None:
    """A mismatch names what was confirmed and what stands there."""
    present = with_argument(start="2026-07-20T10:00:00+08:00")
    mismatch = find_mismatch(decide(ASKED, Decision.APPROVE), present)
    assert mismatch is not None
    assert mismatch.evidence == {
        "confirmed_digest": INVOCATION.digest,
        "invocation_digest": present.digest,
    }


def test_a_new_invocation_can_be_confirmed_anew() -> None:
    """After a change a new request and a new decision serve the new invocation."""
    present = with_argument(start="2026-07-20T10:00:00+08:00")
    anew = replace(present, invocation_id="inv_02")
    asked = request_confirmation("confirm_02", anew, "Asia/Shanghai")
    assert find_mismatch(decide(asked, Decision.APPROVE), anew) is None
