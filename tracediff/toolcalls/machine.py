"""Where one request with a tool call stands.

Knows the state table. Must not know what the steps do.
"""

from __future__ import annotations

from tracediff.errors import IllegalState
from tracediff.events.tool_states import (
    ToolState,
    Trigger,
    allowed_triggers,
    describe,
    next_state,
)


class ToolCallMachine:
    """Follows the state table; an event that the state does not allow changes nothing."""

    __slots__ = ("_state",)

    def __init__(self, state: ToolState = ToolState.READY) -> None:
        self._state = state

    @property
    def state(self) -> ToolState:
        """The present state."""
        return self._state

    def advance(self, trigger: Trigger) -> ToolState:
        """Move on and return the new state; raise IllegalState where the table has no way."""
        following = next_state(self._state, trigger)
        if following is None:
            raise IllegalState(
                f"{trigger} is not allowed in state {self._state}; "
                f"allowed are {describe(allowed_triggers(self._state))}"
            )
        self._state = following
        return following
