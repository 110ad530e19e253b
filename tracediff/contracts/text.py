"""The contract of autoregressive text traces: what every run keeps, and what text-001 yields.

The general rules hold for any trace of this vocabulary. The last group states the known answers
of the fixture and applies only to its runs without overrides.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from tracediff.contracts.rule import Finding, Rule
from tracediff.events import Event, Trace

EOS_REASON = "eos"

INPUT_IDS = [1, 2, 7, 3, 4, 8, 9, 10, 11, 12, 5, 6]
FIRST_RAW_TOP = 14
SELECTED_IDS = [14, 15, 16, 17, 18]
FINAL_TEXT = "短波蓝光的散射通常更强。"


def _of_type(trace: Trace, *types: str) -> list[Event]:
    return [event for event in trace.events if event.event_type in types]


def _choice(event: Event, key: str) -> Any:
    return event.payload.get("choice", {}).get(key)


def _state(event: Event, key: str) -> Any:
    return event.payload.get("state", {}).get(key)


def _forward_passes(trace: Trace) -> list[Event]:
    return _of_type(trace, "prefill.completed", "decode.completed")


def _arrays_have_one_length(trace: Trace) -> Iterator[Finding]:
    for event in _of_type(trace, "input.tokenized"):
        lengths = {
            key: [len(row) for row in _choice(event, key) or ()]
            for key in ("input_ids", "attention_mask", "position_ids")
        }
        if len({str(value) for value in lengths.values()}) > 1:
            yield event.event_id, f"ids, mask and positions have different lengths: {lengths}"


def _caches_hold_the_prompt(trace: Trace) -> Iterator[Finding]:
    tokenized = _of_type(trace, "input.tokenized")
    for event in _of_type(trace, "prefill.completed"):
        expected = len(_choice(tokenized[0], "input_ids")[0]) if tokenized else None
        yield from _wrong_cache_length(event, expected)


def _caches_grow_by_one(trace: Trace) -> Iterator[Finding]:
    passes = _forward_passes(trace)
    for before, after in pairwise(passes):
        previous = _state(before, "cache_length")
        if isinstance(previous, int):
            yield from _wrong_cache_length(after, previous + 1)
        if _cache_names(before) != _cache_names(after):
            yield after.event_id, "does not hold the caches that the forward pass before it holds"
    for event in _of_type(trace, "resources.released"):
        final = _state(event, "cache_final_length")
        if passes and final != _state(passes[-1], "cache_length"):
            yield event.event_id, f"cache length is {final}, the last forward pass left another"


def _cache_names(event: Event) -> list[str]:
    names = [record["name"] for record in event.payload.get("outputs", ())]
    return [name for name in names if ".cache." in name]


def _wrong_cache_length(event: Event, expected: int | None) -> Iterator[Finding]:
    length = _state(event, "cache_length")
    if expected is not None and length != expected:
        yield event.event_id, f"cache length is {length}, expected {expected}"
    for record in event.payload.get("outputs", ()):
        if ".cache." not in record["name"]:
            continue
        if record["shape"][2] != length:
            yield (
                event.event_id,
                f"{record['name']} holds {record['shape'][2]} positions, cache length is {length}",
            )
        if not _counts_from_zero(record["logical"].get("positions"), record["shape"][2]):
            yield event.event_id, f"{record['name']} does not hold the positions 0, 1, 2, …"


def _counts_from_zero(positions: Any, length: int) -> bool:
    # The stated length is only compared: a hostile one would make a list of any size.
    return len(positions) == length and positions == list(range(len(positions)))


def _ordinary_tokens_are_decoded(trace: Trace) -> Iterator[Finding]:
    selected = _of_type(trace, "token.selected")
    decoded = [_state(event, "token_id") for event in _of_type(trace, "decode.started")]
    expected = [_choice(event, "token_id") for event in selected[:-1]]
    if decoded != expected:
        last = selected[-1].event_id if selected else None
        yield last, f"selected before the last were {expected}, decoded were {decoded}"


def _text_is_what_was_streamed(trace: Trace) -> Iterator[Finding]:
    streamed = "".join(str(_choice(event, "text")) for event in _of_type(trace, "stream.delta"))
    for event in _of_type(trace, "response.completed"):
        if _choice(event, "text") != streamed:
            yield event.event_id, f"returns {_choice(event, 'text')!r}, streamed was {streamed!r}"


def _end_token_is_not_returned(trace: Trace) -> Iterator[Finding]:
    for event in _of_type(trace, "response.completed"):
        if _choice(event, "finish_reason") != EOS_REASON:
            continue
        selected = _choice(event, "output_tokens_selected")
        returned = _choice(event, "output_tokens_returned")
        if returned != selected - 1:
            yield event.event_id, f"{selected} tokens selected by EOS, {returned} returned"


def _deltas_are_numbered(trace: Trace) -> Iterator[Finding]:
    deltas = _of_type(trace, "stream.delta")
    for expected, event in enumerate(deltas):
        number = _choice(event, "sequence_no")
        if number != expected:
            yield event.event_id, f"sequence number {number}, expected {expected}"
    for event in _of_type(trace, "response.completed"):
        if _choice(event, "sequence_no") != len(deltas):
            yield (
                event.event_id,
                f"final sequence number {_choice(event, 'sequence_no')}, expected {len(deltas)}",
            )


def _finishes_once(trace: Trace) -> Iterator[Finding]:
    finished = [event for event in trace.events if _choice(event, "status") == "FINISHED"]
    released = _of_type(trace, "resources.released")
    for name, events in (("FINISHED", finished), ("resources.released", released)):
        if len(events) != 1:
            last = events[-1].event_id if events else None
            yield last, f"{name} occurs {len(events)} times, expected once"


def _length_means_the_limit(trace: Trace) -> Iterator[Finding]:
    limit = trace.root.payload.get("settings", {}).get("max_output_tokens")
    for event in _of_type(trace, "response.completed"):
        selected = _choice(event, "output_tokens_selected")
        is_limit = _choice(event, "finish_reason") == "max_tokens"
        if limit is not None and is_limit and selected != limit:
            yield event.event_id, f"max_tokens after {selected} of {limit} tokens"


def _known_input_ids(trace: Trace) -> Iterator[Finding]:
    for event in _of_type(trace, "input.tokenized"):
        if _choice(event, "input_ids") != [INPUT_IDS]:
            yield event.event_id, f"input ids {_choice(event, 'input_ids')}, expected [{INPUT_IDS}]"


def _known_first_top(trace: Trace) -> Iterator[Finding]:
    for event in _of_type(trace, "prefill.completed"):
        for record in event.payload.get("outputs", ()):
            values = record.get("values")
            if record["name"] != "next_logits" or values is None:
                continue
            top = max(range(len(values)), key=lambda token: float(values[token]))
            if top != FIRST_RAW_TOP:
                yield event.event_id, f"the highest first logit is {top}, expected {FIRST_RAW_TOP}"


def _known_selection(trace: Trace) -> Iterator[Finding]:
    selected = [_choice(event, "token_id") for event in _of_type(trace, "token.selected")]
    if selected != SELECTED_IDS:
        yield None, f"selected {selected}, expected {SELECTED_IDS}"


def _known_text(trace: Trace) -> Iterator[Finding]:
    for event in _of_type(trace, "response.completed"):
        if _choice(event, "text") != FINAL_TEXT:
            yield event.event_id, f"returns {_choice(event, 'text')!r}, expected {FINAL_TEXT!r}"


def _is_text(trace: Trace) -> bool:
    return trace.kind == "text"


def _is_plain_text_001(trace: Trace) -> bool:
    header = trace.header
    changed = header.get("overrides") or header.get("injection")
    return _is_text(trace) and header.get("fixture") == "text-001" and not changed


TEXT_RULES = (
    Rule(
        "input-ids",
        "the prompt's ids are the twelve known ones",
        _is_plain_text_001,
        _known_input_ids,
    ),
    Rule(
        "parallel-arrays",
        "ids, attention mask and positions have one length",
        _is_text,
        _arrays_have_one_length,
    ),
    Rule(
        "prefill-fills-caches",
        "after prefill every layer's cache holds the prompt's positions",
        _is_text,
        _caches_hold_the_prompt,
    ),
    Rule(
        "first-raw-top",
        "the highest raw logit of the first step is the known one",
        _is_plain_text_001,
        _known_first_top,
    ),
    Rule(
        "selection",
        "the selected ids are the five known ones",
        _is_plain_text_001,
        _known_selection,
    ),
    Rule(
        "final-text",
        "the returned text is the known one",
        _is_plain_text_001,
        _known_text,
    ),
    Rule(
        "caches-grow-by-one",
        "every decode adds one position to every layer's cache, and the last length is released",
        _is_text,
        _caches_grow_by_one,
    ),
    Rule(
        "ordinary-tokens-are-decoded",
        "every selected token but the last is decoded, once and in order",
        _is_text,
        _ordinary_tokens_are_decoded,
    ),
    Rule(
        "end-token-not-returned",
        "an end token is selected and not returned",
        _is_text,
        _end_token_is_not_returned,
    ),
    Rule(
        "returned-text-is-streamed-text",
        "the final text is the text of all deltas",
        _is_text,
        _text_is_what_was_streamed,
    ),
    Rule(
        "deltas-are-numbered",
        "deltas count 0, 1, 2, … and the final sequence number follows",
        _is_text,
        _deltas_are_numbered,
    ),
    Rule(
        "finishes-once",
        "FINISHED and the release of resources occur exactly once",
        _is_text,
        _finishes_once,
    ),
    Rule(
        "max-tokens-means-the-limit",
        "max_tokens is given as the reason only at the limit",
        _is_text,
        _length_means_the_limit,
    ),
)
