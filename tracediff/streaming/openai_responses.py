"""OpenAI's responses: typed, numbered events and whole responses.

Knows the words of `/v1/responses`. Must not know bytes or what becomes of the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from types import MappingProxyType
from typing import Any, Final

from tracediff.streaming.assembly import Assembly, Tokens, index_of
from tracediff.streaming.finish import RESPONSES_FINISH, Finish
from tracediff.streaming.logprobs import read_tokens
from tracediff.streaming.parts import REFUSAL, TEXT, THINKING, TOOL_CALL, Part
from tracediff.streaming.payload import join_halves, spell_json
from tracediff.streaming.volatile import CONDITIONS, SEALED, settled

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
_PLACE: Final = frozenset(
    {
        *("type", "item_id", "sequence_number", "output_index", "content_index", "summary_index"),
        "obfuscation",
    }
)
_DELTA: Final = _PLACE | {"delta", "logprobs"}
_RESPONSE: Final = frozenset(
    {
        *("id", "object", "status", "incomplete_details", "error", "model", "output", "usage"),
        *("previous_response_id", *CONDITIONS),
    }
)
_ITEM: Final = frozenset(
    {
        *("id", "type", "status", "role", "name", "call_id", "arguments", "content", "summary"),
        *SEALED,
    }
)
_CONTENT: Final = frozenset({"type", "text", "refusal", "annotations", "logprobs"})
_CONTENTS: Final = {
    "refusal": (REFUSAL, "refusal"),
    "output_text": (TEXT, "text"),
    "summary_text": (THINKING, "text"),
    "reasoning_text": (THINKING, "text"),
}
_OPEN: Final = ("in_progress", "queued", "None")
"""Statuses of a response that has no finish reason yet."""


class OpenAiResponses:
    """Reads responses; one object reads one answer."""

    name = "openai-responses"
    start = "response.created"
    terminator = "response.completed"
    names_events = True

    def __init__(self) -> None:
        self._has_begun = False
        self._parts: dict[tuple[Any, ...], Part] = {}
        self._told: set[int] = set()
        self._kept: set[tuple[Any, ...]] = set()
        self._tokens: dict[int, list[str]] = {}
        self._outputs: set[int] = set()
        self._sequence: int | None = None

    def read(self, payload: Mapping[str, Any], event: str, assembly: Assembly) -> None:
        """Tell `assembly` what one event says."""
        kind = payload.get("type")
        if not isinstance(kind, str):
            assembly.violate("missing-type")
            assembly.keep(0, "data", settled(payload))
            return
        if not self._has_begun:
            self._has_begun = True
            assembly.lacks_start = kind not in ("response.created", "error")
        if event not in (kind, "message"):
            assembly.violate("event-name-differs")
        self._follow(payload.get("sequence_number"), assembly)
        stem = _DELTAS.get(kind)
        if "obfuscation" in payload:
            padding = len(str(payload["obfuscation"]))
            assembly.conditions["obfuscation"] = assembly.conditions.get("obfuscation", 0) + padding
        if stem is not None:  # the usual event first
            assembly.recognised += 1
            self._delta(stem, payload, assembly)
        elif kind in _DONE:
            assembly.recognised += 1
            own, key = _DONE[kind]
            part = self._part(own, payload, assembly)
            self._settle(part, payload.get(key), payload.get("logprobs"), assembly)
            self._keep_rest(payload, {key, "logprobs", "name"}, assembly)
        elif kind == "error":
            assembly.recognised += 1
            assembly.fail(payload.get("error") or {**payload, "type": ""})
        elif kind in _ENDS:
            assembly.recognised += 1
            self._response(payload.get("response") or {}, assembly, _ENDS[kind])
            self._keep_rest(payload, {"response"}, assembly)
            assembly.end(kind)
        elif kind in ("response.output_item.added", "response.output_item.done"):
            assembly.recognised += 1
            last = kind.rpartition(".")[2]
            self._item(payload.get("item") or {}, payload.get("output_index"), assembly, last)
            self._keep_rest(payload, {"item"}, assembly)
        elif kind in _FRAMES:
            assembly.recognised += 1
            self._frame(payload, assembly)
        else:
            rest = {key: value for key, value in payload.items() if key not in _PLACE}
            assembly.keep(0, kind, settled(rest))

    def read_whole(self, payload: Mapping[str, Any], assembly: Assembly) -> None:
        """Tell `assembly` what a response that was not streamed says."""
        if payload.get("object") == "response":
            assembly.recognised += 1
            self._response(payload, assembly, "None")
        elif payload.get("object") == "error":
            assembly.recognised += 1
            assembly.fail(payload)
        elif payload.get("error"):
            assembly.recognised += 1
            assembly.fail(payload["error"])

    def _delta(self, kind: str, payload: Mapping[str, Any], assembly: Assembly) -> None:
        text = payload["delta"]
        part = self._part(kind, payload, assembly)
        tokens = self._new_tokens(part, payload.get("logprobs"), assembly)
        if text:
            assembly.grow(part, text, tokens)
        if not payload.keys() <= _DELTA:
            self._keep_rest(payload, {"delta", "logprobs"}, assembly)

    def _follow(self, number: Any, assembly: Assembly) -> None:
        if type(number) is not int:
            return
        before, self._sequence = self._sequence, number
        if before is None and number:
            assembly.violate("sequence-begins-late")
        elif before is not None and number != before + 1:
            gap = number > before + 1
            assembly.violate("sequence-gap" if gap else "sequence-out-of-order")

    def _frame(self, payload: Mapping[str, Any], assembly: Assembly) -> None:
        response = payload.get("response")
        if isinstance(response, dict):
            self._identify(response, assembly)
        content = payload.get("part")
        if isinstance(content, dict) and str(payload["type"]).endswith(".done"):
            self._content(content, payload, assembly)
        self._keep_rest(payload, {"response", "part"}, assembly)

    def _keep_rest(self, payload: Mapping[str, Any], known: set[str], assembly: Assembly) -> None:
        if payload.keys() <= _PLACE | known:
            return
        for key in sorted(payload.keys() - _PLACE - known):
            if payload[key] is not None:
                assembly.keep(0, key, settled(payload[key]))

    def _identify(self, response: Mapping[str, Any], assembly: Assembly) -> None:
        assembly.conditions.update(
            {key: response[key] for key in CONDITIONS if response.get(key) is not None}
        )
        assembly.identify(response.get("id"), response.get("model"))

    def _new_tokens(self, part: Part, listed: Any, assembly: Assembly) -> Tokens | None:
        """Return the tokens that come with a piece, and remember them."""
        if not listed:
            return None
        tokens = read_tokens(listed)
        if tokens is None:
            assembly.keep(0, "logprobs", listed)
            return None
        self._tokens.setdefault(id(part), []).extend(map(spell_json, tokens))
        return tokens

    def _settle(self, part: Part, told: Any, listed: Any, assembly: Assembly) -> None:
        """Hold what came in deltas against the text that the server tells at its end."""
        if told is None:
            return
        if not isinstance(told, str):
            raise TypeError("a text that is told at the end is a string")
        before = part.text
        if not before:
            assembly.add(*part.key, told, self._new_tokens(part, listed, assembly))
        elif join_halves(before) != join_halves(told):
            self._differs("text", part, told, assembly)
        if before and listed:
            tokens = read_tokens(listed)
            if tokens is None or [*map(spell_json, tokens)] != self._tokens.get(id(part)):
                self._differs("logprobs", part, tokens or listed, assembly)

    def _differs(self, word: str, part: Part, told: Any, assembly: Assembly) -> None:
        """Keep what is told otherwise in the end; servers tell it up to four times."""
        key = word, part.label, spell_json(told)
        if key not in self._kept:
            self._kept.add(key)
            assembly.violate(f"final-{word}-differs")
            assembly.keep(0, f"final {word} of {part.label}", told)

    def _part(self, kind: str, place: Mapping[str, Any], assembly: Assembly) -> Part:
        """Return the part at an event's place; numbers go by the order in which parts begin."""
        index = place.get("output_index")
        inner = "content_index" if "content_index" in place else "summary_index"
        key = (kind, index) if kind == TOOL_CALL else (kind, index, inner, place.get(inner))
        found = self._parts.get(key)
        if found is None:
            self._note_output(index)
            found = self._parts[key] = assembly.part(0, kind, assembly.next_number(0, kind))
        return found

    def _note_output(self, index: Any) -> None:
        if index_of(index, -1) >= 0:
            self._outputs.add(index)

    def _item(self, item: Mapping[str, Any], index: Any, assembly: Assembly, last: str) -> None:
        """Read one item of the output: as it begins (`added`), and as it is in the end (`done`)."""
        self._note_output(index)
        kind = item.get("type")
        if kind not in ("function_call", "message", "reasoning"):
            if last == "done" and ("item", index) not in self._kept:
                self._kept.add(("item", index))
                known = ("status", *SEALED)
                rest = {key: value for key, value in item.items() if key not in known}
                assembly.keep(0, str(kind), settled(rest), assembly.next_number(0, f"other {kind}"))
                self._keep_item(item, item.keys() - {*known}, index, assembly)
            return
        if kind == "function_call":
            part = self._part(TOOL_CALL, {"output_index": index}, assembly)
            if last == "added" or not part.name:
                name, call_id = item.get("name") or "", str(item.get("call_id") or "")
                assembly.name_call(0, part.key.number, name, call_id)
            elif item.get("name") not in (None, part.name):
                self._differs("name", part, item["name"], assembly)
            if last == "done":
                self._settle(part, item.get("arguments"), None, assembly)
                self._told.add(id(part))
        elif kind == "message" and isinstance(item.get("role"), str):
            assembly.roles.setdefault(0, item["role"])
        if last == "done":
            for key, inner in (("content", "content_index"), ("summary", "summary_index")):
                for number, content in enumerate(item.get(key) or ()):
                    place = {"output_index": index, inner: number}
                    self._content(content, place, assembly)
            self._keep_item(item, _ITEM - SEALED, index, assembly)

    def _keep_item(
        self, item: Mapping[str, Any], known: Set[str], index: Any, assembly: Assembly
    ) -> None:
        """Keep what an item holds beside its content, once: it is told again in the end."""
        found = {key: item[key] for key in item.keys() - known if item[key] is not None}
        if item.get("status") not in (None, "completed"):
            found["status"] = item["status"]
        for key in sorted(found):
            if (index, key) not in self._kept:
                self._kept.add((index, key))
                value = ("sealed" if found[key] else "") if key in SEALED else settled(found[key])
                number = index_of(index, 0)
                assembly.keep(0, f"item {key}", value, number)

    def _content(
        self, content: Mapping[str, Any], place: Mapping[str, Any], assembly: Assembly
    ) -> None:
        """Read one content of an item as it is in the end."""
        where = tuple(place.get(key) for key in ("output_index", "content_index", "summary_index"))
        found = _CONTENTS.get(str(content.get("type")))
        rest = {key: content[key] for key in content.keys() - _CONTENT}
        if found is None:
            rest = dict(content)
        else:
            kind, key = found
            part = self._part(kind, place, assembly)
            self._settle(part, content[key], content.get("logprobs"), assembly)
            self._told.add(id(part))
        if content.get("annotations"):
            rest["annotations"] = content["annotations"]
        for key in sorted(rest):
            if rest[key] is not None and (*where, key) not in self._kept:
                self._kept.add((*where, key))
                assembly.keep(0, key, settled(rest[key]), index_of(where[1], 0))

    def _response(self, response: Mapping[str, Any], assembly: Assembly, told: str) -> None:
        """Read a response as it is in the end; `told` is what its event says of its status."""
        self._identify(response, assembly)
        streamed = list(self._parts.values())
        self._told.clear()
        for index, item in enumerate(response.get("output") or ()):
            self._item(item, index, assembly, "done")
        if any(id(part) not in self._told and part.key.kind != THINKING for part in streamed):
            assembly.violate("final-output-lacks-parts")
        if len(self._outputs) != max(self._outputs, default=-1) + 1:
            assembly.violate("output-index-gap")
        rest = {key: value for key, value in response.items() if key not in _RESPONSE}
        rest = {key: value for key, value in rest.items() if value is not None}
        if rest:
            assembly.keep(0, "response", settled(rest))
        usage = response.get("usage")
        if isinstance(usage, dict):
            assembly.count(usage, USAGE)
        elif usage is not None:
            assembly.keep(0, "usage", usage)
        status = str(response.get("status", told))
        if told not in ("None", status):
            assembly.violate("status-differs")
        if response.get("error"):
            assembly.note_failure(response["error"])
        if status in _OPEN:
            return
        details = response.get("incomplete_details") or {}
        own = str(details.get("reason") or status) if status == "incomplete" else status
        calls = any(part.key.kind == TOOL_CALL for part in assembly.parts.values())
        words = {**RESPONSES_FINISH, "completed": Finish.TOOL_CALL} if calls else RESPONSES_FINISH
        assembly.finish(0, own, words)
