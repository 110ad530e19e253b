"""The events of the tool call of tool-001: t02 to t10, its branches, and t14.

Knows what `toolcalls` returned. Must not know models or decide anything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from types import MappingProxyType
from typing import Any

from tracediff.events.tool_states import ToolState, Trigger
from tracediff.toolcalls.authorise import Authorization
from tracediff.toolcalls.calendar import spell_moment
from tracediff.toolcalls.client import Step
from tracediff.toolcalls.confirm import Confirmation, ConfirmationRequest, Decision
from tracediff.toolcalls.encode import encode_result
from tracediff.toolcalls.invocation import Invocation
from tracediff.toolcalls.messages import Committed, CreateEvent, NotCommitted, Refused
from tracediff.toolcalls.rejection import Rejection
from tracediff.toolcalls.schema_check import DRAFT, Breach
from tracediff.toolcalls.tool_spec import ToolSpec
from tracediff.workloads.tool_trail import ToolTrail

LONGEST_TEXT = 2_000
"""Bytes of proposed arguments that are recorded as they are; of longer ones only the digest."""

COMMIT_WORDS: Mapping[Trigger, str] = MappingProxyType(
    {
        Trigger.INVOCATION_STARTED: "pending",
        Trigger.INVOCATION_ABANDONED: "abandoned",
        Trigger.EXTERNAL_COMMITTED: "committed",
        Trigger.EXTERNAL_NOT_COMMITTED: "not_committed",
        Trigger.EXTERNAL_REFUSED: "refused",
        Trigger.EXTERNAL_TIMED_OUT: "unknown",
        Trigger.QUERY_FOUND: "committed",
        Trigger.QUERY_ABSENT: "not_committed",
        Trigger.QUERY_UNANSWERED: "unknown",
    }
)
"""What is known of the effect after each step of the execution."""


def record_tool_rejected(
    trail: ToolTrail, request: str, settings: Mapping[str, Any], rejection: Rejection
) -> None:
    """Record that the tool itself is not understood: no model sees it."""
    trail.record(
        Trigger.TOOL_REJECTED,
        state={"request": request},
        settings=settings,
        ids={"request_id": trail.ids.request},
        **_refusal(rejection),
    )


def record_parsed(trail: ToolTrail, content: bytes, arguments: Any) -> None:
    """Record t02: the bytes that were read, and the value that they are."""
    trail.record_call(
        Trigger.PROPOSAL_PARSED,
        state=_content(content),
        choice={"arguments": arguments},
        ids={"tool_call_id": trail.ids.tool_call},
    )


def record_proposal_rejected(trail: ToolTrail, content: bytes, rejection: Rejection) -> None:
    """Record why the bytes are no arguments."""
    trail.record_call(
        Trigger.PROPOSAL_REJECTED,
        state=_content(content),
        ids={"tool_call_id": trail.ids.tool_call},
        **_refusal(rejection),
    )


def record_checked(trail: ToolTrail, spec: ToolSpec, breaches: Sequence[Breach]) -> None:
    """Record t03: the schema's verdict, and every keyword that does not hold."""
    trail.record_call(
        Trigger.SCHEMA_REJECTED if breaches else Trigger.SCHEMA_VALIDATED,
        artifacts={"tool": spec.identity, "tool_schema": spec.schema_digest, "dialect": DRAFT},
        choice={
            "verdict": "invalid" if breaches else "valid",
            "breaches": [asdict(breach) for breach in breaches],
        },
        ids={"tool_call_id": trail.ids.tool_call},
    )


def record_normalized(
    trail: ToolTrail, invocation: Invocation, clock: datetime, timezone: str
) -> None:
    """Record t04: the invocation, its digests, and what local times were read by.

    The invocation's own id stands among the ids; the digest covers it.
    """
    recorded = invocation.to_json()
    del recorded["invocation_id"]
    trail.record_call(
        Trigger.INVOCATION_NORMALIZED,
        state={"reference_clock": spell_moment(clock), "timezone": timezone},
        choice={
            "invocation": recorded,
            "invocation_digest": invocation.digest,
            "request_digest": invocation.request_digest,
        },
        ids=_invocation_ids(trail),
    )


def record_normalization_rejected(
    trail: ToolTrail, rejection: Rejection, clock: datetime, timezone: str
) -> None:
    """Record why the arguments have no one meaning."""
    trail.record_call(
        Trigger.NORMALIZATION_REJECTED,
        state={"reference_clock": spell_moment(clock), "timezone": timezone},
        ids={"tool_call_id": trail.ids.tool_call},
        **_refusal(rejection),
    )


def record_authorization(trail: ToolTrail, verdict: Authorization) -> None:
    """Record t05: who may do it, and by which capability."""
    trail.record_call(
        Trigger.AUTHORIZATION_ALLOWED if verdict.allowed else Trigger.AUTHORIZATION_DENIED,
        state={
            "subject": verdict.subject,
            "required_capability": verdict.required,
            "scope": verdict.scope,
        },
        choice={
            "verdict": "allowed" if verdict.allowed else "denied",
            "granted_by": verdict.granted_by,
        },
        ids=_invocation_ids(trail),
    )


def record_confirmation_requested(trail: ToolTrail, asked: ConfirmationRequest) -> None:
    """Record t06: what the person is shown, and the digest that the answer is bound to."""
    trail.record_call(
        Trigger.CONFIRMATION_REQUESTED,
        state={"invocation_digest": asked.invocation_digest},
        choice={"shown": asked.shown},
        ids=_confirmation_ids(trail),
    )


def record_confirmation(
    trail: ToolTrail, confirmation: Confirmation, present: Invocation, mismatch: Rejection | None
) -> None:
    """Record t07: the decision, the digest it is about, and the one that stands there now."""
    choice: dict[str, Any] = {"decision": confirmation.decision}
    trigger = Trigger.CONFIRMATION_APPROVED
    if confirmation.decision is Decision.DENY:
        trigger = Trigger.CONFIRMATION_DENIED
    elif mismatch is not None:
        trigger = Trigger.CONFIRMATION_REJECTED
        choice["reason"] = mismatch.reason
    trail.record_call(
        trigger,
        state={
            "confirmed_digest": confirmation.invocation_digest,
            "invocation_digest": present.digest,
        },
        choice=choice,
        ids=_confirmation_ids(trail),
        note=None if mismatch is None else mismatch.message,
    )


def record_step(
    trail: ToolTrail, step: Step, invocation: Invocation, request: CreateEvent, clock: datetime
) -> None:
    """Record t08, t09 and what may lie between them: one step of the execution."""
    commit: dict[str, Any] = {
        "status": COMMIT_WORDS[step.trigger],
        **asdict(request.key),
        "request_digest": request.request_digest,
        "attempt": step.attempt,
    }
    state: dict[str, Any] = {}
    choice: dict[str, Any] = {}
    artifacts = None
    if step.trigger is Trigger.INVOCATION_STARTED:
        artifacts = {"tool": invocation.tool}
        state["invocation_digest"] = invocation.digest
        state["arguments"] = request.arguments
    if step.trigger.outcome is not None:
        choice["outcome"] = step.trigger.outcome
    if isinstance(step.reply, NotCommitted | Refused):
        choice["reason"] = step.reply.reason
    if isinstance(step.reply, Committed):
        commit["external_id"] = step.reply.event_id
        commit["committed_at"] = step.reply.committed_at
        commit["start"] = step.reply.start
    commit["at"] = spell_moment(clock)
    trail.record_call(
        step.trigger,
        artifacts=artifacts,
        state=state,
        choice=choice or None,
        commit=commit,
        ids=_invocation_ids(trail),
    )


def record_result(trail: ToolTrail, receipt: Committed, message: str) -> None:
    """Record t10: the result, and the tool message that the model will read."""
    trail.record_call(
        Trigger.RESULT_ENCODED,
        choice={"result": encode_result(receipt), "text": message},
        ids={"tool_call_id": trail.ids.tool_call},
    )


def record_cancelled_after_commit(trail: ToolTrail, receipt: Committed) -> None:
    """Record that a cancellation came too late: the effect stays, and its id is given back."""
    trail.record_call(
        Trigger.REQUEST_CANCELLED,
        choice={"event_id": receipt.event_id, "effect": "stays"},
        ids={"request_id": trail.ids.request, "tool_call_id": trail.ids.tool_call},
        note="the event exists; it is found by its id or by the idempotency key",
    )


def record_closed(trail: ToolTrail, receipt: Committed | None) -> tuple[str, bool | None]:
    """Record t14: how it ended, and whether the world was changed; return both.

    Where the outcome stayed unknown, so does that: None.
    """
    ended = trail.state
    external_commit = None if ended is ToolState.OUTCOME_UNRESOLVED else receipt is not None
    trail.record(
        Trigger.TRACE_CLOSED,
        choice={"status": ended.final_status},
        commit={
            "external_commit": external_commit,
            "external_ids": [] if receipt is None else [receipt.event_id],
        },
    )
    return ended.final_status, external_commit


def _invocation_ids(trail: ToolTrail) -> dict[str, str]:
    return {"tool_call_id": trail.ids.tool_call, "invocation_id": trail.ids.invocation}


def _confirmation_ids(trail: ToolTrail) -> dict[str, str]:
    return {**_invocation_ids(trail), "confirmation_id": trail.ids.confirmation}


def _refusal(rejection: Rejection) -> dict[str, Any]:
    """Return the sections of a refusal: the word and the facts, and the sentence for people."""
    choice = {"reason": rejection.reason, **rejection.evidence}
    return {"choice": choice, "note": rejection.message}


def _content(content: bytes) -> dict[str, Any]:
    """Return what is recorded of proposed bytes."""
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    found: dict[str, Any] = {"arguments_bytes": len(content), "arguments_digest": digest}
    return found if len(content) > LONGEST_TEXT else {"arguments_text": content, **found}
