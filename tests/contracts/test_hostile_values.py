"""Whatever a valid trace holds where its form is free, checking it gives a report."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from text_runs import main_line, sampled_run
from tool_runs import main_line as tool_call
from trace_building import with_payload
from trace_edits import put_draw

from tracediff.contracts import check_trace
from tracediff.events import Event, Trace

HOSTILE: list[Any] = [
    None,
    "x",
    "",
    -1,
    1.5,
    True,
    2**70,
    [],
    {},
    ["x"],
    [[None]],
    [[[1]]],
    {"b64": "AA=="},
]


def hostile_sections(event: Event) -> Iterator[Mapping[str, Any]]:
    """Yield sections in which one free-form value is of an unexpected type, or missing."""
    for section in ("state", "choice", "commit", "settings"):
        found = event.payload.get(section)
        if found is None:
            continue
        yield {section: None}
        yield {section: {}}
        for key in found:
            yield from ({section: {**found, key: value}} for value in HOSTILE)


def hostile_outputs(event: Event) -> Iterator[Mapping[str, Any]]:
    """Yield outputs in which one tensor record is valid, but not what the rules expect."""
    records = event.payload.get("outputs", [])
    strange: list[dict[str, Any]] = [
        {"shape": []},
        {"shape": [1]},
        {"shape": [0, 0, 0, 0]},
        {"shape": [1, 1, 2**62, 4]},
        {"logical": {}},
        {"values": []},
        {"values": ["NaN"] * 20},
        {"dtype": "float8_e4m3fn"},
        {"dtype": "int8"},
        {"dtype": "int7"},
        {"digest": "b3:"},
        {"stats": {"finite": 20, "min": "NaN", "max": "Infinity", "mean": 2**70, "l2": -1}},
        *({"logical": {"positions": value}} for value in HOSTILE),
    ]
    for index, record in enumerate(records):
        for change in strange:
            yield {"outputs": [*records[:index], {**record, **change}, *records[index + 1 :]]}


def hostile_traces(trace: Trace) -> Iterator[Trace]:
    """Yield variants of a trace, each with one event that holds something unexpected."""
    for index, event in enumerate(trace.events):
        before, after = trace.events[:index], trace.events[index + 1 :]
        if event.parent_event_id is not None:
            yield replace(trace, events=(*before, *after))
        for sections in (*hostile_sections(event), *hostile_outputs(event)):
            yield replace(trace, events=(*before, with_payload(event, **sections), *after))


@pytest.mark.parametrize(
    "make", [main_line, sampled_run, tool_call], ids=["main-line", "sampled", "tool-call"]
)
def test_hostile_values_never_raise(make: Callable[[], Trace]) -> None:
    """Whatever a valid trace holds in free-form fields, the answer is a report."""
    trace, checked, broken = make(), 0, 0
    for hostile in hostile_traces(trace):
        report = check_trace(hostile)
        checked += 1
        broken += bool(report.violations)
    assert checked > 1000
    assert broken > checked / 10


@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_counters_never_raise(value: Any) -> None:
    """Counters of any form give a report too."""
    for key in ("counter_before", "counter_after"):
        check_trace(put_draw("e09", **{key: value})(sampled_run()))
