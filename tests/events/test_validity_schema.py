"""The hand-written checks and the JSON Schema accept and refuse the same lines."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tracediff.events.event import KINDS
from tracediff.events.tolerances import MODES
from tracediff.events.validity import InvalidField, event_from_json
from tracediff.storage.schema import schema_errors

names = st.sampled_from(["a", "é", "x-y", " ", "logits"])
counts = st.sampled_from([0, 1, 2, 4.0, 2**63, 2**64 - 1])
integers = st.sampled_from([0, -1, 7, -(2**63), 2.0])
numbers = st.sampled_from([0, -1, 0.5, -0.0, 1e300, "NaN", "Infinity", "-Infinity"])
scalars = st.one_of(
    st.none(), st.booleans(), numbers, names, st.sampled_from(["", "nan", 0.25, -3, "exact"])
)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(names, anything, max_size=3)


def record(required: dict[str, Any], optional: dict[str, Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(required, optional=optional)


shapes = st.lists(counts, max_size=3)
tensors = st.lists(
    record(
        {
            "name": names,
            "dtype": names,
            "shape": shapes,
            "logical": objects,
            "digest": names,
            "stats": record(
                {"finite": counts},
                {"nan": counts, "neg_zero": counts, "nonfinite": names, "min": numbers},
            ),
        },
        {
            "sketch": st.lists(numbers, min_size=64, max_size=64),
            "values": st.lists(numbers | st.booleans(), max_size=3),
            "file": names,
            "x-own": anything,
        },
    ),
    max_size=2,
)
tolerances = record(
    {"match": names, "mode": st.sampled_from(MODES)},
    {"rtol": st.sampled_from([0, 0.5, -0.0]), "ulps": counts},
)
lane_parts = names | integers
payloads = record(
    {},
    {
        "trace": record(
            {"format": st.just("tracediff-trace/1"), "kind": st.sampled_from(KINDS)},
            {"fixture": names, "overrides": objects, "tolerances": st.lists(tolerances)},
        ),
        "lane": st.dictionaries(names, lane_parts, min_size=1, max_size=2),
        "joins": st.lists(names, max_size=2),
        "artifacts": st.dictionaries(names, names, max_size=2),
        "state": objects,
        "settings": objects,
        "inputs": tensors,
        "rng": st.lists(
            record(
                {
                    "generator": names,
                    "algorithm": names,
                    "counter_before": lane_parts,
                    "counter_after": lane_parts,
                    "draws": record({"count": counts}, {"shape": shapes}),
                },
                {"key": st.lists(lane_parts, max_size=2), "transform": names},
            ),
            max_size=2,
        ),
        "outputs": tensors,
        "choice": objects,
        "commit": objects,
        "ids": st.dictionaries(names, lane_parts | st.lists(lane_parts, max_size=2), max_size=2),
        "context": objects,
        "note": anything,
        "x-own": anything,
        "end": record({"events": counts}, {}),
    },
)
lines = record(
    {
        "trace_id": names,
        "event_id": names,
        "parent_event_id": names | st.none(),
        "component": names,
        "event_type": names,
        "logical_step": counts,
        "payload": payloads,
    },
    {},
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Return every container of `value` with every key or index in it."""
    members = list(value.items() if isinstance(value, dict) else enumerate(value))
    found = [(value, key) for key, _ in members]
    for _, item in members:
        if isinstance(item, dict | list):
            found += places(item)
    return found


@st.composite
def mutated_lines(draw: st.DrawFn) -> Any:
    """Draw a valid line in which one thing is changed, removed or added."""
    line = copy.deepcopy(draw(lines))
    container, key = draw(st.sampled_from(places(line)))
    match draw(st.sampled_from(["replace", "remove", "add"])):
        case "remove":
            del container[key]
        case "add" if isinstance(container, dict):
            container[draw(st.sampled_from(["more", "x-more", "end", "values", "sketch"]))] = draw(
                anything
            )
        case _:
            container[key] = draw(anything)
    return line


def accepted_by_hand(line: Any) -> bool:
    try:
        event_from_json(line)
    except InvalidField:
        return False
    return True


@settings(max_examples=80, deadline=None)
@given(lines)
def test_both_accept_valid_lines(line: Any) -> None:
    """A line built after the specification passes both."""
    assert schema_errors(line) == []
    assert accepted_by_hand(line)


@settings(max_examples=400, deadline=None)
@given(mutated_lines())
def test_both_agree_on_lines_with_one_change(line: Any) -> None:
    """Whatever one change does to a valid line, both say the same of it."""
    assert accepted_by_hand(line) == (schema_errors(line) == [])


@settings(max_examples=100, deadline=None)
@given(anything)
def test_both_agree_on_what_is_no_line(line: Any) -> None:
    """JSON of any kind is refused by both."""
    assert accepted_by_hand(line) == (schema_errors(line) == [])
