"""The assembled message: what all deltas of one answer come to.

Knows parts and how a tool call's arguments are judged. Must not know events.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

from tracediff.streaming.assembly import Assembly
from tracediff.streaming.finish import CUT_OFF, Finish, settle_finish
from tracediff.streaming.parts import OTHER, REFUSAL, TEXT, THINKING, TOOL_CALL, Part
from tracediff.streaming.payload import NoJson, join_halves, parse_payload, spell_json
from tracediff.streaming.request import RequestFacts
from tracediff.streaming.secret import redact

LONGEST_TEXT: Final = 1 << 22
"""Characters that an event carries; of a longer text it carries the digest."""

PARSED, EMPTY, TRUNCATED, MALFORMED = "parsed", "empty", "truncated", "malformed"
"""What arguments are: one JSON object, nothing, cut off by a limit, or not what they should be."""


def finish_of(assembly: Assembly, choice: int, request: RequestFacts) -> Finish | None:
    """Return why an answer ended in the common vocabulary, None where nothing says so."""
    ending = assembly.endings.get(choice)
    if ending is None:
        return None
    return settle_finish(
        ending.finish,
        stop_sequence=ending.stop_sequence,
        stops_asked=request.stops_asked,
        limit=request.limit,
        output_tokens=assembly.usage.get("output_tokens"),
    )


def assemble(assembly: Assembly, choice: int) -> dict[str, Any]:
    """Return the message of one answer: role, the order of its parts, texts, tool calls."""
    parts = [part for part in assembly.parts.values() if part.key.choice == choice]
    found: dict[str, Any] = {}
    if choice in assembly.roles:
        found["role"] = assembly.roles[choice]
    found["parts"] = [part.label for part in parts]
    for kind in (TEXT, REFUSAL, THINKING):
        # The key may be told in two parts, of which each has a half.
        text = redact("".join(p.text for p in parts if p.key.kind == kind), assembly.secret)
        if text or kind == TEXT:
            found[kind] = bounded(join_halves(text))
    calls = sorted((part for part in parts if part.key.kind == TOOL_CALL), key=lambda p: p.key)
    if calls:
        found["tool_calls"] = [_call(assembly, part) for part in calls]
    for part in parts:
        if part.key.kind.startswith(OTHER):
            found[part.label] = bounded(join_halves(part.text))
    return found


def judge_arguments(text: str, *, cut_off: bool) -> tuple[str, str]:
    """Return what a call's arguments are, and one spelling of them (RFC 8785 where they parse)."""
    if not text.strip():
        return EMPTY, ""
    try:
        value = parse_payload(text)
    except NoJson:
        return (TRUNCATED if cut_off else MALFORMED), text
    return (PARSED if isinstance(value, dict) else MALFORMED), spell_json(value)


def judge_calls(assembly: Assembly) -> None:
    """Note the tool calls whose arguments are neither whole nor cut off by a limit, that share an
    id, or have gaps between them; and gaps between answers.
    """
    numbers: dict[int, list[int]] = {}
    ids: dict[tuple[int, str], int] = {}
    if assembly.choices and assembly.choices != tuple(range(len(assembly.choices))):
        assembly.violate("choice-index-gap")
    for part in assembly.parts.values():
        if part.key.kind != TOOL_CALL:
            continue
        choice = part.key.choice
        numbers.setdefault(choice, []).append(part.key.number)
        ids[choice, part.call_id] = ids.get((choice, part.call_id), 0) + 1
        if judge_arguments(part.text, cut_off=_is_cut_off(assembly, choice))[0] == MALFORMED:
            assembly.violate("malformed-arguments")
        if not part.name:
            assembly.violate("tool-call-without-name")
    if any(sorted(found) != [*range(len(found))] for found in numbers.values()):
        assembly.violate("tool-call-index-gap")
    if any(count > 1 for (_, call_id), count in ids.items() if call_id):
        assembly.violate("tool-call-id-reused")


def bounded(text: str) -> Any:
    """Return a text, or digest and length of one that is longer than an event carries."""
    if len(text) <= LONGEST_TEXT:
        return text
    content = text.encode(errors="surrogatepass")
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    return {"digest": digest, "characters": len(text)}


def _call(assembly: Assembly, part: Part) -> dict[str, Any]:
    status, arguments = judge_arguments(
        join_halves(part.text), cut_off=_is_cut_off(assembly, part.key.choice)
    )
    arguments = redact(arguments, assembly.secret)  # escapes may have hidden the key until here
    number = part.key.number
    return {"number": number, "name": part.name, "arguments": bounded(arguments), "status": status}


def _is_cut_off(assembly: Assembly, choice: int) -> bool:
    ending = assembly.endings.get(choice)
    return ending is not None and ending.finish in CUT_OFF
