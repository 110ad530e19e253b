"""Authorisation: a capability covers exactly what it spells."""

import pytest
from toolcalls.calendar_tool import NORMALIZED

from tracediff.toolcalls.authorise import authorise
from tracediff.toolcalls.invocation import Invocation


@pytest.mark.parametrize(
    ("capabilities", "granted_by"),
    [
        pytest.param(
            ["calendar.read", "calendar.write:primary"], "calendar.write:primary", id="fixture"
        ),
        pytest.param([], None, id="none"),
        pytest.param(["calendar.read"], None, id="read-is-not-write"),
        pytest.param(["calendar.write"], None, id="without-scope"),
        pytest.param(["calendar.write:work"], None, id="other-scope"),
        pytest.param(["calendar.write:primary2"], None, id="longer-scope"),
        pytest.param(["mail.write:primary"], None, id="other-resource"),
        pytest.param(["calendar.write:*"], None, id="no-wildcards"),
    ],
)
def test_capabilities(capabilities: list[str], granted_by: str | None) -> None:
    """Only the capability for this effect on this scope allows the call."""
    tool = "calendar.create_event@v1"
    invocation = Invocation("inv_01", tool, NORMALIZED, "user-42", "calendar.write:primary")
    verdict = authorise(invocation, capabilities)
    assert verdict.granted_by == granted_by
    assert verdict.allowed is (granted_by is not None)
    assert verdict.scope == "primary"
