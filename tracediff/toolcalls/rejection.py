"""A refusal as a value: what was refused and why. Nothing was done, and nothing may follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why something was refused.

    `reason` is a fixed word such as `duplicate-key`; `message` one sentence for people; `evidence`
    names what it is about (a field, a limit, both digests).
    """

    reason: str
    message: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
