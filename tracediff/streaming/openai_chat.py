"""OpenAI's chat completions: chunks and whole answers, also as compatible servers send them.

Knows the words of `/v1/chat/completions`. Must not know bytes or what becomes of the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from tracediff.streaming.assembly import Assembly, Tokens, index_of, other_kind
from tracediff.streaming.finish import OPENAI_FINISH
from tracediff.streaming.logprobs import read_tokens
from tracediff.streaming.parts import REFUSAL, TEXT, THINKING, TOOL_CALL
from tracediff.streaming.payload import spell_json
from tracediff.streaming.volatile import CONDITIONS, settled

USAGE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "prompt_tokens": "input_tokens",
        "completion_tokens": "output_tokens",
        "total_tokens": "total_tokens",
    }
)
_ENVELOPE: Final = frozenset({"id", "object", "model", "choices", "usage", "error"})
_OBJECTS: Final = (None, "", "chat.completion", "chat.completion.chunk")
_CALL: Final = frozenset({"index", "id", "type", "function", "custom"})
_FUNCTION: Final = frozenset({"name", "arguments"})
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
    start = "a chunk that names the role"
    terminator = "[DONE]"
    names_events = False

    def __init__(self) -> None:
        self._calls: dict[tuple[int, int | None], int] = {}
        self._seen = _ENVELOPE
        self._told: dict[str, Any] = {}
        self._begun: set[int] = set()
        self._is_whole = False

    def read(self, payload: Mapping[str, Any], event: str, assembly: Assembly) -> None:
        """Tell `assembly` what one chunk says."""
        choices, usage = payload.get("choices"), payload.get("usage")
        error = payload.get("error") or (payload if payload.get("object") == "error" else None)
        if error and not isinstance(choices, list):
            assembly.recognised += 1
            assembly.fail(error)
            return
        if not isinstance(choices, list):
            if not isinstance(usage, dict):
                assembly.violate("missing-choices")
            choices = ()
        assembly.recognised += bool(choices)
        assembly.identify(payload.get("id"), payload.get("model"))
        if not payload.keys() <= self._seen or payload.get("object") not in _OBJECTS:
            self._facts(payload, assembly)
        for place, choice in enumerate(choices):
            self._choice(choice, index_of(choice.get("index"), place), assembly)
        if isinstance(usage, dict):
            assembly.count(usage, USAGE)
        elif usage is not None:
            self._fact("usage", usage, assembly)
        if error:
            assembly.fail(error)

    def read_whole(self, payload: Mapping[str, Any], assembly: Assembly) -> None:
        """Tell `assembly` what an answer that was not streamed says."""
        self._is_whole = True
        self.read(payload, "message", assembly)

    def _facts(self, payload: Mapping[str, Any], assembly: Assembly) -> None:
        """Note what stands beside the choices. Of what may change from one answer to the next,
        that is the first value, of padding how much there is.
        """
        if payload.get("object") not in _OBJECTS:
            self._fact("object", payload["object"], assembly)
        for key in payload.keys() - self._seen:
            if key == "obfuscation":
                padding = len(str(payload[key]))
                assembly.conditions[key] = assembly.conditions.get(key, 0) + padding
            elif key in CONDITIONS:
                if payload[key] is not None:
                    assembly.conditions[key] = payload[key]
                    self._seen |= {key}
            else:
                self._fact(key, payload[key], assembly)

    def _fact(self, key: str, value: Any, assembly: Assembly) -> None:
        """Keep what is not understood; chunks that repeat it tell nothing new."""
        if value is not None and self._told.get(key) != value:
            self._told[key] = value
            assembly.keep(0, key, settled(value))

    def _choice(self, choice: Mapping[str, Any], index: int, assembly: Assembly) -> None:
        delta = choice.get("delta") or choice.get("message") or {}
        content = delta.get("content")
        if index not in self._begun:
            self._begun.add(index)
            if not isinstance(delta.get("role"), str) and not self._is_whole:
                assembly.lacks_start = True
        logprobs = choice.get("logprobs")
        tokens = _tokens(logprobs, index, assembly) if logprobs else None
        if tokens is not None and not content:
            assembly.keep(index, "logprobs", tokens)
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
            if assembly.roles.setdefault(index, role) not in (role, "") and role:
                assembly.violate("role-changes")
        elif role is not None:
            assembly.keep(index, "role", role)
        for key, kind in (
            ("refusal", REFUSAL),
            ("reasoning_content", THINKING),
            ("reasoning", THINKING),
        ):
            piece = delta.get(key)
            if isinstance(piece, str):
                if key != "reasoning" or piece != delta.get("reasoning_content"):
                    assembly.add(index, kind, 0, piece)  # some servers send it under both names
            elif piece is not None:
                assembly.add(index, other_kind(key), 0, spell_json(settled(piece)))
        for call in delta.get("tool_calls") or ():
            read = self._custom_call if call.get("custom") else self._call
            read(call, index, assembly)
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
        if isinstance(arguments, str):
            assembly.add(choice, TOOL_CALL, number, arguments)
        elif arguments is not None:
            assembly.violate("arguments-are-no-text")  # some servers send an object at once
            assembly.add(choice, TOOL_CALL, number, spell_json(arguments))
        if call.get("type") not in (None, "", "function"):
            assembly.keep(choice, "tool_call type", call["type"], number)
        if not (call.keys() <= _CALL and function.keys() <= _FUNCTION):
            rest = {key: call[key] for key in call.keys() - _CALL}
            rest |= {key: function[key] for key in function.keys() - _FUNCTION}
            assembly.keep(choice, "tool_call", settled(rest), number)

    def _custom_call(self, call: Mapping[str, Any], choice: int, assembly: Assembly) -> None:
        """Read a call whose input is free text: it has no arguments to parse."""
        custom = call["custom"]
        number = index_of(call.get("index"), 0)
        if custom.get("name"):
            assembly.keep(choice, "custom_tool_call name", custom["name"], number)
        text = custom.get("input")
        if text:
            spelled = text if isinstance(text, str) else spell_json(text)
            assembly.add(choice, other_kind("custom_tool_call"), number, spelled)

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
        if found[key] is not None and found[key] != []:
            assembly.add(index, other_kind(key), 0, spell_json(settled(found[key])))


def _tokens(logprobs: Any, index: int, assembly: Assembly) -> Tokens | None:
    """Return the tokens of a chunk's text; what else its log-probabilities hold is kept."""
    found = logprobs if isinstance(logprobs, dict) else {}
    tokens = read_tokens(found.get("content"))
    rest = {key: value for key, value in found.items() if value is not None and key != "content"}
    if tokens is None and logprobs != {} and found.get("content") is not None:
        rest["content"] = found["content"]
    if rest or not isinstance(logprobs, dict):
        assembly.keep(index, "logprobs", rest or logprobs)
    return tokens
