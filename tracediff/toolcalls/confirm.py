"""A person's decision, bound to exactly what was shown.

Knows digests and decisions. Must not know how the person is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tracediff.toolcalls.invocation import Invocation
from tracediff.toolcalls.rejection import Rejection


class Decision(StrEnum):
    """What the person said."""

    APPROVE = "approve"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class ConfirmationRequest:
    """What a person is asked: the digest of one invocation, and what is shown of it."""

    confirmation_id: str
    invocation_id: str
    invocation_digest: str
    shown: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The person's answer to one request."""

    confirmation_id: str
    invocation_id: str
    invocation_digest: str
    decision: Decision


def request_confirmation(
    confirmation_id: str, invocation: Invocation, timezone: str
) -> ConfirmationRequest:
    """Return what a person has to decide: normalised arguments, the zone, and their digest."""
    shown = {"tool": invocation.tool, **invocation.normalized_arguments, "timezone": timezone}
    return ConfirmationRequest(confirmation_id, invocation.invocation_id, invocation.digest, shown)


def decide(request: ConfirmationRequest, decision: Decision) -> Confirmation:
    """Return the person's answer; it is about what the request showed, whatever changes later."""
    return Confirmation(
        request.confirmation_id, request.invocation_id, request.invocation_digest, decision
    )


def find_mismatch(confirmation: Confirmation, invocation: Invocation) -> Rejection | None:
    """Return why a confirmation does not serve an invocation as it stands now, None if it does."""
    if confirmation.invocation_id != invocation.invocation_id:
        return Rejection(
            "other-invocation",
            "the confirmation is about another invocation",
            {
                "confirmed_invocation": confirmation.invocation_id,
                "invocation": invocation.invocation_id,
            },
        )
    if confirmation.invocation_digest != invocation.digest:
        return Rejection(
            "digest-mismatch",
            "the invocation is no longer what was confirmed; it must be confirmed anew",
            {
                "confirmed_digest": confirmation.invocation_digest,
                "invocation_digest": invocation.digest,
            },
        )
    return None
