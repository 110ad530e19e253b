"""Why an answer ended: the words of the APIs, and the common vocabulary they are put into.

Knows words only. The first four are those of text runs (`engine.stopping`). OpenAI says `stop` for
an end token and a stop sequence alike, `length` for both limits: what it does not say is not
guessed, unless the request leaves one possibility only.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Finish(StrEnum):
    """Why an answer ended."""

    EOS = "eos"
    STOP_SEQUENCE = "stop_sequence"
    MAX_TOKENS = "max_tokens"
    CONTEXT_WINDOW = "context_window"
    STOP = "stop"  # EOS or STOP_SEQUENCE
    LENGTH = "length"  # MAX_TOKENS or CONTEXT_WINDOW
    TOOL_CALL = "tool_call"
    CONTENT_FILTER = "content_filter"
    REFUSAL = "refusal"
    PAUSE = "pause"
    CANCELLED = "cancelled"
    ERROR = "error"
    OTHER = "other"


CUT_OFF: Final = frozenset(
    {Finish.MAX_TOKENS, Finish.CONTEXT_WINDOW, Finish.LENGTH, Finish.CONTENT_FILTER}
)
"""Ends in the middle: what was being written then is truncated and not malformed."""

OPENAI_FINISH: Final[Mapping[str, Finish]] = MappingProxyType(
    {
        "stop": Finish.STOP,
        "length": Finish.LENGTH,
        "tool_calls": Finish.TOOL_CALL,
        "function_call": Finish.TOOL_CALL,
        "content_filter": Finish.CONTENT_FILTER,
        "error": Finish.ERROR,
        "abort": Finish.CANCELLED,
    }
)
"""`finish_reason` of chat completions; the last two are words of vLLM and gateways."""

RESPONSES_FINISH: Final[Mapping[str, Finish]] = MappingProxyType(
    {
        "completed": Finish.STOP,
        "max_output_tokens": Finish.MAX_TOKENS,
        "content_filter": Finish.CONTENT_FILTER,
        "failed": Finish.ERROR,
        "cancelled": Finish.CANCELLED,
    }
)
"""`status` of OpenAI's responses, or the reason of one that is `incomplete`."""

ANTHROPIC_FINISH: Final[Mapping[str, Finish]] = MappingProxyType(
    {
        "end_turn": Finish.EOS,
        "stop_sequence": Finish.STOP_SEQUENCE,
        "max_tokens": Finish.MAX_TOKENS,
        "tool_use": Finish.TOOL_CALL,
        "refusal": Finish.REFUSAL,
        "pause_turn": Finish.PAUSE,
        "model_context_window_exceeded": Finish.CONTEXT_WINDOW,
    }
)
"""`stop_reason` of Anthropic's messages."""


def settle_finish(
    finish: Finish,
    *,
    stop_sequence: str | None,
    stops_asked: bool | None,
    limit: int | None,
    output_tokens: int | None,
) -> Finish:
    """Return the more exact word where the answer and its request leave one possibility only.

    `stops_asked` says whether the request named stop sequences, None where it is not known.
    """
    if finish is Finish.STOP and stop_sequence is not None:
        return Finish.STOP_SEQUENCE
    if finish is Finish.STOP and stops_asked is False:
        return Finish.EOS
    if finish is Finish.LENGTH and limit is not None and limit == output_tokens:
        return Finish.MAX_TOKENS
    return finish
