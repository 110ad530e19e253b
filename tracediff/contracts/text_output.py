"""Rules on what text runs return: the streamed text, and how many tokens were selected for it.

Knows deltas and the completed response. Why a run ended is `text_ending`'s matter.
"""

from __future__ import annotations

from collections.abc import Iterator

from tracediff.contracts.rule import Finding, Rule
from tracediff.contracts.text_events import (
    CUT_SHORT,
    EOS,
    STOP_SEQUENCE,
    choice_of,
    has_text_events,
    of_type,
    stop_sequences,
)
from tracediff.events import Trace


def _text_is_what_was_streamed(trace: Trace) -> Iterator[Finding]:
    streamed = "".join(str(choice_of(event, "text")) for event in of_type(trace, "stream.delta"))
    for event in of_type(trace, "response.completed"):
        if choice_of(event, "text") != streamed:
            yield event.event_id, f"returns {choice_of(event, 'text')!r}, streamed was {streamed!r}"


def _deltas_are_numbered(trace: Trace) -> Iterator[Finding]:
    deltas = of_type(trace, "stream.delta")
    for expected, event in enumerate(deltas):
        number = choice_of(event, "sequence_no")
        if number != expected:
            yield event.event_id, f"sequence number {number}, expected {expected}"
    for event in of_type(trace, "response.completed"):
        if choice_of(event, "sequence_no") != len(deltas):
            yield (
                event.event_id,
                f"final sequence number {choice_of(event, 'sequence_no')}, expected {len(deltas)}",
            )


def _stop_sequences_are_not_returned(trace: Trace) -> Iterator[Finding]:
    stops = stop_sequences(trace)
    for event in of_type(trace, "response.completed"):
        for stop in stops:
            if stop in choice_of(event, "text"):
                yield event.event_id, f"returns the stop sequence {stop!r:.40}"


def _selections_are_counted(trace: Trace) -> Iterator[Finding]:
    count = len(of_type(trace, "token.selected"))
    for event in of_type(trace, "response.completed"):
        told = choice_of(event, "output_tokens_selected")
        if told != count:
            yield event.event_id, f"{told} tokens told as selected, selected were {count}"


def _end_token_is_not_returned(trace: Trace) -> Iterator[Finding]:
    for event in of_type(trace, "response.completed"):
        if choice_of(event, "finish_reason") != EOS:
            continue
        selected = choice_of(event, "output_tokens_selected")
        returned = choice_of(event, "output_tokens_returned")
        if returned != selected - 1:
            yield event.event_id, f"{selected} tokens selected by EOS, {returned} returned"


def _other_tokens_are_returned(trace: Trace) -> Iterator[Finding]:
    for event in of_type(trace, "response.completed"):
        reason = choice_of(event, "finish_reason")
        selected = choice_of(event, "output_tokens_selected")
        returned = choice_of(event, "output_tokens_returned")
        is_cut = reason in (STOP_SEQUENCE, *CUT_SHORT) and 0 <= returned <= selected
        if reason != EOS and returned != selected and not is_cut:
            yield event.event_id, f"ends by {reason} with {returned} of {selected} tokens returned"


OUTPUT_RULES = (
    Rule(
        "returned-text-is-streamed-text",
        "the final text is the text of all deltas",
        has_text_events,
        _text_is_what_was_streamed,
    ),
    Rule(
        "deltas-are-numbered",
        "deltas count 0, 1, 2, … and the final sequence number follows",
        has_text_events,
        _deltas_are_numbered,
    ),
    Rule(
        "stop-sequences-are-not-returned",
        "the returned text contains no stop sequence",
        has_text_events,
        _stop_sequences_are_not_returned,
    ),
    Rule(
        "selections-are-counted",
        "the response tells as many selected tokens as were selected",
        has_text_events,
        _selections_are_counted,
    ),
    Rule(
        "end-token-not-returned",
        "an end token is selected and not returned",
        has_text_events,
        _end_token_is_not_returned,
    ),
    Rule(
        "other-tokens-are-returned",
        "every other token is returned, unless a stop sequence takes it away",
        has_text_events,
        _other_tokens_are_returned,
    ),
)
