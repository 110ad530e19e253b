"""Rules on the selections of text traces: step, history, strategy, random draw and chosen id.

Knows logits and choices. What is decoded afterwards is `text_cache`'s matter, when it ends
`text_ending`'s.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tracediff.contracts.rule import Finding, Rule
from tracediff.contracts.text_events import (
    PASSES,
    TEXT_EVENTS,
    after_each,
    choice_of,
    has_text_events,
    number_setting,
    of_type,
    processed_logits,
    record_of,
    state_of,
)
from tracediff.events import Event, Trace

GREEDY, SAMPLED = "greedy", "sampled"
WORD_BITS = 32
"""Of each of the two words of a Philox key."""


def _steps_count_selections(trace: Trace) -> Iterator[Finding]:
    count = 0
    for event in of_type(trace, *TEXT_EVENTS):
        count += event.event_type == "token.selected"
        if event.logical_step != count:
            yield event.event_id, f"logical step {event.logical_step}, expected {count}"


def _history_is_what_was_chosen(trace: Trace) -> Iterator[Finding]:
    chosen: list[Any] = []
    for event in of_type(trace, "token.selected"):
        history = state_of(event, "chosen_ids")
        if history != chosen:
            yield event.event_id, f"chosen ids are {history!r:.80}, chosen were {chosen!r:.80}"
        chosen.append(choice_of(event, "token_id"))


def _selection_follows_the_pass(trace: Trace) -> Iterator[Finding]:
    for event, passed in after_each(trace, *PASSES):
        if event.event_type != "token.selected" or passed is None:
            continue
        length, left = state_of(event, "cache_length"), state_of(passed, "cache_length")
        if length != left:
            yield event.event_id, f"cache length is {length}, {passed.event_id} left {left}"


def _selection_reads_the_last_logits(trace: Trace) -> Iterator[Finding]:
    for event, passed in after_each(trace, *PASSES):
        if event.event_type != "token.selected" or passed is None:
            continue
        read = record_of(event, "inputs", "next_logits")
        made = record_of(passed, "outputs", "next_logits")
        # A digest covers element type and shape, so only records that agree in them compare.
        if read is None or made is None or _form(read) != _form(made):
            continue
        if read["digest"] != made["digest"]:
            yield event.event_id, f"its logits are not those that {passed.event_id} computed"


def _form(record: Any) -> tuple[Any, Any]:
    return record["dtype"], record["shape"]


def _has_draws(event: Event) -> bool:
    return any(draw["draws"]["count"] > 0 for draw in event.payload.get("rng", ()))


def _strategy_follows_the_draws(trace: Trace) -> Iterator[Finding]:
    for event in of_type(trace, "token.selected"):
        strategy, drawn = choice_of(event, "strategy"), _has_draws(event)
        if strategy != (SAMPLED if drawn else GREEDY):
            yield (
                event.event_id,
                f"strategy {strategy!r:.40} {'with' if drawn else 'without'} draws",
            )


def _temperature_decides_the_strategy(trace: Trace) -> Iterator[Finding]:
    temperature = number_setting(trace, "temperature")
    if temperature is None:
        return
    expected = GREEDY if temperature == 0 else SAMPLED
    for event in of_type(trace, "token.selected"):
        strategy = choice_of(event, "strategy")
        if strategy != expected:
            yield event.event_id, f"strategy {strategy!r:.40} at temperature {temperature:g}"


def _key_is_the_seed(trace: Trace) -> Iterator[Finding]:
    seed = number_setting(trace, "seed")
    if not isinstance(seed, int):
        return
    expected = [seed % 2**WORD_BITS, seed >> WORD_BITS]
    for event in of_type(trace, "token.selected"):
        for draw in event.payload.get("rng", ()):
            if draw["algorithm"].startswith("Philox") and draw.get("key") != expected:
                yield event.event_id, f"key is {draw.get('key')}, seed {seed} gives {expected}"


def _greedy_takes_the_highest(trace: Trace) -> Iterator[Finding]:
    for event in of_type(trace, "token.selected"):
        if choice_of(event, "strategy") != GREEDY:
            continue
        token, top = choice_of(event, "token_id"), choice_of(event, "top")
        if top is not None and (not top or top[0][0] != token):
            yield event.event_id, f"chooses {token}, the first of its top is another: {top!r:.80}"
        logits = processed_logits(event)
        if logits and not any(map(math.isnan, logits)):
            highest = logits.index(max(logits))
            if token != highest:
                yield event.event_id, f"chooses {token}, the lowest id of the highest is {highest}"


def _top_is_of_the_logits(trace: Trace) -> Iterator[Finding]:
    for event in of_type(trace, "token.selected"):
        top, logits = choice_of(event, "top"), processed_logits(event)
        if top is None or not logits or any(map(math.isnan, logits)):
            continue
        found = [(token, float(logit)) for token, logit in top]
        order = sorted(range(len(logits)), key=lambda token: (-logits[token], token))
        expected = [(token, logits[token]) for token in order[: len(found)]]
        if found != expected:
            yield event.event_id, f"lists {found!r:.80} as its top, the logits say {expected!r:.80}"


def _forbidden_is_not_chosen(trace: Trace) -> Iterator[Finding]:
    for event in of_type(trace, "token.selected"):
        token, logits = choice_of(event, "token_id"), processed_logits(event)
        if not logits:
            continue
        if not 0 <= token < len(logits) or logits[token] == -math.inf:
            yield event.event_id, f"chooses {token}, which is forbidden or no id"


SELECTION_RULES = (
    Rule(
        "steps-count-selections",
        "selections are the steps 1, 2, 3, …, and what follows one has its step",
        has_text_events,
        _steps_count_selections,
    ),
    Rule(
        "history-is-what-was-chosen",
        "a selection knows all ids that were chosen before it",
        has_text_events,
        _history_is_what_was_chosen,
    ),
    Rule(
        "selection-follows-the-pass",
        "a selection's cache length is the one that the last forward pass left",
        has_text_events,
        _selection_follows_the_pass,
    ),
    Rule(
        "selection-reads-the-last-logits",
        "a selection reads the logits that the last forward pass computed",
        has_text_events,
        _selection_reads_the_last_logits,
    ),
    Rule(
        "strategy-follows-the-draws",
        "a selection is sampled where it draws random numbers, else greedy",
        has_text_events,
        _strategy_follows_the_draws,
    ),
    Rule(
        "temperature-decides-the-strategy",
        "at temperature 0 selections are greedy, else sampled",
        has_text_events,
        _temperature_decides_the_strategy,
    ),
    Rule(
        "key-is-the-seed",
        "a draw's key is the seed's low word and high word",
        has_text_events,
        _key_is_the_seed,
    ),
    Rule(
        "greedy-takes-the-highest",
        "greedy choice takes the lowest id of the highest processed logits",
        has_text_events,
        _greedy_takes_the_highest,
    ),
    Rule(
        "top-is-of-the-logits",
        "the listed top are the highest processed logits, equal ones in order of their ids",
        has_text_events,
        _top_is_of_the_logits,
    ),
    Rule(
        "forbidden-is-not-chosen",
        "no id is chosen whose processed logit is -inf",
        has_text_events,
        _forbidden_is_not_chosen,
    ),
)
