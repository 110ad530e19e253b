"""What is going to be done, exactly: the object that is confirmed and executed.

Knows digests. Must not know how it came about.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tracediff.events.canonical_json import json_digest


@dataclass(frozen=True, slots=True)
class Invocation:
    """One call with its meaning fixed; changing anything makes another invocation."""

    invocation_id: str
    tool: str
    normalized_arguments: Mapping[str, Any]
    subject: str
    required_capability: str

    def to_json(self) -> dict[str, Any]:
        """Return the object whose digest a confirmation is bound to."""
        return {
            "invocation_id": self.invocation_id,
            "tool": self.tool,
            "normalized_arguments": dict(self.normalized_arguments),
            "subject": self.subject,
            "required_capability": self.required_capability,
        }

    @property
    def digest(self) -> str:
        """Digest of the whole invocation, its id included: an approval serves one invocation."""
        return json_digest(self.to_json())

    @property
    def request_digest(self) -> str:
        """Digest of the arguments alone, which an idempotency key is bound to."""
        return json_digest(dict(self.normalized_arguments))
