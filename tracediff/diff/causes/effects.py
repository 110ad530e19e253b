"""Causes seen in side effects: a request refused, an effect repeated, another effect."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from tracediff.diff.causes.findings import FINISH_REASON, Findings
from tracediff.diff.fields import FieldComparer
from tracediff.diff.result import MISSING, Cause
from tracediff.events import Event

_REJECTIONS: Final[Mapping[str, tuple[str, str]]] = {
    "schema.rejected": ("schema-rejected", "the arguments break the tool's schema"),
    "confirmation.rejected": (
        "confirmation-mismatch",
        "what was confirmed is not what is to be executed",
    ),
}
_REFUSING: Final = (".rejected", ".denied", ".refused")
_KEYS: Final = ("idempotency_key", "effect_id", "key")
_COMMITTED: Final = frozenset({"committed", "COMMITTED"})
_DIGEST_ENDS: Final = ("digest", "sha", "sha256", "hash")
_ARGUMENTS: Final = frozenset({"arguments", "normalized_arguments"})
_CUT_OFF: Final = ("length", "max_tokens")


def refused(findings: Findings) -> Cause | None:
    """Right after the sides part, one of them refuses what the other one carries on with."""
    is_request = findings.event.parent_event_id is None
    if findings.first.check not in ("structure", "state", "choice") or is_request:
        return None
    refusing = [event is not None and _refuses(event) for event in findings.apart]
    if refusing[0] == refusing[1]:
        return None
    event = findings.apart[1] if refusing[1] else findings.apart[0]
    assert event is not None
    choice = event.payload.get("choice", {})
    kind, text = _REJECTIONS.get(event.event_type, ("refused", event.event_type))
    if choice.get("reason") == "truncated":
        kind, text = "truncated", "the proposal was cut off"
    side = "right" if refusing[1] else "left"
    facts = {"event": event.event_id, "type": event.event_type, **choice}
    return Cause(kind, event.component, f"{side} refuses: {text}", facts)


def executed_unconfirmed(findings: Findings) -> Cause | None:
    """One side executes another invocation than the one that was confirmed."""
    digests = [state.get("invocation_digest") for state in findings.sections("state")]
    if findings.first.check != "state" or None in digests or digests[0] == digests[1]:
        return None
    sides = zip(findings.all_events(), (findings.left, findings.right), strict=True)
    confirmed = [_confirmed_before(events, event) for events, event in sides]
    agree = [x == y for x, y in zip(digests, confirmed, strict=True)]
    if None in confirmed or agree[0] == agree[1]:
        return None
    side = "right" if agree[0] else "left"
    return Cause(
        "confirmation-mismatch",
        findings.component,
        f"{side} executes what nobody confirmed: {findings.leaf} differs",
        {"confirmed": confirmed, "executed": digests, **findings.values},
    )


def cut_off_proposal(findings: Findings) -> Cause | None:
    """A proposal that was cut off is refused on one side and executed on the other."""
    if findings.first.check != "structure" or findings.left is None or findings.right is None:
        return None
    refusals = [_refuses(event) for event in (findings.left, findings.right)]
    if refusals[0] == refusals[1]:
        return None
    sides = zip(findings.all_events(), (findings.left, findings.right), strict=True)
    reasons = [_last_reason(events, event) for events, event in sides]
    if not all(reason in _CUT_OFF for reason in reasons):
        return None
    where = "left" if refusals[0] else "right"
    return Cause(
        "truncated",
        findings.component,
        f"the proposal was cut off; {where} refuses it, the other side goes on with it",
        {FINISH_REASON: reasons[0]},
    )


def duplicate_commit(findings: Findings) -> Cause | None:
    """One side commits the same thing more often than the other."""
    if findings.first.check not in ("structure", "commit"):
        return None
    mine, other = (_effects(events) for events in findings.all_events())
    for key in dict.fromkeys((*mine, *other)):
        counts = mine[key], other[key]
        if counts[0] != counts[1] and max(counts) > 1:
            return Cause(
                "duplicate-commit",
                findings.component,
                f"{key} is committed {counts[0]} times on the left, {counts[1]} on the right",
                {"key": key, "commits": {"left": counts[0], "right": counts[1]}},
            )
    return None


def digest_alone(findings: Findings) -> Cause | None:
    """Digests differ, and what they are digests of does not."""
    if not findings.leaf.endswith(_DIGEST_ENDS) or findings.left is None or findings.right is None:
        return None
    difference = findings.first.difference
    if MISSING in (difference.left, difference.right):
        return None
    mine, other = findings.all_records()
    unlike = [
        name for name in mine if name in other and mine[name]["digest"] != other[name]["digest"]
    ]
    if unlike:
        return Cause(
            "numeric-path",
            findings.component,
            f"{unlike[-1]} differs within tolerance, so what is made of it, to the bit, does too",
            {"tensors": unlike, **findings.values},
        )
    rest = [_without_digests(findings.sections(name)) for name in ("state", "choice", "commit")]
    if any(FieldComparer().first(*pair, "") is not None for pair in rest):
        return None
    spelled = [json.dumps(pair) for pair in zip(*rest, strict=True)]
    if spelled[0] != spelled[1]:
        kind = "non-canonical-digest"
        text = (
            f"the content is the same and spelled in another order; {findings.leaf} depends on it"
        )
    elif any(pair[0] for pair in rest):
        kind, text = "digest-method", f"{findings.leaf} of the same content is another one"
    else:
        return None
    return Cause(kind, findings.component, text, findings.values)


def commit_identity(findings: Findings) -> Cause | None:
    """The side effect is another one."""
    if findings.first.check != "commit":
        return None
    text = f"{findings.leaf} differs"
    return Cause("commit-identity", findings.component, text, findings.values)


def other_arguments(findings: Findings) -> Cause | None:
    """The same tool is called with other arguments."""
    if findings.first.check != "choice" or not _ARGUMENTS.intersection(map(str, findings.path)):
        return None
    text = f"the call has another {findings.leaf}"
    return Cause("arguments-changed", findings.component, text, findings.values)


def _refuses(event: Event) -> bool:
    return event.event_type.endswith(_REFUSING)


def _confirmed_before(events: Iterable[Event], until: Event | None) -> Any:
    digest = None
    for event in events:
        if until is not None and event.event_id == until.event_id:
            break
        digest = event.payload.get("state", {}).get("confirmed_digest", digest)
    return digest


def _last_reason(events: Iterable[Event], until: Event) -> Any:
    reason = None
    for event in events:
        if event.event_id == until.event_id:
            break
        reason = event.payload.get("choice", {}).get(FINISH_REASON, reason)
    return reason


def _effects(events: Iterable[Event]) -> Counter[str]:
    """Return how often each idempotency key was committed."""
    found: Counter[str] = Counter()
    for event in events:
        commit = event.payload.get("commit", {})
        key = next((str(commit[name]) for name in _KEYS if name in commit), None)
        if key is not None and commit.get("status") in _COMMITTED:
            found[key] += 1
    return found


def _without_digests(sections: tuple[Any, Any]) -> tuple[Any, Any]:
    mine, other = (
        {key: value for key, value in section.items() if not key.endswith(_DIGEST_ENDS)}
        for section in sections
    )
    return mine, other
