"""Anthropic's messages: streamed events and whole messages.

Knows the words of `/v1/messages`. Must not know bytes or what becomes of the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any, Final

from tracediff.streaming.assembly import Assembly, index_of, other_kind
from tracediff.streaming.finish import ANTHROPIC_FINISH
from tracediff.streaming.parts import TEXT, THINKING, TOOL_CALL, Part
from tracediff.streaming.payload import spell_json
from tracediff.streaming.volatile import CONDITIONS, settled

USAGE: Final[Mapping[str, str]] = MappingProxyType(
    {"input_tokens": "input_tokens", "output_tokens": "output_tokens"}
)
_KINDS: Final = {"text": TEXT, "thinking": THINKING, "tool_use": TOOL_CALL}
_DELTAS: Final = {
    "text_delta": (TEXT, "text"),
    "input_json_delta": (TOOL_CALL, "partial_json"),
    "thinking_delta": (THINKING, "thinking"),
}
_MESSAGE: Final = frozenset(
    {*("id", "type", "role", "content", "model", "stop_reason", "stop_sequence", "usage")}
)
_BLOCK: Final = frozenset(
    {*("type", "id", "text", "thinking", "signature", "name", "input", "citations")}
)
_ENVELOPES: Final = {
    "message_start": frozenset({"type", "message"}),
    "content_block_start": frozenset({"type", "index", "content_block"}),
    "content_block_stop": frozenset({"type", "index"}),
    "message_delta": frozenset({"type", "delta", "usage"}),
    "message_stop": frozenset({"type"}),
    "error": frozenset({"type", "error", "request_id"}),
    "ping": frozenset({"type"}),
}
_DELTA: Final = frozenset({"type", "index", "delta"})
_SEALED: Final = "sealed"

Read = Callable[[Mapping[str, Any], Assembly], None]


class AnthropicMessages:
    """Reads messages; one object reads one answer."""

    name = "anthropic-messages"
    start = "message_start"
    terminator = "message_stop"
    names_events = True

    def __init__(self) -> None:
        self._has_begun = False
        self._fed: set[int] = set()
        self._blocks: dict[int, Part] = {}
        self._inputs: dict[int, str] = {}
        self._open: set[int] = set()
        self._started = False

    def read(self, payload: Mapping[str, Any], event: str, assembly: Assembly) -> None:
        """Tell `assembly` what one event says."""
        kind = payload.get("type")
        if event not in (kind, "message"):
            assembly.violate("event-name-differs")
        if kind == "content_block_delta":  # the usual event first
            assembly.recognised += 1
            if not self._has_begun:
                self._has_begun = assembly.lacks_start = True
            if len(payload) > len(_DELTA):
                _keep_rest(payload, _DELTA, assembly)
            self._delta(payload, assembly)
            return
        if not isinstance(kind, str):
            assembly.violate("missing-type")
            assembly.keep(0, "data", settled(payload))
            return
        if not self._has_begun and kind != "ping":
            self._has_begun = True
            assembly.lacks_start = kind not in ("message_start", "error")
        _keep_rest(payload, _ENVELOPES.get(kind, payload.keys()), assembly)
        if kind == "ping":
            return
        readers: Mapping[str, Read] = {
            "message_start": self._start,
            "content_block_start": self._start_block,
            "content_block_stop": self._stop_block,
            "message_delta": self._message_delta,
            "message_stop": self._stop,
            "error": _fail,
        }
        read = readers.get(kind)
        if read is None:
            rest = {key: value for key, value in payload.items() if key != "type"}
            assembly.keep(0, kind, settled(rest))
            return
        assembly.recognised += 1
        read(payload, assembly)

    def read_whole(self, payload: Mapping[str, Any], assembly: Assembly) -> None:
        """Tell `assembly` what a message that was not streamed says."""
        if payload.get("error"):
            assembly.recognised += 1
            assembly.fail(payload["error"])
            return
        content = payload.get("content")
        if payload.get("type") != "message" or not isinstance(content, list):
            return
        assembly.recognised += 1
        self._start({"message": {**payload, "content": []}}, assembly)
        for index, block in enumerate(content):
            self._start_block({"index": index, "content_block": block}, assembly)
            self._stop_block({"index": index}, assembly)
        own = {key: payload.get(key) for key in ("stop_reason", "stop_sequence")}
        self._message_delta({"delta": own}, assembly)

    def _start(self, payload: Mapping[str, Any], assembly: Assembly) -> None:
        if self._started:
            assembly.violate("duplicate-start")
        self._started = True
        message = payload.get("message") or {}
        assembly.identify(message.get("id"), message.get("model"))
        if isinstance(message.get("role"), str):
            assembly.roles.setdefault(0, message["role"])
        _keep_rest(message, _MESSAGE, assembly)
        if message.get("content"):
            assembly.keep(0, "content", settled(message["content"]))
        assembly.count(message.get("usage") or {}, USAGE)

    def _start_block(self, payload: Mapping[str, Any], assembly: Assembly) -> None:
        index = index_of(payload.get("index"), len(self._blocks))
        block = payload.get("content_block") or {}
        own = str(block.get("type"))
        if index in self._blocks:
            assembly.violate("duplicate-block")
        elif index != len(self._blocks):
            assembly.violate("block-index-gap")
        part = self._new_part(index, _KINDS.get(own, other_kind(own)), assembly)
        choice, kind, number = part.key
        if kind == TOOL_CALL:
            assembly.name_call(choice, number, block.get("name") or "", block.get("id") or "")
            self._inputs[index] = spell_json(block.get("input") or {})
        elif kind in (TEXT, THINKING):
            assembly.add(*part.key, block.get(own) or "")
        elif own == "redacted_thinking":
            _keep_rest(block, frozenset({"type", "data"}), assembly, number)
            assembly.add(*part.key, _SEALED if block.get("data") else "")
        else:
            self._other_block(block, index, part, assembly)
        if kind in (TOOL_CALL, TEXT, THINKING):
            _keep_rest(block, _BLOCK, assembly, number)
        if block.get("citations"):
            assembly.add(0, other_kind("citations"), number, spell_json(block["citations"]))
        if block.get("signature"):
            assembly.keep(0, "signature", _SEALED, number)

    def _other_block(
        self, block: Mapping[str, Any], index: int, part: Part, assembly: Assembly
    ) -> None:
        """Keep a block that is not understood; the input of a server's own tool may come later."""
        rest = {key: value for key, value in block.items() if key not in ("type", "id", "input")}
        assembly.add(*part.key, spell_json(settled(rest)))
        if "input" in block:
            self._inputs[index] = spell_json(block["input"])

    def _new_part(self, index: int, kind: str, assembly: Assembly) -> Part:
        part = assembly.part(0, kind, assembly.next_number(0, kind))
        self._blocks[index] = part
        self._open.add(index)
        return part

    def _delta(self, payload: Mapping[str, Any], assembly: Assembly) -> None:
        index, delta = payload["index"], payload["delta"]
        known = _DELTAS.get(delta["type"])
        part = self._blocks.get(index)
        if known is None:
            self._other_delta(delta, part, assembly)
            return
        kind, key = known
        if part is None:
            assembly.violate("delta-outside-block")
            part = self._new_part(index_of(index, len(self._blocks)), kind, assembly)
        elif index not in self._open:
            assembly.violate("delta-after-block-stop")
        if kind == TOOL_CALL and part.key.kind != kind:
            if index not in self._inputs:
                assembly.violate("delta-of-another-kind")
        elif part.key.kind != kind:
            assembly.violate("delta-of-another-kind")
        if len(delta) > 2:
            _keep_rest(delta, frozenset({"type", key}), assembly, part.key.number)
        text = delta[key]
        if text:
            if kind == TOOL_CALL:
                self._fed.add(index)
            assembly.grow(part, text)

    def _other_delta(self, delta: Mapping[str, Any], part: Part | None, assembly: Assembly) -> None:
        kind = str(delta["type"])
        number = 0 if part is None else part.key.number
        if kind == "signature_delta":  # it is another one each time
            assembly.keep(0, "signature", _SEALED if delta.get("signature") else "", number)
            _keep_rest(delta, frozenset({"type", "signature"}), assembly, number)
            return
        rest = {key: value for key, value in delta.items() if key != "type"}
        assembly.add(0, other_kind(kind), number, spell_json(settled(rest)))

    def _stop_block(self, payload: Mapping[str, Any], assembly: Assembly) -> None:
        index = payload.get("index")
        if index not in self._open:
            assembly.violate("block-not-open")
            return
        self._open.discard(index)
        part = self._blocks[index]
        started_with = self._inputs.get(index)
        if started_with is None:
            return
        if index not in self._fed:
            # Without deltas the input is the one that the block started with.
            assembly.add(*part.key, started_with)
        elif started_with != "{}":
            assembly.violate("input-told-twice")
            assembly.keep(0, "input", started_with, part.key.number)

    def _message_delta(self, payload: Mapping[str, Any], assembly: Assembly) -> None:
        delta = payload.get("delta") or {}
        reason = delta.get("stop_reason")
        if self._open:
            assembly.violate("block-left-open")
        if reason is not None:
            assembly.finish(0, str(reason), ANTHROPIC_FINISH, delta.get("stop_sequence"))
        _keep_rest(delta, frozenset({"stop_reason", "stop_sequence"}), assembly)
        assembly.count(payload.get("usage") or {}, USAGE)

    def _stop(self, payload: Mapping[str, Any], assembly: Assembly) -> None:
        assembly.end(self.terminator)


def _fail(payload: Mapping[str, Any], assembly: Assembly) -> None:
    assembly.fail(payload.get("error"))


def _keep_rest(
    found: Mapping[str, Any], known: Collection[str], assembly: Assembly, number: int = 0
) -> None:
    """Keep the entries that are not known, each under its name; conditions are noted."""
    for key in sorted(found.keys() - set(known)):
        value = found[key]
        if key in CONDITIONS:
            if value is not None:
                assembly.conditions[key] = value
        elif value is not None:
            assembly.keep(0, key, settled(value), number)
