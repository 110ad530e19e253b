"""How the rules on text traces find what they look at.

Knows the event types of a text run and where their fields are. Must not know what is right or
wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tracediff.events import Event, Trace

TEXT_EVENTS = frozenset(
    {
        "request.accepted",
        "request.rejected",
        "context.rendered",
        "input.tokenized",
        "prefill.started",
        "prefill.completed",
        "decode.started",
        "decode.completed",
        "token.selected",
        "stream.delta",
        "generation.draining",
        "response.completed",
        "resources.released",
    }
)
"""The vocabulary of a text run."""

PASSES = ("prefill.completed", "decode.completed")
"""Events that record a forward pass."""

EOS, STOP_SEQUENCE = "eos", "stop_sequence"
MAX_TOKENS, CONTEXT_WINDOW = "max_tokens", "context_window"
TOOL_CALLS, REFUSAL, CONTENT_FILTER = "tool_calls", "refusal", "content_filter"
CANCELLED = "cancelled"
"""Why a run ended."""

CUT_SHORT = (REFUSAL, CONTENT_FILTER, CANCELLED)
"""Ends from outside the model: what it held back then is not returned."""


def of_type(trace: Trace, *types: str) -> list[Event]:
    """Return the events of these types in file order."""
    return [event for event in trace.events if event.event_type in types]


def choice_of(event: Event, key: str) -> Any:
    """Return a value of the event's choice, or None."""
    return event.payload.get("choice", {}).get(key)


def state_of(event: Event, key: str) -> Any:
    """Return a value of the event's state, or None."""
    return event.payload.get("state", {}).get(key)


def number_setting(trace: Trace, key: str) -> int | float | None:
    """Return a setting of the run, None where it is no number."""
    found = trace.root.payload.get("settings", {}).get(key)
    return found if type(found) in (int, float) else None


def stop_sequences(trace: Trace) -> list[str]:
    """Return the run's stop sequences; an empty one would stop nothing."""
    found = trace.root.payload.get("settings", {}).get("stop_sequences")
    return [text for text in found or () if isinstance(text, str) and text]


def selected_ids(trace: Trace) -> list[Any]:
    """Return the selected ids in file order."""
    return [choice_of(event, "token_id") for event in of_type(trace, "token.selected")]


def after_each(trace: Trace, *types: str) -> Iterator[tuple[Event, Event | None]]:
    """Yield each event of the vocabulary with the last one of `types` before it, or None."""
    last = None
    for event in of_type(trace, *TEXT_EVENTS):
        yield event, last
        if event.event_type in types:
            last = event


def record_of(event: Event, section: str, name: str) -> Mapping[str, Any] | None:
    """Return the record of a tensor from a section, or None."""
    records: list[Mapping[str, Any]] = event.payload.get(section, [])
    return next((record for record in records if record["name"] == name), None)


def kept_logits(event: Event, name: str) -> list[float] | None:
    """Return the numbers of an output of a selection, None where they were not kept."""
    return _numbers(record_of(event, "outputs", name))


def processed_logits(event: Event) -> list[float] | None:
    """Return the logits that a selection chose from, None where they were not kept.

    They are the last output called `logits.…`; without processors, the raw ones.
    """
    outputs = event.payload.get("outputs", ())
    records = [record for record in outputs if record["name"].startswith("logits.")]
    return _numbers(records[-1] if records else record_of(event, "inputs", "next_logits"))


def _numbers(record: Mapping[str, Any] | None) -> list[float] | None:
    values = None if record is None else record.get("values")
    return None if values is None else [float(value) for value in values]


def has_text_events(trace: Trace) -> bool:
    """Whether this is a text trace with an event of the vocabulary."""
    return trace.kind == "text" and any(e.event_type in TEXT_EVENTS for e in trace.events)
