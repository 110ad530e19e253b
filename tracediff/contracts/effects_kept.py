"""The rules of identity: from the invocation to its result, one and the same effect is recorded.

Knows the recorded calls. Whether the effect was permitted is `effects_permitted`'s matter.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from tracediff.contracts.rule import Finding, Rule
from tracediff.contracts.tool_calls import COMMITTING, Call, CallEvent, find_calls
from tracediff.events import Trace
from tracediff.events.tool_states import Trigger

ANSWERING = (
    *COMMITTING,
    Trigger.QUERY_ABSENT,
    Trigger.QUERY_UNANSWERED,
    Trigger.EXTERNAL_NOT_COMMITTED,
    Trigger.EXTERNAL_REFUSED,
    Trigger.EXTERNAL_TIMED_OUT,
)
"""What is learnt of an attempt."""

REQUEST_PARTS = ("scope", "tool_version", "idempotency_key", "request_digest")

ABOUT_THE_COMMIT = frozenset(
    (*REQUEST_PARTS, "status", "attempt", "at", "external_id", "committed_at")
)
"""Entries of a commit that tell of itself; others repeat an argument of the same name."""

TOLD = (("event_id", "external_id"), ("start", "start"), ("committed_at", "committed_at"))
"""Entries of a result, and the commit's that they repeat."""


def _effects_have_keys(trace: Trace) -> Iterator[Finding]:
    for call in find_calls(trace):
        commits = call.of(*COMMITTING)
        for found in call.of(Trigger.INVOCATION_STARTED, *COMMITTING):
            is_recorded = bool(commits) or "commit" in found.event.payload
            if is_recorded and found.get("commit", "idempotency_key") is None:
                yield found.event_id, "has no idempotency key, so nothing makes it happen once"


def _answers_are_to_the_attempt(trace: Trace) -> Iterator[Finding]:
    calls = find_calls(trace)
    is_attempted = any(call.of(Trigger.INVOCATION_STARTED) for call in calls)
    for call in calls:
        attempts: list[CallEvent] = []
        for found in call.of(Trigger.INVOCATION_STARTED, *ANSWERING):
            if found.trigger is Trigger.INVOCATION_STARTED:
                attempts.append(found)
            elif attempts:
                yield from _other_request(_answered(attempts, found), found)
            elif is_attempted:
                yield found.event_id, f"{found.trigger} of a call that never started"


def _answered(attempts: list[CallEvent], answer: CallEvent) -> list[CallEvent]:
    """Return the attempts that an answer may be to: the numbered one, else all so far."""
    number = answer.get("commit", "attempt")
    numbered = [one for one in attempts if one.get("commit", "attempt") == number]
    return attempts if number is None or not numbered else numbered


def _other_request(attempts: list[CallEvent], answer: CallEvent) -> Iterator[Finding]:
    for part in (*REQUEST_PARTS, "attempt"):
        stated = answer.get("commit", part)
        asked = [one.get("commit", part) for one in attempts]
        if stated is not None and stated not in asked and asked != [None] * len(asked):
            yield answer.event_id, f"{part} is {stated}, the attempt's was {asked[-1]}"
    ids = [one.get("ids", "invocation_id") for one in attempts]
    stated = answer.get("ids", "invocation_id")
    if stated is not None and stated not in ids and None not in ids:
        yield answer.event_id, f"answers invocation {stated}, started was {ids[-1]}"


def _commits_say_committed(trace: Trace) -> Iterator[Finding]:
    for call in find_calls(trace):
        for found in call.events:
            if "commit" not in found.event.payload:
                continue
            status = found.get("commit", "status")
            if (status == "committed") is not (found.trigger in COMMITTING):
                yield found.event_id, f"{found.trigger} with the commit status {status}"


def _effects_are_the_approved(trace: Trace) -> Iterator[Finding]:
    for call in find_calls(trace):
        invocation: dict[str, Any] = {}
        normalized: CallEvent | None = None
        for found in call.events:
            if found.trigger is Trigger.INVOCATION_NORMALIZED:
                normalized, invocation = found, found.get("choice", "invocation") or {}
            elif found.trigger is Trigger.INVOCATION_STARTED and normalized is not None:
                yield from _not_the_normalized(normalized, invocation, found)
            elif found.trigger in COMMITTING:
                arguments = invocation.get("normalized_arguments") or _executed(call)
                yield from _other_arguments(found, arguments)


def _executed(call: Call) -> dict[str, Any]:
    """Return the arguments of the first attempt, none where they are not recorded."""
    started = call.of(Trigger.INVOCATION_STARTED)
    return (started[0].get("state", "arguments") or {}) if started else {}


def _not_the_normalized(
    normalized: CallEvent, invocation: dict[str, Any], started: CallEvent
) -> Iterator[Finding]:
    pairs = [
        ("tool", "artifacts", "tool", invocation.get("tool")),
        ("request", "commit", "request_digest", normalized.get("choice", "request_digest")),
    ]
    if None in (pairs[1][3], started.get("commit", "request_digest")):
        # No digest binds the arguments, so they are compared themselves.
        arguments = invocation.get("normalized_arguments")
        pairs.append(("arguments", "state", "arguments", arguments))
    for name, section, key, meant in pairs:
        executed = started.get(section, key)
        if None not in (meant, executed) and meant != executed:
            yield started.event_id, f"executes the {name} {executed!r:.80}, meant was {meant!r:.80}"


def _other_arguments(commit: CallEvent, arguments: dict[str, Any]) -> Iterator[Finding]:
    for key, meant in arguments.items():
        stated = commit.get("commit", key)
        if key not in ABOUT_THE_COMMIT and stated is not None and stated != meant:
            yield commit.event_id, f"commits {key} {stated!r:.80}, approved was {meant!r:.80}"


def _results_tell_the_commit(trace: Trace) -> Iterator[Finding]:
    for call in find_calls(trace):
        commit: CallEvent | None = None
        for found in call.of(*COMMITTING, Trigger.RESULT_ENCODED):
            if found.trigger in COMMITTING:
                commit = found
            elif commit is not None:
                yield from _other_result(commit, found)


def _other_result(commit: CallEvent, encoded: CallEvent) -> Iterator[Finding]:
    result = encoded.get("choice", "result")
    if not isinstance(result, dict):
        return
    for key, source in TOLD:
        told, stated = result.get(key), commit.get("commit", source)
        if None not in (told, stated) and told != stated:
            yield encoded.event_id, f"tells {key} {told!r:.80}, committed was {stated!r:.80}"
    for key, told in _members(encoded.get("choice", "text")).items():
        if key in result and told != result[key]:
            yield encoded.event_id, f"the text tells {key} {told!r:.80}, not {result[key]!r:.80}"


def _members(text: Any) -> dict[str, Any]:
    """Return the members of a JSON object, none of a text that is no such object."""
    try:
        found = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _commits_follow_attempts(trace: Trace) -> Iterator[Finding]:
    for call in find_calls(trace):
        attempts = call.of(Trigger.INVOCATION_STARTED)
        for found in call.of(*COMMITTING):
            committed_at = found.get("commit", "committed_at")
            # A query may find the effect of any attempt, so only the first one bounds it.
            is_own = found.trigger is Trigger.EXTERNAL_COMMITTED
            answered = _answered(attempts, found) if is_own else attempts
            at = answered[0].get("commit", "at") if answered else None
            if _is_earlier(committed_at, at):
                yield found.event_id, f"committed at {committed_at}, attempted only at {at}"


def _is_earlier(moment: Any, other: Any) -> bool:
    """Whether both are recorded as ISO 8601 texts and the one comes before the other."""
    if not (isinstance(moment, str) and isinstance(other, str)):
        return False
    return datetime.fromisoformat(moment) < datetime.fromisoformat(other)


def _is_tool(trace: Trace) -> bool:
    return trace.kind == "tool"


KEPT_EFFECT_RULES = (
    Rule(
        "effect-has-a-key",
        "attempts and commits carry the idempotency key that makes them one effect",
        _is_tool,
        _effects_have_keys,
    ),
    Rule(
        "answer-is-to-the-attempt",
        "what is learnt of an attempt states its key, scope, tool version, digest and invocation",
        _is_tool,
        _answers_are_to_the_attempt,
    ),
    Rule(
        "commit-says-committed",
        "a commit has the status committed, and nothing else has",
        _is_tool,
        _commits_say_committed,
    ),
    Rule(
        "approved-is-committed",
        "what is executed and committed is what the normalised invocation says",
        _is_tool,
        _effects_are_the_approved,
    ),
    Rule(
        "result-tells-the-commit",
        "the result tells the effect's id, start and time, as object and as text",
        _is_tool,
        _results_tell_the_commit,
    ),
    Rule(
        "commit-follows-attempt",
        "no effect is older than the attempt that made it",
        _is_tool,
        _commits_follow_attempts,
    ),
)
