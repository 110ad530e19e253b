"""OpenAI's chat completions: chunks and whole answers, also as compatible servers send them.

Knows the words of `/v1/chat/completions`. Must not know bytes or what becomes of the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from tracediff.streaming.assembly import Assembly, Tokens, index_of, other_kind
from tracediff.streaming.finish import OPENAI_FINISH
from tracediff.streaming.parts import REFUSAL, TEXT, THINKING, TOOL_CALL
from tracediff.streaming.payload import spell_json

USAGE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "prompt_tokens": "input_tokens",
        "completion_tokens": "output_tokens",
        "total_tokens": "total_tokens",
    }
)
_ENVELOPE: Final = frozenset({"id", "object", "model", "choices", "usage", "error"})
_CHOICE: Final = frozenset(
    {"index", "delta", "message", "finish_reason", "logprobs", "stop_reason"}
)
_DELTA: Final = frozenset(
    {
        *("role", "content", "refusal", "tool_calls", "function_call"),
        *("reasoning_content", "reasoning"),
    }
)


class OpenAiChat:
    """Reads chat completions; one object reads one answer."""

    name = "openai-chat"
    terminator = "[DONE]"

    def __init__(self) -> None:
        self._calls: dict[tuple[int, int | None], int] = {}
        self._seen = _ENVELOPE

    def read(self, payload: Mapping[str, Any], event: str, assembly: Assembly) -> None:
        """Tell `assembly` what one chunk says."""
        choices = payload.get("choices")
        if payload.get("error"):
            assembly.recognised += 1
            assembly.fail(payload["error"])
            return
        usage = payload.get("usage")
        if not isinstance(choices, list):
            if not isinstance(usage, dict):
                assembly.violate("missing-choices")
                return
            choices = ()
        assembly.recognised += bool(choices)
        assembly.identify(payload.get("id"), payload.get("model"))
        if not payload.keys() <= self._seen:
            self._conditions(payload, assembly)
        for place, choice in enumerate(choices):
            self._choice(choice, index_of(choice.get("index"), place), assembly)
        if isinstance(usage, dict):
            assembly.count(usage, USAGE)

    def read_whole(self, payload: Mapping[str, Any], assembly: Assembly) -> None:
        """Tell `assembly` what an answer that was not streamed says."""
        self.read(payload, "message", assembly)

    def _conditions(self, payload: Mapping[str, Any], assembly: Assembly) -> None:
        """Note what may change from one answer to the next: of each the first value, of padding
        how much there is.
        """
        for key in payload.keys() - self._seen:
            if key == "obfuscation":
                padding = len(str(payload[key]))
                assembly.conditions[key] = assembly.conditions.get(key, 0) + padding
            elif payload[key] is not None:
                assembly.conditions[key] = payload[key]
                self._seen |= {key}

    def _choice(self, choice: Mapping[str, Any], index: int, assembly: Assembly) -> None:
        delta = choice.get("delta") or choice.get("message") or {}
        content = delta.get("content")
        logprobs = choice.get("logprobs")
        tokens = _tokens(logprobs) if logprobs else None
        if type(content) is str:
            assembly.add(index, TEXT, 0, content, tokens)
        elif content is not None:
            self._content_parts(content, index, assembly)
        if len(delta) > 1 or content is None:
            self._rest(delta, index, assembly)
        if not choice.keys() <= _CHOICE:
            _others(choice, _CHOICE, index, assembly)
        reason = choice.get("finish_reason")
        if reason is not None:
            assembly.finish(index, str(reason), OPENAI_FINISH, choice.get("stop_reason"))

    def _rest(self, delta: Mapping[str, Any], index: int, assembly: Assembly) -> None:
        """Read what a delta holds beside text."""
        role = delta.get("role")
        if isinstance(role, str):
            assembly.roles.setdefault(index, role)
        for key, kind in (
            ("refusal", REFUSAL),
            ("reasoning_content", THINKING),
            ("reasoning", THINKING),
        ):
            piece = delta.get(key)
            if isinstance(piece, str):
                assembly.add(index, kind, 0, piece)
        for call in delta.get("tool_calls") or ():
            self._call(call, index, assembly)
        legacy = delta.get("function_call")
        if legacy:
            self._call({"index": 0, "function": legacy}, index, assembly)
        if not delta.keys() <= _DELTA:
            _others(delta, _DELTA, index, assembly)

    def _content_parts(self, content: Any, index: int, assembly: Assembly) -> None:
        """Read content in parts, as some servers send it."""
        for part in content if isinstance(content, list) else [content]:
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                assembly.add(index, TEXT, 0, part["text"])
            else:
                assembly.add(index, other_kind("content"), 0, spell_json(part))

    def _call(self, call: Mapping[str, Any], choice: int, assembly: Assembly) -> None:
        function = call.get("function") or {}
        name, call_id = function.get("name") or "", call.get("id") or ""
        number = self._call_number(call, name, call_id, choice, assembly)
        assembly.name_call(choice, number, name, call_id)
        arguments = function.get("arguments")
        if arguments is not None:
            # Some servers send them as an object at once.
            text = arguments if isinstance(arguments, str) else spell_json(arguments)
            assembly.add(choice, TOOL_CALL, number, text)

    def _call_number(
        self, call: Mapping[str, Any], name: str, call_id: str, choice: int, assembly: Assembly
    ) -> int:
        """Return which call a fragment belongs to: by index, else by id, else the last one."""
        index = call.get("index")
        key = choice, (index if type(index) is int else None)
        known = self._calls.get(key)
        if known is None:
            number = index_of(index, -1)
            if number < 0 or (choice, TOOL_CALL, number) in assembly.parts:
                number = assembly.next_number(choice, TOOL_CALL)
        else:
            other = assembly.part(choice, TOOL_CALL, known).call_id
            starts = bool(call_id and other and call_id != other)
            if not starts and (call_id or not name or type(index) is int):
                return known
            if type(index) is int:
                assembly.violate("tool-call-index-reused")
            number = assembly.next_number(choice, TOOL_CALL)
        self._calls[key] = number
        return number


def _others(
    found: Mapping[str, Any], known: frozenset[str], index: int, assembly: Assembly
) -> None:
    """Keep what is not understood as JSON text, so that it is compared all the same."""
    for key in sorted(found.keys() - known):
        if found[key] is not None:
            assembly.add(index, other_kind(key), 0, spell_json(found[key]))


def _tokens(logprobs: Any) -> Tokens | None:
    """Return the tokens of a chunk, each with its and its rivals' log-probabilities."""
    listed = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(listed, list):
        return None
    return [
        {
            "token": _plain(token.get("token")),
            "top": [
                [_plain(rival.get("token")), _plain(rival.get("logprob"))]
                for rival in (token, *(token.get("top_logprobs") or ()))
            ],
        }
        for token in listed
    ]


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | float | int) else spell_json(value)
