"""What a request asks for, as far as a trace says it.

Knows the bodies of three APIs. Messages are kept as digests; must not know keys or URLs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from tracediff.errors import UsageError
from tracediff.streaming.payload import NoJson, parse_payload, spell_json

_DIGESTED: Final = ("messages", "input", "instructions", "system", "tools", "functions")
_SETTINGS: Final = (
    *("stream", "stream_options", "n", "seed", "temperature", "top_p", "top_k", "min_p"),
    *("max_tokens", "max_completion_tokens", "max_output_tokens", "stop", "stop_sequences"),
    *("presence_penalty", "frequency_penalty", "logit_bias", "logprobs", "top_logprobs"),
    *("tool_choice", "parallel_tool_calls", "response_format", "text", "reasoning"),
    *("reasoning_effort", "thinking", "truncation", "service_tier"),
)
_LIMITS: Final = ("max_completion_tokens", "max_output_tokens", "max_tokens")


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """A request as a trace tells it.

    `artifacts` and `settings` are sections of the event; `stops_asked` says whether stop sequences
    were named, `limit` how many tokens were allowed; both None where that is not known. `context`
    says under `known` what is known at all: a `capture` does not tell how often was asked.
    """

    artifacts: Mapping[str, str]
    settings: Mapping[str, Any] = field(default_factory=dict)
    context: Mapping[str, Any] = field(default_factory=dict)
    stops_asked: bool | None = None
    limit: int | None = None


def unknown_request(api: str) -> RequestFacts:
    """Return the facts of a request that was not recorded."""
    return RequestFacts({"api": api}, context={"known": "capture"})


def captured(facts: RequestFacts) -> RequestFacts:
    """Return a request's facts where its answer is a capture."""
    return replace(facts, context={**facts.context, "known": "capture and request"})


def read_request(content: bytes, api: str, name: str = "the request") -> RequestFacts:
    """Return the facts of a request's body; raise UsageError unless it is a JSON object."""
    try:
        body = parse_payload(content)
    except NoJson:
        raise UsageError(f"{name} is no JSON document; the body of a request is one") from None
    if not isinstance(body, dict):
        raise UsageError(
            f"{name} holds a {type(body).__name__}; the body of a request is an object"
        )
    artifacts = {"api": api}
    if isinstance(body.get("model"), str):
        artifacts["model"] = body["model"]
    artifacts |= {key: _digest(body[key]) for key in _DIGESTED if key in body}
    settings = {key: body[key] for key in _SETTINGS if key in body}
    # What is not known by name may be anything, a user's name too: its digest shows a change.
    others = {k: body[k] for k in body if k not in (*_SETTINGS, *_DIGESTED, "model")}
    if others:
        settings["others"] = _digest(others)
    limits = [body[key] for key in _LIMITS if type(body.get(key)) is int]
    return RequestFacts(
        artifacts,
        settings,
        {"digest": f"sha256:{hashlib.sha256(content).hexdigest()}", "bytes": len(content)},
        bool(body.get("stop") or body.get("stop_sequences")),
        limits[0] if limits else None,
    )


def _digest(value: Any) -> str:
    spelled = spell_json(value).encode(errors="surrogatepass")
    return f"sha256:{hashlib.sha256(spelled).hexdigest()}"
