"""The rules of permission: what allowed an effect says so, and was asked about this very effect.

Knows the recorded calls. Each rule reads what is recorded; that the permissions are there at all
is `effects`' matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracediff.contracts.rule import Finding, Rule
from tracediff.contracts.tool_calls import CallEvent, entry, find_calls
from tracediff.events import Trace
from tracediff.events.tool_states import Trigger

PERMITTING = (
    (Trigger.SCHEMA_VALIDATED, "verdict", "valid"),
    (Trigger.AUTHORIZATION_ALLOWED, "verdict", "allowed"),
    (Trigger.CONFIRMATION_APPROVED, "decision", "approve"),
)
"""What permits an execution, and the word of `choice` with which it does."""


def _permissions_permit(trace: Trace) -> Iterator[Finding]:
    is_denied = entry(trace.root, "settings", "decision") == "deny"
    for call in find_calls(trace):
        for trigger, key, word in PERMITTING:
            for found in call.of(trigger):
                said = found.get("choice", key)
                if said not in (None, word):
                    yield found.event_id, f"{trigger} with the {key} {said!r:.80}, expected {word}"
        for found in call.of(Trigger.SCHEMA_VALIDATED):
            if found.get("choice", "breaches"):
                breaches = found.get("choice", "breaches")
                yield found.event_id, f"validated in spite of {breaches!r:.80}"
        if is_denied:
            for found in call.of(Trigger.CONFIRMATION_APPROVED):
                yield found.event_id, "approved although the settings' decision is deny"


def _capabilities_are_held(trace: Trace) -> Iterator[Finding]:
    held = entry(trace.root, "settings", "capabilities")
    for call in find_calls(trace):
        required: Any = None
        for found in call.of(Trigger.INVOCATION_NORMALIZED, Trigger.AUTHORIZATION_ALLOWED):
            if found.trigger is Trigger.INVOCATION_NORMALIZED:
                required = (found.get("choice", "invocation") or {}).get("required_capability")
                continue
            checked = found.get("state", "required_capability")
            if None not in (required, checked) and required != checked:
                yield found.event_id, f"allows {checked}, the invocation needs {required}"
            granted = found.get("choice", "granted_by")
            for capability in dict.fromkeys((required, checked, granted)):
                if None not in (held, capability) and capability not in held:
                    yield found.event_id, f"allowed by {capability}, held are {held!r:.80}"


def _approvals_are_bound(trace: Trace) -> Iterator[Finding]:
    for call in find_calls(trace):
        asked: Any = None
        for found in call.events:
            if found.trigger is Trigger.INVOCATION_NORMALIZED:
                asked = found.get("choice", "invocation_digest")
            elif found.trigger is Trigger.CONFIRMATION_REQUESTED:
                digest = found.get("state", "invocation_digest")
                if None not in (asked, digest) and asked != digest:
                    yield found.event_id, f"asks about {digest}, the invocation is {asked}"
                asked = asked if digest is None else digest
            elif found.trigger is Trigger.CONFIRMATION_APPROVED and asked is not None:
                confirmed = found.get("state", "confirmed_digest")
                if confirmed != asked:
                    yield found.event_id, f"confirms the digest {confirmed}, asked was {asked}"


def _what_is_shown_is_meant(trace: Trace) -> Iterator[Finding]:
    for call in find_calls(trace):
        meant: dict[str, Any] = {}
        for found in call.events:
            if found.trigger is Trigger.INVOCATION_NORMALIZED:
                meant = _meaning(found)
            elif found.trigger is Trigger.CONFIRMATION_REQUESTED:
                shown = found.get("choice", "shown")
                if shown is None:
                    continue
                for key, value in meant.items():
                    if shown.get(key) != value:
                        yield (
                            found.event_id,
                            f"shows {key} {shown.get(key)!r:.80}, meant is {value!r:.80}",
                        )


def _meaning(normalized: CallEvent) -> dict[str, Any]:
    """Return what a person must be shown of a normalised invocation, so far as it is recorded."""
    invocation = normalized.get("choice", "invocation") or {}
    around = {"tool": invocation.get("tool"), "timezone": normalized.get("state", "timezone")}
    recorded = {key: value for key, value in around.items() if value is not None}
    return {**recorded, **(invocation.get("normalized_arguments") or {})}


def _permissions_are_for_this(trace: Trace) -> Iterator[Finding]:
    for call in find_calls(trace):
        permissions: list[CallEvent] = []
        subject: Any = None
        for found in call.events:
            if found.trigger is Trigger.INVOCATION_NORMALIZED:
                permissions = []
                subject = (found.get("choice", "invocation") or {}).get("subject")
            elif found.trigger in (Trigger.AUTHORIZATION_ALLOWED, Trigger.CONFIRMATION_REQUESTED):
                permissions.append(found)
                yield from _other(found, "state", "subject", subject)
            elif found.trigger is Trigger.CONFIRMATION_APPROVED and permissions:
                asked = permissions[-1].get("ids", "confirmation_id")
                yield from _other(found, "ids", "confirmation_id", asked)
            elif found.trigger is Trigger.INVOCATION_STARTED:
                for permission in permissions:
                    executed = found.get("ids", "invocation_id")
                    yield from _other(permission, "ids", "invocation_id", executed)


def _other(found: CallEvent, section: str, key: str, expected: Any) -> Iterator[Finding]:
    stated = found.get(section, key)
    if None not in (stated, expected) and stated != expected:
        yield found.event_id, f"is for the {key} {stated}, expected {expected}"


def _is_tool(trace: Trace) -> bool:
    return trace.kind == "tool"


PERMISSION_RULES = (
    Rule(
        "permissions-permit",
        "what validated, allowed or approved a call says valid, allowed or approve",
        _is_tool,
        _permissions_permit,
    ),
    Rule(
        "capability-is-held",
        "a call is allowed only by capabilities that the settings list",
        _is_tool,
        _capabilities_are_held,
    ),
    Rule(
        "approval-is-bound",
        "an approval confirms the digest of the invocation that was asked about",
        _is_tool,
        _approvals_are_bound,
    ),
    Rule(
        "shown-is-meant",
        "the person is shown the tool, the arguments and the zone of the normalised invocation",
        _is_tool,
        _what_is_shown_is_meant,
    ),
    Rule(
        "permission-is-for-this",
        "authorisation and confirmation are for the invocation and subject that they lead to",
        _is_tool,
        _permissions_are_for_this,
    ),
)
