"""The contract of autoregressive text traces: what every run keeps, and what text-001 yields.

The general rules hold for any trace of this vocabulary. The known answers of the fixture apply
only to its runs without overrides.
"""

from __future__ import annotations

from collections.abc import Iterator

from tracediff.contracts.rule import Finding, Rule
from tracediff.contracts.text_cache import CACHE_RULES
from tracediff.contracts.text_ending import ENDING_RULES
from tracediff.contracts.text_events import choice_of, of_type, selected_ids
from tracediff.contracts.text_input import INPUT_RULES
from tracediff.contracts.text_lanes import for_each_lane
from tracediff.contracts.text_output import OUTPUT_RULES
from tracediff.contracts.text_selection import SELECTION_RULES
from tracediff.events import Trace

INPUT_IDS = [1, 2, 7, 3, 4, 8, 9, 10, 11, 12, 5, 6]
FIRST_RAW_TOP = 14
SELECTED_IDS = [14, 15, 16, 17, 18]
FINAL_TEXT = "短波蓝光的散射通常更强。"


def _known_input_ids(trace: Trace) -> Iterator[Finding]:
    for event in of_type(trace, "input.tokenized"):
        if choice_of(event, "input_ids") != [INPUT_IDS]:
            found = choice_of(event, "input_ids")
            yield event.event_id, f"input ids {found}, expected [{INPUT_IDS}]"


def _known_first_top(trace: Trace) -> Iterator[Finding]:
    for event in of_type(trace, "prefill.completed"):
        for record in event.payload.get("outputs", ()):
            values = record.get("values")
            if record["name"] != "next_logits" or values is None:
                continue
            top = max(range(len(values)), key=lambda token: float(values[token]))
            if top != FIRST_RAW_TOP:
                yield event.event_id, f"the highest first logit is {top}, expected {FIRST_RAW_TOP}"


def _known_selection(trace: Trace) -> Iterator[Finding]:
    selected = selected_ids(trace)
    if selected != SELECTED_IDS:
        yield None, f"selected {selected}, expected {SELECTED_IDS}"


def _known_text(trace: Trace) -> Iterator[Finding]:
    for event in of_type(trace, "response.completed"):
        if choice_of(event, "text") != FINAL_TEXT:
            yield event.event_id, f"returns {choice_of(event, 'text')!r}, expected {FINAL_TEXT!r}"


def _is_plain_text_001(trace: Trace) -> bool:
    header = trace.header
    changed = header.get("overrides") or header.get("injection")
    return trace.kind == "text" and header.get("fixture") == "text-001" and not changed


KNOWN_ANSWERS = (
    Rule(
        "input-ids",
        "the prompt's ids are the twelve known ones",
        _is_plain_text_001,
        _known_input_ids,
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
)

TEXT_RULES = (
    *KNOWN_ANSWERS,
    *for_each_lane(
        (*INPUT_RULES, *CACHE_RULES, *SELECTION_RULES, *OUTPUT_RULES, *ENDING_RULES),
    ),
)
