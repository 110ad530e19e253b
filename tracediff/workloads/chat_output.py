"""What became of an answer: valid, broken, cut off or refused, told apart.

Knows texts, finish reasons and schemas. Must not know requests or the recorder. Nothing is
repaired: an answer that was cut off is never read, even where it happens to be JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from tracediff.engine.stopping import FinishReason
from tracediff.toolcalls.parse import parse_arguments
from tracediff.toolcalls.rejection import Rejection
from tracediff.toolcalls.schema_check import check_schema, find_breaches
from tracediff.toolcalls.tool_spec import ToolSpec, find_unsupported


class Verdict(StrEnum):
    """What the validation of an answer found."""

    UNSTRUCTURED = "unstructured"
    VALID = "valid"
    MALFORMED = "malformed"
    INVALID = "invalid"
    TRUNCATED = "truncated"
    REFUSED = "refused"
    CANCELLED = "cancelled"


_BY_REASON = {
    FinishReason.MAX_TOKENS: Verdict.TRUNCATED,
    FinishReason.CONTEXT_WINDOW: Verdict.TRUNCATED,
    FinishReason.REFUSAL: Verdict.REFUSED,
    FinishReason.CONTENT_FILTER: Verdict.REFUSED,
    FinishReason.CANCELLED: Verdict.CANCELLED,
}
"""Answers that are not whole are not read."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict and its evidence: why the text is no JSON, or which keywords do not hold."""

    verdict: Verdict
    reason: str | None = None
    breaches: tuple[Mapping[str, str], ...] = ()


def check_output_schema(schema: Any, field: str) -> str | None:
    """Return why a schema cannot be asked for, naming where below `field`; None if it can."""
    rejection = find_unsupported(schema, field) or check_schema(_as_spec(schema))
    return None if rejection is None else rejection.message.replace("$.input_schema", field)


def judge_output(text: str, reason: FinishReason, schema: Mapping[str, Any] | None) -> Judgement:
    """Return the verdict on a whole answer; `schema` is None where no structure was asked for."""
    if reason in _BY_REASON:
        return Judgement(_BY_REASON[reason])
    if schema is None:
        return Judgement(Verdict.UNSTRUCTURED)
    value = parse_arguments(text.encode())
    if isinstance(value, Rejection):
        return Judgement(Verdict.MALFORMED, value.reason)
    breaches = tuple(asdict(breach) for breach in find_breaches(_as_spec(schema), value))
    return Judgement(Verdict.INVALID if breaches else Verdict.VALID, breaches=breaches)


def judgement_to_json(judgement: Judgement) -> dict[str, Any]:
    """Return a judgement as a choice."""
    return {
        "verdict": judgement.verdict,
        "reason": judgement.reason,
        "breaches": list(judgement.breaches),
    }


def _as_spec(schema: Any) -> ToolSpec:
    """Return the schema as that of a tool without effects, which the checks of `toolcalls` read."""
    return ToolSpec("output", "v1", "read", schema, "", "")
