"""The contract of recorded answers, as far as it is about the message, its finish and its usage.

Knows the events of kind `stream`. Order and numbers are `stream`'s matter.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from tracediff.contracts.rule import Finding, Rule
from tracediff.contracts.stream_events import (
    CUT_OFF,
    DELTA,
    FINISHED,
    MESSAGE,
    USAGE,
    choice_number,
    finish_of,
    is_stream,
    join_halves,
    joined_text,
    of_type,
    part_of,
    settled_finish,
    told_text,
    value_of,
)
from tracediff.events import Event, Trace
from tracediff.events.canonical_json import canonical_json

_TEXTS: Final = ("text", "refusal", "thinking")
_LIMITS: Final = ("max_completion_tokens", "max_output_tokens", "max_tokens")
_STATUSES: Final = ("parsed", "empty", "truncated")


def _texts_are_joined_deltas(trace: Trace) -> Iterator[Finding]:
    for message in of_type(trace, MESSAGE):
        for kind in _TEXTS:
            parts = _parts(trace, message, kind)
            streamed = [joined_text(parts[number]) for number in sorted(parts)]
            told = told_text(value_of(message, "choice", kind) or "")
            if None in (told, *streamed):
                continue
            whole = join_halves("".join(text for text in streamed if text is not None))
            if told != whole:
                yield message.event_id, f"{kind} is {told!r:.60}, the deltas give {whole!r:.60}"


def _arguments_are_joined_deltas(trace: Trace) -> Iterator[Finding]:
    for message in of_type(trace, MESSAGE):
        calls = value_of(message, "choice", "tool_calls") or []
        parts = _parts(trace, message, "tool_call")
        for call in calls:
            streamed = joined_text(parts.get(call["number"], []))
            told = told_text(call["arguments"])
            if None not in (streamed, told) and told not in _spellings(streamed or ""):
                yield (
                    message.event_id,
                    f"the arguments of call {call['number']} are {told!r:.60}, the deltas give "
                    f"{streamed!r:.60}",
                )


def _arguments_parse(trace: Trace) -> Iterator[Finding]:
    for message in of_type(trace, MESSAGE):
        finish = finish_of(trace, choice_number(message))
        for call in value_of(message, "choice", "tool_calls") or []:
            place, status = call["number"], call["status"]
            if status not in _STATUSES:
                yield message.event_id, f"the arguments of call {place} are {status}"
            elif status == "truncated" and finish not in CUT_OFF:
                yield message.event_id, f"call {place} is truncated and the answer ends by {finish}"


def _finish_fits_calls(trace: Trace) -> Iterator[Finding]:
    messages = {choice_number(event): event for event in of_type(trace, MESSAGE)}
    for event in of_type(trace, FINISHED):
        if value_of(event, "choice", "finish_reason") != "tool_call":
            continue
        message = messages.get(choice_number(event))
        if message is None or not _calls(message):
            yield event.event_id, "ends by a tool call and has none"


def _calls(message: Event) -> bool:
    """Whether a message has a call, if only one of a kind that is kept as it is."""
    choice = message.payload.get("choice", {})
    return bool(choice.get("tool_calls")) or any("tool_call" in key for key in choice)


def _finish_fits_usage(trace: Trace) -> Iterator[Finding]:
    settings = trace.root.payload.get("settings", {})
    limits = [settings[key] for key in _LIMITS if type(settings.get(key)) is int]
    finished = of_type(trace, FINISHED)
    if not limits or len(finished) != 1:
        return  # of several answers only the sum is told
    finish = settled_finish(finished[0])
    for event in of_type(trace, USAGE):
        used = value_of(event, "choice", "output_tokens")
        if used is None:
            continue
        if used > limits[0]:
            yield event.event_id, f"{used} output tokens, allowed were {limits[0]}"
        elif finish == "max_tokens" and used < limits[0]:
            yield event.event_id, f"ends by max_tokens after {used} of {limits[0]} tokens"


def _usage_adds_up(trace: Trace) -> Iterator[Finding]:
    for event in of_type(trace, USAGE):
        told = [
            value_of(event, "choice", key)
            for key in ("input_tokens", "output_tokens", "total_tokens")
        ]
        if None not in told and told[0] + told[1] != told[2]:
            yield event.event_id, f"{told[0]} and {told[1]} tokens are told as {told[2]}"


def _parts(trace: Trace, message: Event, kind: str) -> dict[int, list[Event]]:
    """Return the deltas of one kind that belong to a message, by the number of their part."""
    found: dict[int, list[Event]] = {}
    for event in of_type(trace, DELTA):
        own, _, number = part_of(event).rpartition(" ")
        if own == kind and choice_number(event) == choice_number(message):
            found.setdefault(int(number), []).append(event)
    return found


def _spellings(text: str) -> tuple[str, ...]:
    """Return a call's arguments as they came, and in the one spelling of equal JSON values."""
    try:
        value: Any = json.loads(text)
        spelled = canonical_json(value).decode()
        return text, spelled, json.dumps(value, sort_keys=True, separators=(",", ":"))
    except (ValueError, RecursionError):
        return text, text.strip()


MESSAGE_RULES = (
    Rule(
        "stream-text-is-joined-deltas",
        "the assembled texts are the texts of all deltas",
        is_stream,
        _texts_are_joined_deltas,
    ),
    Rule(
        "stream-arguments-are-joined-deltas",
        "the arguments of every tool call are those of its deltas",
        is_stream,
        _arguments_are_joined_deltas,
    ),
    Rule(
        "stream-arguments-parse",
        "arguments are a JSON object, or marked as truncated where a limit cut them off",
        is_stream,
        _arguments_parse,
    ),
    Rule(
        "stream-finish-fits-calls",
        "an answer that ends by a tool call has one",
        is_stream,
        _finish_fits_calls,
    ),
    Rule(
        "stream-finish-fits-usage",
        "not more tokens are used than allowed, and not fewer where that limit ended the answer",
        is_stream,
        _finish_fits_usage,
    ),
    Rule(
        "stream-usage-adds-up",
        "input and output tokens add up to the total",
        is_stream,
        _usage_adds_up,
    ),
)
