"""Replies in the shape of Anthropic's messages.

Source: Anthropic API reference, "Messages", "Streaming messages" and "Errors". Knows that shape.
Must not know requests' bodies or how bytes are sent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tracediff.engine.stopping import ANTHROPIC_WORDS, CUT_SHORT, FinishReason
from tracediff.serving.rejection import HttpError
from tracediff.serving.server_sent_events import encode_event
from tracediff.workloads.chat import Delta, Finished, Started

_KINDS = {404: "not_found_error", 429: "rate_limit_error", 500: "api_error"}


def anthropic_error(error: HttpError, request_id: str) -> Mapping[str, Any]:
    """Return the document of an error; the field goes into the message, where clients look."""
    kind = _KINDS.get(error.status, "invalid_request_error")
    named = error.field is not None and error.field not in error.message
    message = f"{error.field}: {error.message}" if named else error.message
    detail = {"type": kind, "message": message}
    return {"type": "error", "error": detail, "request_id": request_id}


class AnthropicReply:
    """One message. `number` makes its ids, `tool` is the tool that is used, if any."""

    def __init__(self, number: int, model: str, tool: str | None) -> None:
        self._message: Mapping[str, Any] = {
            "id": f"msg_{number:06d}",
            "type": "message",
            "role": "assistant",
            "model": model,
        }
        self._tool = tool
        self._use: Mapping[str, Any] = {
            "type": "tool_use",
            "id": f"toolu_{number:06d}",
            "name": tool,
            "input": {},
        }

    def opening(self, started: Started) -> list[bytes]:
        """Return the message's and its one content block's beginning."""
        usage = {"input_tokens": started.prompt_tokens, "output_tokens": 0}
        ends: dict[str, Any] = {
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }
        block = {"type": "text", "text": ""} if self._tool is None else self._use
        return [
            _event("message_start", message={**self._message, **ends}),
            _event("content_block_start", index=0, content_block=block),
            _event("ping"),
        ]

    def delta(self, delta: Delta) -> list[bytes]:
        """Return what is added to the content block."""
        if not delta.text:
            return []
        told = {"type": "text_delta", "text": delta.text}
        if self._tool is not None:
            told = {"type": "input_json_delta", "partial_json": delta.text}
        return [_event("content_block_delta", index=0, delta=told)]

    def finish(self, finished: Finished) -> list[bytes]:
        """Return the content block's end, and the stop reason with the usage."""
        usage = {"output_tokens": finished.completion_tokens}
        return [
            _event("content_block_stop", index=0),
            _event("message_delta", delta=_ending(finished), usage=usage),
        ]

    def terminator(self, finished: Finished) -> list[bytes]:
        """Return the message's end."""
        return [_event("message_stop")]

    def failure(self) -> list[bytes]:
        """Return the error that comes instead of the next event."""
        return [_event("error", error={"type": "overloaded_error", "message": "Overloaded"})]

    def whole(
        self, started: Started, deltas: Sequence[Delta], finished: Finished
    ) -> Mapping[str, Any]:
        """Return the message object; arguments that were cut off are no input."""
        text = "".join(delta.text for delta in deltas)
        block: dict[str, Any] = {"type": "text", "text": text}
        if self._tool is not None:
            is_whole = finished.reason is FinishReason.TOOL_CALLS
            block = {**self._use, "input": json.loads(text) if is_whole else {}}
        usage = {
            "input_tokens": started.prompt_tokens,
            "output_tokens": finished.completion_tokens,
        }
        is_call = self._tool is not None and finished.reason not in CUT_SHORT
        content = [block] if text or is_call else []
        return {**self._message, "content": content, **_ending(finished), "usage": usage}


def _event(name: str, **fields: Any) -> bytes:
    return encode_event({"type": name, **fields}, name)


def _ending(finished: Finished) -> dict[str, str | None]:
    return {
        "stop_reason": ANTHROPIC_WORDS[finished.reason],
        "stop_sequence": finished.stop_sequence,
    }
