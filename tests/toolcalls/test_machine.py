"""The machine over the state table: the whole product of states and events, allowed and refused."""

from itertools import product

import pytest

from tracediff.errors import IllegalState
from tracediff.events.tool_states import TRANSITIONS, ToolState, Trigger
from tracediff.toolcalls.machine import ToolCallMachine

PRODUCT = list(product(ToolState, Trigger))
ALLOWED = [pair for pair in PRODUCT if pair[1] in TRANSITIONS[pair[0]]]
REFUSED = [pair for pair in PRODUCT if pair[1] not in TRANSITIONS[pair[0]]]


def named(pairs: list[tuple[ToolState, Trigger]]) -> list[str]:
    return [f"{state}-{trigger}" for state, trigger in pairs]


def test_the_product_is_whole() -> None:
    """Every state meets every event in one of the two tests below."""
    assert len(ALLOWED) + len(REFUSED) == len(ToolState) * len(Trigger)
    assert len(ALLOWED) == sum(len(row) for row in TRANSITIONS.values())


@pytest.mark.parametrize(("state", "trigger"), ALLOWED, ids=named(ALLOWED))
def test_allowed_events_lead_on(state: ToolState, trigger: Trigger) -> None:
    """An allowed event leads where the table says."""
    machine = ToolCallMachine(state)
    assert machine.advance(trigger) is TRANSITIONS[state][trigger]
    assert machine.state is TRANSITIONS[state][trigger]


def test_other_events_change_nothing() -> None:
    """Every other event raises, names what is allowed, and leaves the state as it was."""
    for state, trigger in REFUSED:
        machine = ToolCallMachine(state)
        with pytest.raises(IllegalState) as raised:
            machine.advance(trigger)
        assert machine.state is state
        assert f"{trigger} is not allowed in state {state}" in str(raised.value)


def test_a_request_begins_ready() -> None:
    """A new machine stands where nothing has happened."""
    assert ToolCallMachine().state is ToolState.READY
