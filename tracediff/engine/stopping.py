"""When a generation stops, and which text may be returned meanwhile.

Knows text only. Must not know models or traces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType


class FinishReason(StrEnum):
    """Why a generation ended, in the project's own words."""

    EOS = "eos"
    STOP_SEQUENCE = "stop_sequence"
    MAX_TOKENS = "max_tokens"
    CONTEXT_WINDOW = "context_window"
    TOOL_CALLS = "tool_calls"
    REFUSAL = "refusal"
    CONTENT_FILTER = "content_filter"
    CANCELLED = "cancelled"


OPENAI_WORDS: Mapping[FinishReason, str | None] = MappingProxyType(
    {
        FinishReason.EOS: "stop",
        FinishReason.STOP_SEQUENCE: "stop",
        FinishReason.MAX_TOKENS: "length",
        FinishReason.CONTEXT_WINDOW: "length",
        FinishReason.TOOL_CALLS: "tool_calls",
        FinishReason.REFUSAL: "stop",
        FinishReason.CONTENT_FILTER: "content_filter",
        FinishReason.CANCELLED: None,
    }
)
"""`finish_reason` of OpenAI's chat completions API; None where nobody is left to hear it."""

ANTHROPIC_WORDS: Mapping[FinishReason, str | None] = MappingProxyType(
    {
        FinishReason.EOS: "end_turn",
        FinishReason.STOP_SEQUENCE: "stop_sequence",
        FinishReason.MAX_TOKENS: "max_tokens",
        FinishReason.CONTEXT_WINDOW: "model_context_window_exceeded",
        FinishReason.TOOL_CALLS: "tool_use",
        FinishReason.REFUSAL: "refusal",
        FinishReason.CONTENT_FILTER: "refusal",
        FinishReason.CANCELLED: None,
    }
)
"""`stop_reason` of Anthropic's messages API; None where nobody is left to hear it."""

CUT_SHORT = frozenset({FinishReason.REFUSAL, FinishReason.CONTENT_FILTER, FinishReason.CANCELLED})
"""Reasons that come from outside the model: what it held back then is not returned."""


class StopMatcher:
    """Finds stop sequences across token borders and holds back what may become one.

    `push` takes the text of the next token and returns what may be returned now; once `matched`
    is set nothing more comes. `flush` returns what was held back when generation ends otherwise.
    The sequence that is complete first matches, of several that end together the longest: so the
    result does not depend on where the tokens' borders are.
    """

    def __init__(self, sequences: Sequence[str]) -> None:
        self._sequences = tuple(sequences)
        self._held = ""
        self.matched: str | None = None

    def push(self, text: str) -> str:
        """Return the text that is safe to return after `text` arrived."""
        if self.matched is not None:
            return ""
        pending = self._held + text
        found = [(pending.find(stop), stop) for stop in self._sequences if stop in pending]
        if found:
            position, self.matched = min(found, key=lambda match: (match[0] + len(match[1]), match))
            self._held = ""
            return pending[:position]
        keep = self._possible_start(pending)
        self._held = pending[keep:]
        return pending[:keep]

    def flush(self) -> str:
        """Return what was held back; it did not become a stop sequence."""
        held, self._held = self._held, ""
        return held

    def _possible_start(self, pending: str) -> int:
        """Return the first index from which `pending` is a proper prefix of a stop sequence."""
        for index in range(len(pending)):
            if any(stop.startswith(pending[index:]) for stop in self._sequences):
                return index
        return len(pending)
