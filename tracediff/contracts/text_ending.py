"""Rules on how text runs end: at which limits, for which reason, and that the run is whole.

Knows finish reasons and limits. Must not know logits beyond the mask of the end token.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from tracediff.contracts.rule import Finding, Rule
from tracediff.contracts.text_events import (
    CONTENT_FILTER,
    CONTEXT_WINDOW,
    CUT_SHORT,
    EOS,
    MAX_TOKENS,
    REFUSAL,
    STOP_SEQUENCE,
    TOOL_CALLS,
    choice_of,
    has_text_events,
    kept_logits,
    number_setting,
    of_type,
    selected_ids,
    state_of,
    stop_sequences,
)
from tracediff.events import Trace

OTHERS_WORDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        EOS: ("stop", "end_turn"),
        STOP_SEQUENCE: ("stop", "stop_sequence"),
        MAX_TOKENS: ("length", "max_tokens"),
        CONTEXT_WINDOW: ("length", "model_context_window_exceeded"),
        TOOL_CALLS: ("tool_calls", "tool_use"),
        REFUSAL: ("stop", "refusal"),
        CONTENT_FILTER: ("content_filter", "refusal"),
    }
)
"""Each reason in the words of OpenAI's chat completions and of Anthropic's messages."""

WHOLE = ("prefill.completed", "token.selected", "response.completed", "resources.released")
"""What every text run does at least once."""

REJECTED = "request.rejected"
"""What is recorded instead of an answer to a request that cannot be taken."""

AROUND_PREFILL = (
    "request.accepted",
    "context.rendered",
    "input.tokenized",
    "prefill.started",
    "generation.draining",
)
"""What a run that prefills does as well."""


def _output_is_within_the_limit(trace: Trace) -> Iterator[Finding]:
    limit = number_setting(trace, "max_output_tokens")
    for count, event in enumerate(of_type(trace, "token.selected"), 1):
        if limit is not None and count > limit:
            yield event.event_id, f"is selection {count}, max_output_tokens is {limit}"


def _minimum_is_kept(trace: Trace) -> Iterator[Finding]:
    minimum = number_setting(trace, "minimum_output_tokens")
    others = len(of_type(trace, "token.selected")) - 1
    for event in of_type(trace, "response.completed"):
        is_eos = choice_of(event, "finish_reason") == EOS
        if is_eos and minimum is not None and others < minimum:
            yield event.event_id, f"ends by eos after {others} tokens, the minimum is {minimum}"


def _length_means_the_limit(trace: Trace) -> Iterator[Finding]:
    limit = number_setting(trace, "max_output_tokens")
    for event in of_type(trace, "response.completed"):
        selected = choice_of(event, "output_tokens_selected")
        is_limit = choice_of(event, "finish_reason") == MAX_TOKENS
        if limit is not None and is_limit and selected != limit:
            yield event.event_id, f"max_tokens after {selected} of {limit} tokens"


def _window_means_the_window(trace: Trace) -> Iterator[Finding]:
    window = number_setting(trace, "context_window")
    if not any(choice_of(e, "finish_reason") == CONTEXT_WINDOW for e in trace.events):
        return
    for event in of_type(trace, "resources.released"):
        length = state_of(event, "cache_final_length")
        if window is not None and length != window:
            yield event.event_id, f"context_window with {length} of {window} positions"


def _stop_means_a_sequence(trace: Trace) -> Iterator[Finding]:
    stops = stop_sequences(trace)
    for event in of_type(trace, "generation.draining"):
        stop, reason = choice_of(event, "stop_sequence"), choice_of(event, "finish_reason")
        if (stop is not None) != (reason == STOP_SEQUENCE):
            yield event.event_id, f"ends by {reason} with the stop sequence {stop!r:.40}"
        elif stop is not None and stop not in stops:
            yield event.event_id, f"{stop!r:.40} is none of the stop sequences {stops!r:.80}"


def _end_means_the_end_token(trace: Trace) -> Iterator[Finding]:
    ends, selected = _end_tokens(trace), selected_ids(trace)
    if not ends or not selected:
        return
    early = [token for token in selected[:-1] if token in ends]
    for event in of_type(trace, "response.completed"):
        reason, last = choice_of(event, "finish_reason"), selected[-1]
        if early:
            yield event.event_id, f"the end token {early[0]} was selected before the last"
        if (reason == EOS) != (last in ends):
            yield event.event_id, f"ends by {reason}, the last id is {last}, the end token {ends}"


def _end_tokens(trace: Trace) -> list[int]:
    """Return the ids that the minimum length forbids for a while; none where it cannot be told."""
    for event in of_type(trace, "token.selected"):
        before = kept_logits(event, "logits.control_token_mask")
        after = kept_logits(event, "logits.minimum_length_eos_mask")
        if before is None or after is None:
            continue
        pairs = enumerate(zip(before, after, strict=True))
        return [token for token, (old, new) in pairs if new == -math.inf and old != -math.inf]
    return []


def _reasons_agree(trace: Trace) -> Iterator[Finding]:
    reasons = [choice_of(event, "finish_reason") for event in of_type(trace, "generation.draining")]
    for event in of_type(trace, "response.completed"):
        reason = choice_of(event, "finish_reason")
        if any(reason != told for told in reasons):
            yield event.event_id, f"ends by {reason}, draining said {reasons}"
        words = tuple(choice_of(event, f"finish_reason_{api}") for api in ("openai", "anthropic"))
        for word, right in zip(words, OTHERS_WORDS.get(reason, (None, None)), strict=True):
            if word not in (None, right):
                yield event.event_id, f"{reason!r:.40} is called {words}, expected {right}"


def _finishes_once(trace: Trace) -> Iterator[Finding]:
    if of_type(trace, REJECTED):
        return
    finished = [event for event in trace.events if choice_of(event, "status") == "FINISHED"]
    released = of_type(trace, "resources.released")
    for name, events in (("FINISHED", finished), ("resources.released", released)):
        if len(events) != 1:
            last = events[-1].event_id if events else None
            yield last, f"{name} occurs {len(events)} times, expected once"


def _run_is_whole(trace: Trace) -> Iterator[Finding]:
    if of_type(trace, REJECTED):
        yield from _rejection_is_the_end(trace)
        return
    # Other engines share some names; a completed prefill shows that the run uses all of them.
    prefilled = bool(of_type(trace, "prefill.completed"))
    # What ends a run from outside may come before the first selection.
    cut_short = any(choice_of(e, "finish_reason") in CUT_SHORT for e in trace.events)
    for event_type in (*WHOLE, *(AROUND_PREFILL if prefilled else ())):
        if not of_type(trace, event_type) and not (cut_short and event_type == "token.selected"):
            yield None, f"there is no {event_type}"


def _rejection_is_the_end(trace: Trace) -> Iterator[Finding]:
    for event in of_type(trace, REJECTED):
        if event is not trace.events[-1]:
            yield event.event_id, "a rejected request goes on"
        for later in of_type(trace, *WHOLE):
            yield later.event_id, f"{later.event_type} of a request that is rejected"


def _has_text_events(trace: Trace) -> Iterator[Finding]:
    if not has_text_events(trace):
        yield None, f"none of its {len(trace.events)} events is one of a text run"


def _is_text(trace: Trace) -> bool:
    return trace.kind == "text"


ENDING_RULES = (
    Rule(
        "no-text-events",
        "a trace of kind text has events of a text run",
        _is_text,
        _has_text_events,
    ),
    Rule(
        "text-run-is-whole",
        "a text run goes from request and prefill to its response and releases what it held, or "
        "ends where its request is rejected",
        has_text_events,
        _run_is_whole,
    ),
    Rule(
        "output-is-within-the-limit",
        "no more than max_output_tokens are selected",
        has_text_events,
        _output_is_within_the_limit,
    ),
    Rule(
        "minimum-is-kept",
        "an end token ends a run only after minimum_output_tokens others",
        has_text_events,
        _minimum_is_kept,
    ),
    Rule(
        "max-tokens-means-the-limit",
        "max_tokens is given as the reason only at the limit",
        has_text_events,
        _length_means_the_limit,
    ),
    Rule(
        "context-window-means-the-window",
        "context_window is given as the reason only where the window is full",
        has_text_events,
        _window_means_the_window,
    ),
    Rule(
        "stop-means-a-sequence",
        "stop_sequence is given as the reason exactly where one of the settings' matched",
        has_text_events,
        _stop_means_a_sequence,
    ),
    Rule(
        "eos-means-the-end-token",
        "eos is given as the reason exactly where the end token was selected, as the last",
        has_text_events,
        _end_means_the_end_token,
    ),
    Rule(
        "reasons-agree",
        "the reason is told once, in the words of each interface",
        has_text_events,
        _reasons_agree,
    ),
    Rule(
        "finishes-once",
        "FINISHED and the release of resources occur exactly once",
        has_text_events,
        _finishes_once,
    ),
)
