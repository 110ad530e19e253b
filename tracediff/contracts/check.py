"""Checks a trace against every rule that applies to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tracediff.contracts.agent import AGENT_RULES
from tracediff.contracts.effects import EFFECT_RULES
from tracediff.contracts.effects_kept import KEPT_EFFECT_RULES
from tracediff.contracts.effects_permitted import PERMISSION_RULES
from tracediff.contracts.image import IMAGE_RULES
from tracediff.contracts.randomness import RANDOMNESS_RULES
from tracediff.contracts.rule import Rule, Violation
from tracediff.contracts.sequences import SEQUENCE_RULES
from tracediff.contracts.stream import STREAM_RULES
from tracediff.contracts.tensor_records import TENSOR_RECORD_RULES
from tracediff.contracts.tensor_statistics import TENSOR_STATISTICS_RULES
from tracediff.contracts.text import TEXT_RULES
from tracediff.contracts.tool_answers import TOOL_ANSWER_RULES
from tracediff.contracts.tool_proposals import TOOL_PROPOSAL_RULES
from tracediff.contracts.tool_records import TOOL_RECORD_RULES
from tracediff.events import Trace

ALL_RULES: tuple[Rule, ...] = (
    *RANDOMNESS_RULES,
    *SEQUENCE_RULES,
    *TENSOR_RECORD_RULES,
    *TENSOR_STATISTICS_RULES,
    *TEXT_RULES,
    *STREAM_RULES,
    *IMAGE_RULES,
    *EFFECT_RULES,
    *PERMISSION_RULES,
    *KEPT_EFFECT_RULES,
    *TOOL_PROPOSAL_RULES,
    *TOOL_RECORD_RULES,
    *TOOL_ANSWER_RULES,
    *AGENT_RULES,
)


@dataclass(frozen=True, slots=True)
class Report:
    """Which rules were applied to a trace and which of them it breaks."""

    trace: str
    kind: str
    events: int
    applied: tuple[Rule, ...]
    violations: tuple[Violation, ...]


def check_trace(trace: Trace) -> Report:
    """Return the report of all rules that apply to a structurally valid trace."""
    applied = tuple(rule for rule in ALL_RULES if rule.applies(trace))
    violations = tuple(violation for rule in applied for violation in _broken(rule, trace))
    return Report(trace.name, trace.kind, len(trace.events), applied, violations)


def _broken(rule: Rule, trace: Trace) -> Iterator[Violation]:
    """Yield how a trace breaks a rule; fields of an unexpected type break it too."""
    try:
        for event_id, reason in rule.check(trace):
            yield Violation(rule.name, event_id, reason)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        reason = f"cannot be checked, a field it reads has an unexpected form ({error!r})"
        yield Violation(rule.name, None, reason)
