"""The rules of effect safety: what no trace of a tool call may show, whoever wrote it.

Knows the recorded calls. Each rule reads what it needs and nothing else, so that a trace that
records little is held to what it records.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracediff.contracts.rule import Finding, Rule
from tracediff.contracts.tool_calls import (
    COMMITTING,
    Call,
    CallEvent,
    entry,
    events_of,
    find_calls,
)
from tracediff.events import Trace
from tracediff.events.tool_states import Trigger

TRUNCATED = ("length", "max_tokens", "context_window", "model_context_window_exceeded")
"""Finish reasons of a generation that was cut off: the project's, OpenAI's and Anthropic's."""

TEXT_EVENTS = ("text.delta", "stream.delta", "response.completed")

NEEDED = (
    (Trigger.SCHEMA_VALIDATED, (Trigger.SCHEMA_REJECTED,)),
    (Trigger.AUTHORIZATION_ALLOWED, (Trigger.AUTHORIZATION_DENIED,)),
    (
        Trigger.CONFIRMATION_APPROVED,
        (Trigger.CONFIRMATION_DENIED, Trigger.CONFIRMATION_REJECTED, Trigger.INVOCATION_NORMALIZED),
    ),
)
"""What must have happened before an execution, and what takes it back."""


def _executes_only_what_is_allowed(trace: Trace) -> Iterator[Finding]:
    for call in find_calls(trace):
        held: dict[Trigger, bool] = {}
        for found in call.events:
            for needed, revoking in NEEDED:
                if found.trigger is needed:
                    held[needed] = True
                elif found.trigger in revoking:
                    held[needed] = False
            if found.trigger is Trigger.INVOCATION_STARTED:
                missing = [str(needed) for needed, _ in NEEDED if not held.get(needed)]
                if missing:
                    yield found.event_id, f"executes without {', '.join(missing)}"


def _executes_what_was_confirmed(trace: Trace) -> Iterator[Finding]:
    for call in find_calls(trace):
        approval: CallEvent | None = None
        for found in call.events:
            if found.trigger is Trigger.CONFIRMATION_APPROVED:
                approval = found
                yield from _approval_of_another(found)
            elif found.trigger is Trigger.INVOCATION_STARTED and approval is not None:
                yield from _not_the_approved(approval, found)


def _approval_of_another(approval: CallEvent) -> Iterator[Finding]:
    confirmed, present = (
        approval.get("state", key) for key in ("confirmed_digest", "invocation_digest")
    )
    if confirmed is not None and present is not None and confirmed != present:
        yield approval.event_id, f"confirmed was {confirmed}, the invocation is {present}"


def _not_the_approved(approval: CallEvent, started: CallEvent) -> Iterator[Finding]:
    approved = approval.get("state", "confirmed_digest") or approval.get(
        "state", "invocation_digest"
    )
    executed = started.get("state", "invocation_digest")
    if approved is None or executed is None:
        lacking = approval if approved is None else started
        yield lacking.event_id, "records no invocation digest, so nothing binds it to an approval"
    elif approved != executed:
        yield started.event_id, f"executes {executed}, confirmed was {approved}"
    ids = [found.get("ids", "invocation_id") for found in (approval, started)]
    if None not in ids and ids[0] != ids[1]:
        yield started.event_id, f"executes invocation {ids[1]}, confirmed was {ids[0]}"


def _one_effect_per_call(trace: Trace) -> Iterator[Finding]:
    for call in find_calls(trace):
        first: CallEvent | None = None
        for found in call.events:
            if first is None:
                first = found if found.trigger in COMMITTING else None
            elif found.trigger is Trigger.INVOCATION_STARTED:
                yield found.event_id, f"starts again although {first.event_id} committed"
            elif found.trigger in COMMITTING:
                ids = [one.get("commit", "external_id") for one in (first, found)]
                if ids[0] is None or ids[0] != ids[1]:  # one id told twice is one effect
                    yield (
                        found.event_id,
                        f"commits {ids[1]} although {first.event_id} committed {ids[0]}",
                    )


def _one_request_per_key(trace: Trace) -> Iterator[Finding]:
    digests: dict[tuple[Any, ...], tuple[Any, str]] = {}
    for event in trace.events:
        commit = event.payload.get("commit", {})
        digest = commit.get("request_digest")
        if commit.get("idempotency_key") is None or digest is None:
            continue
        key = tuple(commit.get(part) for part in ("scope", "tool_version", "idempotency_key"))
        known, place = digests.setdefault(key, (digest, event.event_id))
        if known != digest:
            yield event.event_id, f"key {key[-1]} is for {digest}, at {place} it was for {known}"


def _unknown_outcomes_are_queried(trace: Trace) -> Iterator[Finding]:
    for event in events_of(trace, "external.queried"):
        if entry(event, "choice", "outcome") not in ("found", "absent", "unanswered"):
            yield event.event_id, "says no outcome: found, absent or unanswered"
    for call in find_calls(trace):
        yield from _changed_keys(call)
        waiting: CallEvent | None = None
        asked = False
        for found in call.events:
            if found.trigger is Trigger.EXTERNAL_TIMED_OUT:
                waiting, asked = found, False
            elif waiting is None:
                continue
            elif found.trigger is Trigger.QUERY_UNANSWERED:
                asked = True
            elif found.trigger in (Trigger.QUERY_FOUND, Trigger.QUERY_ABSENT):
                waiting = None
            elif not (found.trigger is Trigger.INVOCATION_ABANDONED and asked):
                yield (
                    found.event_id,
                    f"{found.trigger} follows the unknown outcome of {waiting.event_id}, no query",
                )
                waiting = None
        if waiting is not None and not asked:
            yield waiting.event_id, "the outcome stays unknown, and nobody asked"


def _changed_keys(call: Call) -> Iterator[Finding]:
    keys = [(found, found.get("commit", "idempotency_key")) for found in call.events]
    used = [(found, key) for found, key in keys if key is not None]
    for found, key in used[1:]:
        if key != used[0][1]:
            yield found.event_id, f"one call goes on under another key: {key}, not {used[0][1]}"


def _truncated_is_not_executed(trace: Trace) -> Iterator[Finding]:
    for call in find_calls(trace):
        cut: CallEvent | None = None
        for found in call.events:
            reason = found.get("choice", "finish_reason")
            if found.trigger is Trigger.PROPOSAL_GENERATED and reason in TRUNCATED:
                cut = found
            elif cut is not None and found.trigger in (Trigger.INVOCATION_STARTED, *COMMITTING):
                yield found.event_id, f"the proposal {cut.event_id} was cut off"
                break


def _the_commit_is_the_effect(trace: Trace) -> Iterator[Finding]:
    for event in events_of(trace, *TEXT_EVENTS):
        if "commit" in event.payload:
            yield event.event_id, "text commits nothing, yet it records a commit"
    for call in find_calls(trace):
        is_committed = False
        for found in call.events:
            is_committed = is_committed or found.trigger in COMMITTING
            if found.trigger is Trigger.RESULT_ENCODED and not is_committed:
                yield found.event_id, "a result is told although nothing was committed"


def _closing_tells_the_truth(trace: Trace) -> Iterator[Finding]:
    closed = events_of(trace, "trace.closed")
    if len(closed) != 1:
        yield None, f"trace.closed occurs {len(closed)} times, expected once"
        return
    commits = [found for call in find_calls(trace) for found in call.of(*COMMITTING)]
    stated = entry(closed[0], "commit", "external_commit")
    expected = True if commits else None if _is_unresolved(trace) else False
    if stated is not expected:
        yield closed[0].event_id, f"states external commit {stated}, the trace shows {expected}"
    ids = entry(closed[0], "commit", "external_ids")
    seen = [found.get("commit", "external_id") for found in commits]
    if ids is not None and set(ids) != set(seen):
        yield closed[0].event_id, f"states the effects {ids}, the trace shows {seen}"


def _is_unresolved(trace: Trace) -> bool:
    """Whether the last word on some call is that nobody knows."""
    unknown = (Trigger.EXTERNAL_TIMED_OUT, Trigger.QUERY_UNANSWERED)
    known = (Trigger.EXTERNAL_NOT_COMMITTED, Trigger.EXTERNAL_REFUSED, Trigger.QUERY_ABSENT)
    last = [call.of(*unknown, *known, *COMMITTING)[-1:] for call in find_calls(trace)]
    return any(found[0].trigger in unknown for found in last if found)


def _attempts_are_counted(trace: Trace) -> Iterator[Finding]:
    budget = entry(trace.root, "settings", "retry_budget")
    for call in find_calls(trace):
        started = call.of(Trigger.INVOCATION_STARTED)
        for number, found in enumerate(started, start=1):
            attempt = found.get("commit", "attempt")
            if attempt is not None and attempt != number:
                yield found.event_id, f"is attempt {number} and says {attempt}"
            if isinstance(budget, int) and number > budget + 1:
                yield found.event_id, f"attempt {number} is beyond the retry budget of {budget}"


def _is_tool(trace: Trace) -> bool:
    return trace.kind == "tool"


EFFECT_RULES = (
    Rule(
        "executes-only-what-is-allowed",
        "nothing is executed before it was validated, authorised and confirmed",
        _is_tool,
        _executes_only_what_is_allowed,
    ),
    Rule(
        "confirmed-is-executed",
        "the confirmed invocation and its digest are the executed ones",
        _is_tool,
        _executes_what_was_confirmed,
    ),
    Rule(
        "one-effect-per-call",
        "one logical call has one effect, and nothing is started after it",
        _is_tool,
        _one_effect_per_call,
    ),
    Rule(
        "one-request-per-key",
        "one idempotency key never stands for two requests",
        _is_tool,
        _one_request_per_key,
    ),
    Rule(
        "unknown-outcome-is-queried",
        "an unknown outcome is resolved by asking with the same key, not by trying anew",
        _is_tool,
        _unknown_outcomes_are_queried,
    ),
    Rule(
        "truncated-is-not-executed",
        "a proposal that was cut off has no effect",
        _is_tool,
        _truncated_is_not_executed,
    ),
    Rule(
        "commit-is-the-effect",
        "the external commit is the effect: no result is told before it, and text is none",
        _is_tool,
        _the_commit_is_the_effect,
    ),
    Rule(
        "closing-tells-the-truth",
        "the trace closes once and states exactly the effects that it shows",
        _is_tool,
        _closing_tells_the_truth,
    ),
    Rule(
        "attempts-are-counted",
        "attempts count 1, 2, … and stay within the retry budget",
        _is_tool,
        _attempts_are_counted,
    ),
)
