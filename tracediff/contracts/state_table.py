"""Seven questions about any trace, answered from what it records.

What is determined at the start, what the model's state is, how the runtime moves it, where it
becomes irreversible, where randomness enters, how it ends, and what a replay has to reproduce.
Answers name only what the trace holds; what it does not hold is "not recorded".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tracediff.events import Event, Trace
from tracediff.events.event import TENSOR_SECTIONS

NOT_RECORDED = "not recorded"
SHOWN = 6
COMMITTED = "committed"


def describe_states(trace: Trace) -> list[tuple[str, str]]:
    """Return the seven questions with their answers, in order."""
    return [(question, answer(trace) or NOT_RECORDED) for question, answer in _QUESTIONS]


def _initial_objects(trace: Trace) -> str:
    parts = [f"{key} {value}" for key, value in trace.root.payload.get("artifacts", {}).items()]
    for event in trace.events:
        ids = event.payload.get("choice", {}).get("input_ids")
        if isinstance(ids, list) and ids and isinstance(ids[0], list):
            parts.insert(0, f"{sum(len(row) for row in ids)} prompt ids ({event.event_id})")
            break
    return _listed(parts)


def _model_state(trace: Trace) -> str:
    shapes: dict[str, Any] = {}
    for _, record in _tensors(trace):
        shapes[record["name"]] = record["shape"]
    return _listed([f"{name} {shape}" for name, shape in reversed(shapes.items())])


def _runtime_updates(trace: Trace) -> str:
    counts = Counter(f"{event.component} {event.event_type}" for event in trace.events)
    return _listed([f"{name} x{count}" for name, count in counts.most_common()])


def _irreversible_point(trace: Trace) -> str:
    for event in trace.events:
        if event.payload.get("commit", {}).get("status") == COMMITTED:
            return f"{event.event_id} {event.event_type}: an external effect"
    if trace.kind == "tool":
        return "none: nothing was committed"
    sent = [event for event in trace.events if event.component == "transport"]
    if sent:
        return f"{sent[0].event_id} {sent[0].event_type}: what was sent is not taken back"
    return "none: nothing leaves the execution"


def _random_entry(trace: Trace) -> str:
    draws = [
        f"{event.event_id}: {draw['draws']['count']} by {draw['algorithm']} from counter "
        f"{draw['counter_before']}"
        for event in trace.events
        for draw in event.payload.get("rng", ())
        if draw["draws"]["count"]
    ]
    return _listed(draws) or "none: nothing was drawn"


def _termination(trace: Trace) -> str:
    last = trace.events[-1]
    for event in reversed(trace.events):
        choice = event.payload.get("choice", {})
        for key in ("finish_reason", "status"):
            if key in choice:
                return f"{key} {choice[key]} ({event.event_id}); last event {last.event_type}"
    return f"last event {last.event_id} {last.event_type}"


def _replay_core(trace: Trace) -> str:
    found: Counter[str] = Counter()
    for event in trace.events:
        found.update(_compared(event))
    return _listed([f"{section} of {count} events" for section, count in found.most_common()])


def _compared(event: Event) -> list[str]:
    sections = ("artifacts", "state", "inputs", "rng", "outputs", "choice", "commit")
    return [section for section in sections if section in event.payload]


def _tensors(trace: Trace) -> Iterator[tuple[Event, Mapping[str, Any]]]:
    for event in trace.events:
        for section in TENSOR_SECTIONS:
            for record in event.payload.get(section, ()):
                yield event, record


def _listed(parts: list[str]) -> str:
    rest = f", and {len(parts) - SHOWN} more" if len(parts) > SHOWN else ""
    return ", ".join(parts[:SHOWN]) + rest


_QUESTIONS: tuple[tuple[str, Callable[[Trace], str]], ...] = (
    ("initial objects", _initial_objects),
    ("model state", _model_state),
    ("runtime updates", _runtime_updates),
    ("irreversible point", _irreversible_point),
    ("random entry", _random_entry),
    ("termination", _termination),
    ("replay core", _replay_core),
)
