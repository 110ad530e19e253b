"""What is written and read and written again is the same bytes."""

from __future__ import annotations

import io
import math
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tracediff.events.event import Event
from tracediff.storage import encode_event, read_events

texts = st.text(st.characters(exclude_categories=()), max_size=8)
names = st.text(st.characters(exclude_categories=()), min_size=1, max_size=8)
integers = st.integers(-(2**63), 2**64 - 1)
floats = st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | integers | floats | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(texts, values, max_size=3)
NON_FINITE = {"nan": "NaN", "pos_inf": "Infinity", "neg_inf": "-Infinity"}


@st.composite
def tensors(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a consistent tensor record with values, keys in any order."""
    shape = draw(st.lists(st.integers(0, 3), max_size=2))
    element = floats | st.integers(-5, 5) | st.sampled_from(list(NON_FINITE.values()))
    found = draw(st.lists(element, min_size=math.prod(shape), max_size=math.prod(shape)))
    counts = {key: found.count(word) for key, word in NON_FINITE.items()}
    record = {
        "name": draw(names),
        "dtype": draw(st.sampled_from(["float32", "bfloat16", "int8"])),
        "shape": shape,
        "logical": draw(objects),
        "digest": "b3:0",
        "stats": {"finite": len(found) - sum(counts.values()), **counts},
        "values": found,
        "x-own": draw(values),
    }
    return dict(draw(st.permutations(list(record.items()))))


@st.composite
def traces(draw: st.DrawFn) -> list[Event]:
    """Draw a chain of events with arbitrary payloads."""
    count = draw(st.integers(1, 4))
    ids = draw(st.lists(names, min_size=count, max_size=count, unique=True))
    trace_id = draw(names)
    events = []
    for number, name in enumerate(ids):
        payload: dict[str, Any] = {
            "state": draw(objects),
            "note": draw(values),
            "ids": draw(st.dictionaries(texts, integers | texts, max_size=2)),
            "outputs": draw(st.lists(tensors(), max_size=2, unique_by=lambda t: t["name"])),
            "x-own": draw(values),
        }
        if number == 0:
            payload["trace"] = {"format": "tracediff-trace/1", "kind": "loop"}
        if number == count - 1:
            payload["end"] = {"events": count}
        payload = dict(draw(st.permutations(list(payload.items()))))
        parent = ids[number - 1] if number else None
        events.append(Event(trace_id, name, parent, draw(names), draw(names), number, payload))
    return events


@settings(max_examples=150, deadline=None)
@given(traces())
def test_write_read_write_is_the_identity(events: list[Event]) -> None:
    """The events come back, and written again they are the same bytes."""
    written = b"".join(map(encode_event, events))
    found = [located.event for located in read_events(io.BytesIO(written))]
    assert found == events
    assert b"".join(map(encode_event, found)) == written
    # == does not tell 1 from 1.0 nor 0.0 from -0.0; repr does, once the key order is the same.
    again = [located.event for located in read_events(io.BytesIO(written))]
    assert repr(again) == repr(found)


@settings(max_examples=100, deadline=None)
@given(objects)
def test_types_and_signs_survive(state: dict[str, Any]) -> None:
    """Free objects come back to the letter: 1 is not 1.0, 0.0 is not -0.0, order is kept."""
    payload = {
        "trace": {"format": "tracediff-trace/1", "kind": "loop"},
        "state": state,
        "end": {"events": 1},
    }
    line = encode_event(Event("t", "e", None, "loop", "step", 0, payload))
    (found,) = read_events(io.BytesIO(line))
    assert repr(found.event.payload["state"]) == repr(state)
