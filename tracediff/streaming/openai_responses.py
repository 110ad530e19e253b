"""OpenAI's responses: typed, numbered events and whole responses.

Knows the words of `/v1/responses`. Must not know bytes or what becomes of the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from tracediff.streaming.assembly import Assembly, other_kind
from tracediff.streaming.finish import RESPONSES_FINISH, Finish
from tracediff.streaming.parts import REFUSAL, TEXT, THINKING, TOOL_CALL, Part
from tracediff.streaming.payload import join_halves, spell_json

USAGE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "input_tokens": "input_tokens",
        "output_tokens": "output_tokens",
        "total_tokens": "total_tokens",
    }
)
_ENDS: Final = {
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
    "response.cancelled": "cancelled",
}
_TEXTS: Final = {
    "response.output_text": (TEXT, "text"),
    "response.refusal": (REFUSAL, "refusal"),
    "response.function_call_arguments": (TOOL_CALL, "arguments"),
    "response.reasoning_text": (THINKING, "text"),
    "response.reasoning_summary_text": (THINKING, "text"),
}
_DELTAS: Final = {f"{stem}.delta": kind for stem, (kind, _) in _TEXTS.items()}
_DONE: Final = {f"{stem}.done": found for stem, found in _TEXTS.items()}
_FRAMES: Final = frozenset(
    {
        *("response.created", "response.in_progress", "response.queued"),
        *("response.content_part.added", "response.content_part.done"),
        *("response.reasoning_summary_part.added", "response.reasoning_summary_part.done"),
    }
)
_VOLATILE: Final = frozenset(
    {"type", "item_id", "sequence_number", "output_index", "content_index", "obfuscation"}
)
_CONDITIONS: Final = ("created_at", "completed_at", "service_tier", "background")


class OpenAiResponses:
    """Reads responses; one object reads one answer."""

    name = "openai-responses"
    terminator = "response.completed"

    def __init__(self) -> None:
        self._parts: dict[tuple[Any, ...], Part] = {}
        self._noted: set[tuple[Any, int]] = set()
        self._sequence: int | None = None

    def read(self, payload: Mapping[str, Any], event: str, assembly: Assembly) -> None:
        """Tell `assembly` what one event says."""
        kind = payload.get("type")
        if not isinstance(kind, str):
            assembly.violate("missing-type")
            return
        if event not in (kind, "message"):
            assembly.violate("event-name-differs")
        self._follow(payload.get("sequence_number"), assembly)
        stem = _DELTAS.get(kind)
        if "obfuscation" in payload:
            padding = len(str(payload["obfuscation"]))
            assembly.conditions["obfuscation"] = assembly.conditions.get("obfuscation", 0) + padding
        if stem is not None:  # the usual event first
            assembly.recognised += 1
            text = payload["delta"]
            part = self._part(stem, payload, assembly)
            if text:
                assembly.grow(part, text)
        elif kind in _DONE:
            assembly.recognised += 1
            own, key = _DONE[kind]
            self._settle(self._part(own, payload, assembly), payload.get(key), assembly)
        elif kind == "error":
            assembly.recognised += 1
            assembly.fail(payload.get("error") or {**payload, "type": ""})
        elif kind in _ENDS:
            assembly.recognised += 1
            self._response(payload.get("response") or {}, assembly)
            assembly.end(kind)
        elif kind in ("response.output_item.added", "response.output_item.done"):
            assembly.recognised += 1
            last = kind.rpartition(".")[2]
            self._item(payload.get("item") or {}, payload.get("output_index"), assembly, last)
        elif kind in _FRAMES:
            assembly.recognised += 1
            self._frame(payload, assembly)
        else:
            rest = {key: value for key, value in payload.items() if key not in _VOLATILE}
            assembly.add(0, other_kind(kind), 0, spell_json(rest))

    def read_whole(self, payload: Mapping[str, Any], assembly: Assembly) -> None:
        """Tell `assembly` what a response that was not streamed says."""
        if payload.get("object") == "response":
            assembly.recognised += 1
            self._response(payload, assembly)
        elif payload.get("error"):
            assembly.recognised += 1
            assembly.fail(payload["error"])

    def _follow(self, number: Any, assembly: Assembly) -> None:
        if type(number) is not int:
            return
        before, self._sequence = self._sequence, number
        if before is not None and number != before + 1:
            gap = number > before + 1
            assembly.violate("sequence-gap" if gap else "sequence-out-of-order")

    def _frame(self, payload: Mapping[str, Any], assembly: Assembly) -> None:
        response = payload.get("response")
        if isinstance(response, dict):
            self._identify(response, assembly)

    def _identify(self, response: Mapping[str, Any], assembly: Assembly) -> None:
        assembly.conditions.update(
            {key: response[key] for key in _CONDITIONS if response.get(key) is not None}
        )
        assembly.identify(response.get("id"), response.get("model"))

    def _settle(self, part: Part, told: Any, assembly: Assembly) -> None:
        """Hold what came in deltas against the text that the server tells at its end."""
        if not isinstance(told, str):
            return
        if not part.text:
            assembly.add(*part.key, told)
        elif join_halves(part.text) != join_halves(told):
            assembly.violate("final-text-differs")

    def _part(self, kind: str, place: Mapping[str, Any], assembly: Assembly) -> Part:
        """Return the part at an event's place; numbers go by the order in which parts begin."""
        inner = place.get("content_index", place.get("summary_index"))
        key = kind, place.get("output_index"), None if kind == TOOL_CALL else inner
        if key not in self._parts:
            self._parts[key] = assembly.part(0, kind, assembly.next_number(0, kind))
        return self._parts[key]

    def _item(self, item: Mapping[str, Any], index: Any, assembly: Assembly, last: str) -> None:
        """Read one item of the output: as it begins (`added`), and as it is in the end (`done`)."""
        kind = item.get("type")
        if kind == "function_call":
            part = self._part(TOOL_CALL, {"output_index": index}, assembly)
            if last == "added" or not part.name:
                name, call_id = str(item.get("name") or ""), str(item.get("call_id") or "")
                assembly.name_call(0, part.key.number, name, call_id)
            if last == "done":
                self._settle(part, item.get("arguments"), assembly)
        elif kind == "message":
            if isinstance(item.get("role"), str):
                assembly.roles.setdefault(0, item["role"])
            if last == "done":
                self._contents(item.get("content"), index, "content_index", assembly)
        elif kind == "reasoning":
            if last == "done":
                self._contents(item.get("summary"), index, "summary_index", assembly)
        elif last == "done":
            rest = {key: value for key, value in item.items() if key not in ("id", "status")}
            number = assembly.next_number(0, other_kind(kind))
            assembly.add(0, other_kind(kind), number, spell_json(rest))

    def _contents(self, contents: Any, index: Any, inner: str, assembly: Assembly) -> None:
        for number, content in enumerate(contents or ()):
            place = {"output_index": index, inner: number}
            own = content.get("type")
            if own == "refusal":
                self._settle(self._part(REFUSAL, place, assembly), content["refusal"], assembly)
            elif own in ("output_text", "summary_text"):
                kind = TEXT if own == "output_text" else THINKING
                self._settle(self._part(kind, place, assembly), content["text"], assembly)
            if content.get("annotations") and (index, number) not in self._noted:
                self._noted.add((index, number))
                text = spell_json(content["annotations"])
                assembly.add(0, other_kind("annotations"), number, text)

    def _response(self, response: Mapping[str, Any], assembly: Assembly) -> None:
        """Read a response as it is in the end."""
        self._identify(response, assembly)
        streamed = bool(self._parts)
        for index, item in enumerate(response.get("output") or ()):
            if not streamed or item.get("type") in ("function_call", "message"):
                self._item(item, index, assembly, "done")
        usage = response.get("usage")
        if isinstance(usage, dict):
            assembly.count(usage, USAGE)
        status = str(response.get("status"))
        details = response.get("incomplete_details") or {}
        own = str(details.get("reason") or status) if status == "incomplete" else status
        calls = any(part.key.kind == TOOL_CALL for part in assembly.parts.values())
        words = {**RESPONSES_FINISH, "completed": Finish.TOOL_CALL} if calls else RESPONSES_FINISH
        assembly.finish(0, own, words)
        if response.get("error"):
            assembly.note_failure(response["error"])
