"""Rules on the forward passes of text traces: what is read, at which positions, what is cached.

Knows prompt, prefill, decode and cache lengths. How a token is chosen is `text_selection`'s
matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from tracediff.contracts.rule import Finding, Rule
from tracediff.contracts.text_events import (
    PASSES,
    after_each,
    choice_of,
    has_text_events,
    number_setting,
    of_type,
    selected_ids,
    state_of,
)
from tracediff.events import Event, Trace


def _arrays_have_one_length(trace: Trace) -> Iterator[Finding]:
    for event in of_type(trace, "input.tokenized"):
        lengths = {
            key: [len(row) for row in choice_of(event, key) or ()]
            for key in ("input_ids", "attention_mask", "position_ids")
        }
        if len({str(value) for value in lengths.values()}) > 1:
            yield event.event_id, f"ids, mask and positions have different lengths: {lengths}"


def _mask_hides_only_padding(trace: Trace) -> Iterator[Finding]:
    for event in of_type(trace, "input.tokenized"):
        ids, masks = choice_of(event, "input_ids"), choice_of(event, "attention_mask")
        if not isinstance(ids, list) or not isinstance(masks, list):
            continue
        # Padding makes rows of one length, so the longest row has none.
        if masks and not any(_is_all_ones(mask) for mask in masks):
            yield event.event_id, f"no row of the attention mask is all 1: {masks!r:.80}"
        for row, mask in zip(ids, masks, strict=False):
            if not _is_all_ones(mask) and not _hides_one_id_at_an_end(row, mask):
                yield event.event_id, f"the mask {mask!r:.80} hides ids that are no padding"


def _is_all_ones(mask: Sequence[Any]) -> bool:
    return all(_is_integer(bit) and bit == 1 for bit in mask)


def _hides_one_id_at_an_end(row: Sequence[Any], mask: Sequence[Any]) -> bool:
    ones = sum(bit == 1 for bit in mask)
    zeros = len(mask) - ones
    shown, hidden = [1] * ones, [0] * zeros
    padding = {token for token, bit in zip(row, mask, strict=False) if bit == 0}
    text = {token for token, bit in zip(row, mask, strict=False) if bit == 1}
    is_at_an_end = list(mask) in (shown + hidden, hidden + shown)
    return is_at_an_end and ones > 0 and len(padding) == 1 and not padding & text


def _positions_count_from_zero(trace: Trace) -> Iterator[Finding]:
    for event in of_type(trace, "input.tokenized"):
        masks = choice_of(event, "attention_mask") or ()
        if all(_is_all_ones(mask) for mask in masks):
            yield from _wrong_positions(event, choice_of(event, "position_ids"))
    tokenized = of_type(trace, "input.tokenized")
    for event in of_type(trace, "prefill.completed"):
        positions = state_of(event, "position_ids")
        if not tokenized:
            yield from _wrong_positions(event, positions)
        elif positions != choice_of(tokenized[0], "position_ids"):
            yield event.event_id, f"positions {positions!r:.80} are not the tokenizer's"


def _wrong_positions(event: Event, rows: Any) -> Iterator[Finding]:
    for row in rows or ():
        if not counts_from_zero(row, len(row)):
            yield event.event_id, f"positions {row!r:.80} are not 0, 1, 2, …"


def _prefill_reads_the_prompt(trace: Trace) -> Iterator[Finding]:
    tokenized = of_type(trace, "input.tokenized")
    if not tokenized:
        return
    ids = choice_of(tokenized[0], "input_ids")
    for event in of_type(trace, "prefill.started"):
        length = state_of(event, "logical_length")
        if length is not None and length != len(ids[0]):
            yield event.event_id, f"logical length is {length}, the prompt has {len(ids[0])} ids"
    for event in of_type(trace, "prefill.completed"):
        read = state_of(event, "input_ids")
        if read != ids:
            yield event.event_id, f"reads {read!r:.80}, tokenized was {ids!r:.80}"


def _caches_hold_the_prompt(trace: Trace) -> Iterator[Finding]:
    tokenized = of_type(trace, "input.tokenized")
    for event in of_type(trace, "prefill.completed"):
        expected = len(choice_of(tokenized[0], "input_ids")[0]) if tokenized else None
        yield from _wrong_cache_length(event, expected)


def _caches_grow_by_one(trace: Trace) -> Iterator[Finding]:
    passes = of_type(trace, *PASSES)
    for before, after in pairwise(passes):
        previous = state_of(before, "cache_length")
        if isinstance(previous, int):
            yield from _wrong_cache_length(after, previous + 1)
        if _cache_names(before) != _cache_names(after):
            yield after.event_id, "does not hold the caches that the forward pass before it holds"
    for event in of_type(trace, "resources.released"):
        final = state_of(event, "cache_final_length")
        if passes and final != state_of(passes[-1], "cache_length"):
            yield event.event_id, f"cache length is {final}, the last forward pass left another"


def _cache_names(event: Event) -> list[str]:
    names = [record["name"] for record in event.payload.get("outputs", ())]
    return [name for name in names if ".cache." in name]


def _wrong_cache_length(event: Event, expected: int | None) -> Iterator[Finding]:
    length = state_of(event, "cache_length")
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
        if not counts_from_zero(record["logical"].get("positions"), record["shape"][2]):
            yield event.event_id, f"{record['name']} does not hold the positions 0, 1, 2, …"


def counts_from_zero(positions: Any, length: int) -> bool:
    """Whether a list is 0, 1, 2, … up to `length`."""
    # The stated length is only compared: a hostile one would make a list of any size.
    return len(positions) == length and positions == list(range(len(positions)))


def _length_before_is_the_last(trace: Trace) -> Iterator[Finding]:
    for event, last in after_each(trace, *PASSES):
        before = state_of(event, "cache_length_before")
        expected = 0 if last is None else state_of(last, "cache_length")
        if event.event_type in PASSES and before is not None and before != expected:
            yield event.event_id, f"begins with cache length {before}, expected {expected}"


def _positions_fit_the_window(trace: Trace) -> Iterator[Finding]:
    window = number_setting(trace, "context_window")
    if window is None:
        return
    for event in of_type(trace, *PASSES):
        length = state_of(event, "cache_length")
        if length > window:
            yield event.event_id, f"holds {length} positions, the context window has {window}"


def _ordinary_tokens_are_decoded(trace: Trace) -> Iterator[Finding]:
    selected = of_type(trace, "token.selected")
    decoded = [state_of(event, "token_id") for event in of_type(trace, "decode.started")]
    expected = selected_ids(trace)[:-1]
    if decoded != expected:
        last = selected[-1].event_id if selected else None
        yield last, f"selected before the last were {expected}, decoded were {decoded}"


def _decode_takes_the_last_token(trace: Trace) -> Iterator[Finding]:
    for event, selected in after_each(trace, "token.selected"):
        if event.event_type != "decode.started":
            continue
        token = None if selected is None else choice_of(selected, "token_id")
        if state_of(event, "token_id") != token:
            found = state_of(event, "token_id")
            yield event.event_id, f"takes token {found}, selected just before was {token}"


def _decode_continues_the_cache(trace: Trace) -> Iterator[Finding]:
    for event, passed in after_each(trace, *PASSES):
        if event.event_type != "decode.started" or passed is None:
            continue
        position, length = state_of(event, "position"), state_of(passed, "cache_length")
        if position != length:
            yield event.event_id, f"decodes at position {position}, cache length is {length}"


def _decode_reads_what_was_started(trace: Trace) -> Iterator[Finding]:
    for event, started in after_each(trace, "decode.started", *PASSES):
        is_started = started is not None and started.event_type == "decode.started"
        if event.event_type != "decode.completed" or started is None or not is_started:
            continue
        for key, source in (("input_ids", "token_id"), ("position_ids", "position")):
            found, expected = state_of(event, key), [[state_of(started, source)]]
            if found != expected:
                yield event.event_id, f"{key} are {found!r:.80}, started was {expected}"


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


CACHE_RULES = (
    Rule(
        "parallel-arrays",
        "ids, attention mask and positions have one length",
        has_text_events,
        _arrays_have_one_length,
    ),
    Rule(
        "mask-hides-only-padding",
        "the attention mask is 1 for every id, 0 only for padding",
        has_text_events,
        _mask_hides_only_padding,
    ),
    Rule(
        "positions-count-from-zero",
        "the prompt's positions are 0, 1, 2, … and prefill takes them",
        has_text_events,
        _positions_count_from_zero,
    ),
    Rule(
        "prefill-reads-the-prompt",
        "prefill reads the tokenized ids",
        has_text_events,
        _prefill_reads_the_prompt,
    ),
    Rule(
        "prefill-fills-caches",
        "after prefill every layer's cache holds the prompt's positions",
        has_text_events,
        _caches_hold_the_prompt,
    ),
    Rule(
        "caches-grow-by-one",
        "every decode adds one position to every layer's cache, and the last length is released",
        has_text_events,
        _caches_grow_by_one,
    ),
    Rule(
        "pass-begins-where-the-last-ended",
        "a forward pass begins with the cache length that the one before left, the first with 0",
        has_text_events,
        _length_before_is_the_last,
    ),
    Rule(
        "positions-fit-the-window",
        "prompt and decoded positions do not exceed the context window",
        has_text_events,
        _positions_fit_the_window,
    ),
    Rule(
        "ordinary-tokens-are-decoded",
        "every selected token but the last is decoded, once and in order",
        has_text_events,
        _ordinary_tokens_are_decoded,
    ),
    Rule(
        "decode-takes-the-last-token",
        "a decode takes the token that was selected just before it",
        has_text_events,
        _decode_takes_the_last_token,
    ),
    Rule(
        "decode-continues-the-cache",
        "a decode's position is the cache length that the last forward pass left",
        has_text_events,
        _decode_continues_the_cache,
    ),
    Rule(
        "decode-reads-what-was-started",
        "a decode reads the one token, at the one position, that it was started with",
        has_text_events,
        _decode_reads_what_was_started,
    ),
)
