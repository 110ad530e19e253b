"""Whether a subject may do what an invocation asks for.

Knows capabilities `RESOURCE.EFFECT[:SCOPE]`. Must not know tools' meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tracediff.toolcalls.invocation import Invocation


@dataclass(frozen=True, slots=True)
class Authorization:
    """The verdict: `granted_by` is the capability that allows it, None where none does."""

    subject: str
    required: str
    granted_by: str | None

    @property
    def allowed(self) -> bool:
        """Whether a capability covers it."""
        return self.granted_by is not None

    @property
    def scope(self) -> str:
        """The part of the required capability after the colon."""
        return self.required.partition(":")[2]


def authorise(invocation: Invocation, capabilities: Sequence[str]) -> Authorization:
    """Return whether the subject's capabilities cover the invocation.

    A capability covers exactly what it spells: reading does not cover writing, one scope not
    another, and a capability without scope none with one.
    """
    required = invocation.required_capability
    granted = required if required in capabilities else None
    return Authorization(invocation.subject, required, granted)
