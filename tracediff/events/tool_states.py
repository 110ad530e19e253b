"""The one state table of a tool call: which event may follow which, and to what it leads.

Knows words and transitions. Must not know how a call is carried out; whoever drives one and
whoever checks a recorded one read the same table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType


class ToolState(StrEnum):
    """Where a request with one tool call stands."""

    READY = "READY"
    GENERATING = "GENERATING"
    PROPOSED = "PROPOSED"
    PARSED = "PARSED"
    VALIDATED = "VALIDATED"
    NORMALIZED = "NORMALIZED"
    AUTHORIZED = "AUTHORIZED"
    PREPARED = "PREPARED"
    CONFIRMED = "CONFIRMED"
    EXECUTING = "EXECUTING"
    NOT_COMMITTED = "NOT_COMMITTED"
    OUTCOME_UNKNOWN = "OUTCOME_UNKNOWN"
    COMMITTED = "COMMITTED"
    OBSERVED = "OBSERVED"
    RESPONDING = "RESPONDING"
    FINISHED = "FINISHED"
    TOOL_REJECTED = "TOOL_REJECTED"
    PROPOSAL_REJECTED = "PROPOSAL_REJECTED"
    VALIDATION_REJECTED = "VALIDATION_REJECTED"
    AUTHORIZATION_DENIED = "AUTHORIZATION_DENIED"
    CONFIRMATION_REJECTED = "CONFIRMATION_REJECTED"
    CONFIRMATION_DENIED = "CONFIRMATION_DENIED"
    EXECUTION_REFUSED = "EXECUTION_REFUSED"
    RETRIES_EXHAUSTED = "RETRIES_EXHAUSTED"
    OUTCOME_UNRESOLVED = "OUTCOME_UNRESOLVED"
    CANCELLED = "CANCELLED"
    CANCELLED_AFTER_COMMIT = "CANCELLED_AFTER_COMMIT"
    CLOSED = "CLOSED"

    @property
    def status(self) -> str:
        """The word that a trace records: normalisation and approval have none of their own."""
        return _STATUS_WORDS.get(self, self).value

    @property
    def final_status(self) -> str:
        """How a request that ends here is called."""
        return "FINISHED" if self is ToolState.FINISHED else self.value.lower().replace("_", "-")


class Trigger(StrEnum):
    """What moves a call on: the type of an event, with its outcome where one type has several."""

    MODEL_STARTED = "model.started"
    TOOL_REJECTED = "tool.rejected"
    PROPOSAL_GENERATED = "proposal.generated"
    PROPOSAL_PARSED = "proposal.parsed"
    PROPOSAL_REJECTED = "proposal.rejected"
    SCHEMA_VALIDATED = "schema.validated"
    SCHEMA_REJECTED = "schema.rejected"
    INVOCATION_NORMALIZED = "invocation.normalized"
    NORMALIZATION_REJECTED = "normalization.rejected"
    AUTHORIZATION_ALLOWED = "authorization.allowed"
    AUTHORIZATION_DENIED = "authorization.denied"
    CONFIRMATION_REQUESTED = "confirmation.requested"
    CONFIRMATION_APPROVED = "confirmation.approved"
    CONFIRMATION_REJECTED = "confirmation.rejected"
    CONFIRMATION_DENIED = "confirmation.denied"
    INVOCATION_STARTED = "invocation.started"
    INVOCATION_ABANDONED = "invocation.abandoned"
    EXTERNAL_COMMITTED = "external.committed"
    EXTERNAL_NOT_COMMITTED = "external.not_committed"
    EXTERNAL_REFUSED = "external.refused"
    EXTERNAL_TIMED_OUT = "external.timed_out"
    QUERY_FOUND = "external.queried/found"
    QUERY_ABSENT = "external.queried/absent"
    QUERY_UNANSWERED = "external.queried/unanswered"
    RESULT_ENCODED = "result.encoded"
    TEXT_DELTA = "text.delta"
    RESPONSE_COMPLETED = "response.completed"
    REQUEST_CANCELLED = "request.cancelled"
    TRACE_CLOSED = "trace.closed"

    @property
    def event_type(self) -> str:
        """The type of the event that records it."""
        return self.value.partition("/")[0]

    @property
    def outcome(self) -> str | None:
        """The recorded `choice.outcome` where the event type has several, else None."""
        return self.value.partition("/")[2] or None


_STATUS_WORDS: Mapping[ToolState, ToolState] = MappingProxyType(
    {
        ToolState.NORMALIZED: ToolState.VALIDATED,
        ToolState.CONFIRMED: ToolState.PREPARED,
    }
)

_S, _T = ToolState, Trigger

TRANSITIONS: Mapping[ToolState, Mapping[Trigger, ToolState]] = MappingProxyType(
    {
        _S.READY: {_T.MODEL_STARTED: _S.GENERATING, _T.TOOL_REJECTED: _S.TOOL_REJECTED},
        _S.GENERATING: {
            _T.PROPOSAL_GENERATED: _S.PROPOSED,
            _T.REQUEST_CANCELLED: _S.CANCELLED,
        },
        _S.PROPOSED: {
            _T.PROPOSAL_PARSED: _S.PARSED,
            _T.PROPOSAL_REJECTED: _S.PROPOSAL_REJECTED,
            _T.REQUEST_CANCELLED: _S.CANCELLED,
        },
        _S.PARSED: {
            _T.SCHEMA_VALIDATED: _S.VALIDATED,
            _T.SCHEMA_REJECTED: _S.VALIDATION_REJECTED,
            _T.REQUEST_CANCELLED: _S.CANCELLED,
        },
        _S.VALIDATED: {
            _T.INVOCATION_NORMALIZED: _S.NORMALIZED,
            _T.NORMALIZATION_REJECTED: _S.VALIDATION_REJECTED,
            _T.REQUEST_CANCELLED: _S.CANCELLED,
        },
        _S.NORMALIZED: {
            _T.AUTHORIZATION_ALLOWED: _S.AUTHORIZED,
            _T.AUTHORIZATION_DENIED: _S.AUTHORIZATION_DENIED,
            _T.REQUEST_CANCELLED: _S.CANCELLED,
        },
        _S.AUTHORIZED: {
            _T.CONFIRMATION_REQUESTED: _S.PREPARED,
            _T.REQUEST_CANCELLED: _S.CANCELLED,
        },
        _S.PREPARED: {
            _T.CONFIRMATION_APPROVED: _S.CONFIRMED,
            _T.CONFIRMATION_REJECTED: _S.CONFIRMATION_REJECTED,
            _T.CONFIRMATION_DENIED: _S.CONFIRMATION_DENIED,
            _T.REQUEST_CANCELLED: _S.CANCELLED,
        },
        _S.CONFIRMED: {
            _T.INVOCATION_STARTED: _S.EXECUTING,
            _T.REQUEST_CANCELLED: _S.CANCELLED,
        },
        # While it is not known what happened outside, nothing can be cancelled or given up.
        _S.EXECUTING: {
            _T.EXTERNAL_COMMITTED: _S.COMMITTED,
            _T.EXTERNAL_NOT_COMMITTED: _S.NOT_COMMITTED,
            _T.EXTERNAL_REFUSED: _S.EXECUTION_REFUSED,
            _T.EXTERNAL_TIMED_OUT: _S.OUTCOME_UNKNOWN,
        },
        _S.NOT_COMMITTED: {
            _T.INVOCATION_STARTED: _S.EXECUTING,
            _T.INVOCATION_ABANDONED: _S.RETRIES_EXHAUSTED,
            _T.REQUEST_CANCELLED: _S.CANCELLED,
        },
        _S.OUTCOME_UNKNOWN: {
            _T.QUERY_FOUND: _S.COMMITTED,
            _T.QUERY_ABSENT: _S.NOT_COMMITTED,
            _T.QUERY_UNANSWERED: _S.OUTCOME_UNKNOWN,
            _T.INVOCATION_ABANDONED: _S.OUTCOME_UNRESOLVED,
        },
        _S.COMMITTED: {
            _T.RESULT_ENCODED: _S.OBSERVED,
            _T.REQUEST_CANCELLED: _S.CANCELLED_AFTER_COMMIT,
        },
        _S.OBSERVED: {
            _T.MODEL_STARTED: _S.RESPONDING,
            _T.REQUEST_CANCELLED: _S.CANCELLED_AFTER_COMMIT,
        },
        _S.RESPONDING: {
            _T.TEXT_DELTA: _S.RESPONDING,
            _T.RESPONSE_COMPLETED: _S.FINISHED,
            _T.REQUEST_CANCELLED: _S.CANCELLED_AFTER_COMMIT,
        },
        # What was confirmed is not what stands there now: only a new invocation leads on.
        _S.CONFIRMATION_REJECTED: {
            _T.INVOCATION_NORMALIZED: _S.NORMALIZED,
            _T.TRACE_CLOSED: _S.CLOSED,
        },
        _S.FINISHED: {_T.TRACE_CLOSED: _S.CLOSED},
        _S.TOOL_REJECTED: {_T.TRACE_CLOSED: _S.CLOSED},
        _S.PROPOSAL_REJECTED: {_T.TRACE_CLOSED: _S.CLOSED},
        _S.VALIDATION_REJECTED: {_T.TRACE_CLOSED: _S.CLOSED},
        _S.AUTHORIZATION_DENIED: {_T.TRACE_CLOSED: _S.CLOSED},
        _S.CONFIRMATION_DENIED: {_T.TRACE_CLOSED: _S.CLOSED},
        _S.EXECUTION_REFUSED: {_T.TRACE_CLOSED: _S.CLOSED},
        _S.RETRIES_EXHAUSTED: {_T.TRACE_CLOSED: _S.CLOSED},
        _S.OUTCOME_UNRESOLVED: {_T.TRACE_CLOSED: _S.CLOSED},
        _S.CANCELLED: {_T.TRACE_CLOSED: _S.CLOSED},
        _S.CANCELLED_AFTER_COMMIT: {_T.TRACE_CLOSED: _S.CLOSED},
        _S.CLOSED: {},
    }
)
"""state x event -> state. What is not listed is not allowed."""

CALL_TRIGGERS = frozenset(Trigger) - {
    Trigger.MODEL_STARTED,
    Trigger.TOOL_REJECTED,
    Trigger.TEXT_DELTA,
    Trigger.RESPONSE_COMPLETED,
    Trigger.TRACE_CLOSED,
}
"""What happens to one call; the rest happens to the request that it belongs to."""


_BY_EVENT_TYPE: Mapping[str, tuple[Trigger, ...]] = MappingProxyType(
    {
        trigger.event_type: tuple(
            other for other in Trigger if other.event_type == trigger.event_type
        )
        for trigger in Trigger
    }
)


def next_state(state: ToolState, trigger: Trigger) -> ToolState | None:
    """Return the state after the trigger, None where the state does not allow it."""
    return TRANSITIONS[state].get(trigger)


def allowed_triggers(state: ToolState) -> list[Trigger]:
    """Return what a state allows, in the table's order."""
    return list(TRANSITIONS[state])


def find_trigger(event_type: str, outcome: object) -> Trigger | None:
    """Return the trigger that an event records, None for an event of another kind."""
    for trigger in _BY_EVENT_TYPE.get(event_type, ()):
        if trigger.outcome in (None, outcome):
            return trigger
    return None


def describe(triggers: Iterable[Trigger]) -> str:
    """Return triggers for a message."""
    return ", ".join(triggers) or "nothing"
