"""The trail of one run of tool-001: its events in order, each with the state that the table gives.

Knows the recorder, the state table and the run's local ids. Must not decide anything: an event that
the state does not allow raises before it is recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tracediff.events.tool_states import ToolState, Trigger
from tracediff.recording.recorder import Recorder
from tracediff.toolcalls.machine import ToolCallMachine
from tracediff.workloads.definitions import Definition

COMPONENTS: Mapping[Trigger, str] = {
    Trigger.MODEL_STARTED: "model runtime",
    Trigger.TOOL_REJECTED: "validator",
    Trigger.PROPOSAL_GENERATED: "decoder",
    Trigger.PROPOSAL_PARSED: "JSON parser",
    Trigger.PROPOSAL_REJECTED: "JSON parser",
    Trigger.SCHEMA_VALIDATED: "validator",
    Trigger.SCHEMA_REJECTED: "validator",
    Trigger.INVOCATION_NORMALIZED: "normalizer",
    Trigger.NORMALIZATION_REJECTED: "normalizer",
    Trigger.AUTHORIZATION_ALLOWED: "authorizer",
    Trigger.AUTHORIZATION_DENIED: "authorizer",
    Trigger.CONFIRMATION_REQUESTED: "confirmation",
    Trigger.CONFIRMATION_APPROVED: "confirmation",
    Trigger.CONFIRMATION_REJECTED: "confirmation",
    Trigger.CONFIRMATION_DENIED: "confirmation",
    Trigger.INVOCATION_STARTED: "executor",
    Trigger.INVOCATION_ABANDONED: "executor",
    Trigger.EXTERNAL_COMMITTED: "calendar",
    Trigger.EXTERNAL_NOT_COMMITTED: "calendar",
    Trigger.EXTERNAL_REFUSED: "calendar",
    Trigger.EXTERNAL_TIMED_OUT: "executor",
    Trigger.QUERY_FOUND: "calendar",
    Trigger.QUERY_ABSENT: "calendar",
    Trigger.QUERY_UNANSWERED: "executor",
    Trigger.RESULT_ENCODED: "encoder",
    Trigger.TEXT_DELTA: "transport",
    Trigger.RESPONSE_COMPLETED: "runtime",
    Trigger.REQUEST_CANCELLED: "gateway",
    Trigger.TRACE_CLOSED: "tracing",
}
"""Who records what. A time-out is seen by the caller: the service says nothing."""


@dataclass(frozen=True, slots=True)
class CallIds:
    """The local ids of a run, made by counting; they mean nothing outside it."""

    request: str
    first_call: str
    second_call: str
    tool_call: str
    invocation: str
    confirmation: str

    @classmethod
    def of(cls, definition: Definition) -> CallIds:
        """Return the ids that a definition's prefixes give."""
        prefixes = definition.content["ids"]
        return cls(
            definition.content["request"]["id"],
            f"{prefixes['model_call']}01",
            f"{prefixes['model_call']}02",
            f"{prefixes['tool_call']}01",
            f"{prefixes['invocation']}01",
            f"{prefixes['confirmation']}01",
        )


class ToolTrail:
    """Records the events of one run and follows its state; `ids` are the run's local ids."""

    def __init__(self, recorder: Recorder, ids: CallIds) -> None:
        self.ids = ids
        self._recorder = recorder
        self._machine = ToolCallMachine()
        self._turn = 1

    @property
    def state(self) -> ToolState:
        """Where the request stands."""
        return self._machine.state

    def next_turn(self) -> None:
        """Begin the next turn of the conversation: the events' logical step."""
        self._turn += 1

    def record(self, trigger: Trigger, **sections: Any) -> None:
        """Record one event with these sections; raise IllegalState where it is not allowed."""
        self._machine.advance(trigger)
        self._recorder.event(
            COMPONENTS[trigger], trigger.event_type, logical_step=self._turn, **sections
        )

    def record_call(
        self, trigger: Trigger, state: Mapping[str, Any] | None = None, **sections: Any
    ) -> None:
        """Record an event of the tool call: its `state` begins with the call's new status."""
        status = self._machine.advance(trigger).status
        self._recorder.event(
            COMPONENTS[trigger],
            trigger.event_type,
            logical_step=self._turn,
            state={"status": status, **(state or {})},
            **sections,
        )
