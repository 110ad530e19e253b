"""Replies in the shape of OpenAI's chat completions.

Source: OpenAI API reference, "The chat completion object", "The chat completion chunk object" and
"Error codes". Knows that shape. Must not know requests' bodies or how bytes are sent.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from tracediff.engine.stopping import OPENAI_WORDS, FinishReason
from tracediff.serving.rejection import HttpError
from tracediff.serving.reply import REFUSAL
from tracediff.serving.server_sent_events import encode_event
from tracediff.workloads.chat import ChosenToken, Delta, Finished, Likelihood, Started

_KINDS = {429: "rate_limit_error", 500: "server_error"}


def openai_error(error: HttpError, request_id: str) -> Mapping[str, Any]:
    """Return the document of an error."""
    kind = _KINDS.get(error.status, "invalid_request_error")
    detail = {"message": error.message, "type": kind, "param": error.field, "code": error.code}
    return {"error": detail}


class OpenaiReply:
    """One chat completion. `number` makes its ids, `tool` is the tool that is called, if any."""

    def __init__(
        self, number: int, model: str, tool: str | None, *, tells_usage: bool, likelihoods: bool
    ) -> None:
        self._head = {
            "id": f"chatcmpl-{number:06d}",
            "created": int(time.time()),
            "model": model,
            "system_fingerprint": f"fp_{model}",
        }
        self._call_id = f"call_{number:06d}"
        self._tool = tool
        self._tells_usage = tells_usage
        self._likelihoods = likelihoods
        self._waiting: list[ChosenToken] = []
        self._prompt_tokens = 0

    def opening(self, started: Started) -> list[bytes]:
        """Return the chunk that names the role, and with it the tool that is called."""
        self._prompt_tokens = started.prompt_tokens
        delta: dict[str, Any] = {"role": "assistant", "content": ""}
        if self._tool is not None:
            function = {"name": self._tool, "arguments": ""}
            call = {"index": 0, "id": self._call_id, "type": "function", "function": function}
            delta = {"role": "assistant", "content": None, "tool_calls": [call]}
        return [self._chunk(delta)]

    def delta(self, delta: Delta) -> list[bytes]:
        """Return a chunk; tokens whose text is held back are told with the text that frees it."""
        if delta.token is not None:
            self._waiting.append(delta.token)
        if not delta.text:
            return []
        told: dict[str, Any] = {"content": delta.text}
        if self._tool is not None:
            told = {"tool_calls": [{"index": 0, "function": {"arguments": delta.text}}]}
        tokens, self._waiting = self._waiting, []
        return [self._chunk(told, tokens=tokens)]

    def finish(self, finished: Finished) -> list[bytes]:
        """Return the chunk with the finish reason; before it, a refusal."""
        refused = finished.reason is FinishReason.REFUSAL
        refusal = [self._chunk({"refusal": REFUSAL})] if refused else []
        return [*refusal, self._chunk({}, OPENAI_WORDS[finished.reason])]

    def terminator(self, finished: Finished) -> list[bytes]:
        """Return the usage chunk, where it was asked for, and [DONE]."""
        done = encode_event("[DONE]")
        if not self._tells_usage:
            return [done]
        usage = _usage(self._prompt_tokens, finished)
        return [encode_event({**self._chunk_head(), "choices": [], "usage": usage}), done]

    def failure(self) -> list[bytes]:
        """Return the error that comes instead of the next chunk."""
        error = HttpError(500, "the server had an error while it answered", "server_error")
        return [encode_event(openai_error(error, ""))]

    def whole(
        self, started: Started, deltas: Sequence[Delta], finished: Finished
    ) -> Mapping[str, Any]:
        """Return the chat completion object."""
        text = "".join(delta.text for delta in deltas)
        refused = finished.reason is FinishReason.REFUSAL
        message: dict[str, Any] = {
            "role": "assistant",
            "content": None if refused else text,
            "refusal": REFUSAL if refused else None,
        }
        if self._tool is not None and not refused:
            function = {"name": self._tool, "arguments": text}
            message["content"] = None
            message["tool_calls"] = [
                {"id": self._call_id, "type": "function", "function": function}
            ]
        choice = {
            "index": 0,
            "message": message,
            "logprobs": self._logprobs([delta.token for delta in deltas if delta.token]),
            "finish_reason": OPENAI_WORDS[finished.reason],
        }
        usage = _usage(started.prompt_tokens, finished)
        return {**self._head, "object": "chat.completion", "choices": [choice], "usage": usage}

    def _chunk(
        self,
        delta: Mapping[str, Any],
        reason: str | None = None,
        tokens: Sequence[ChosenToken] = (),
    ) -> bytes:
        choice = {
            "index": 0,
            "delta": delta,
            "logprobs": self._logprobs(tokens) if tokens else None,
            "finish_reason": reason,
        }
        usage = {"usage": None} if self._tells_usage else {}
        return encode_event({**self._chunk_head(), "choices": [choice], **usage})

    def _chunk_head(self) -> dict[str, Any]:
        return {**self._head, "object": "chat.completion.chunk"}

    def _logprobs(self, tokens: Sequence[ChosenToken]) -> Mapping[str, Any] | None:
        if not self._likelihoods:
            return None
        content = [
            {
                **_likelihood(token.chosen),
                "top_logprobs": [_likelihood(other) for other in token.likeliest],
            }
            for token in tokens
        ]
        return {"content": content, "refusal": None}


def _likelihood(found: Likelihood) -> dict[str, Any]:
    return {
        "token": found.text,
        "logprob": found.logarithm,
        "bytes": list(found.text.encode()),
    }


def _usage(prompt_tokens: int, finished: Finished) -> Mapping[str, int]:
    chosen = finished.completion_tokens
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": chosen,
        "total_tokens": prompt_tokens + chosen,
    }
