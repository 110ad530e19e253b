"""The hand-written checks of one line: what they refuse, and where they say it is."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tracediff.events.validity import InvalidField, check_payload, event_from_json

TENSOR: dict[str, Any] = {
    "name": "logits",
    "dtype": "float32",
    "shape": [1, 2],
    "logical": {"layer": 3},
    "digest": "b3:00",
    "stats": {"finite": 1, "nan": 1, "min": 1.5},
    "values": [1.5, "NaN"],
}
LINE: dict[str, Any] = {
    "trace_id": "t",
    "event_id": "e0",
    "parent_event_id": None,
    "component": "loop",
    "event_type": "started",
    "logical_step": 0,
    "payload": {
        "trace": {"format": "tracediff-trace/1", "kind": "loop"},
        "lane": {"request": 0},
        "artifacts": {"model": "m"},
        "inputs": [TENSOR],
        "rng": [
            {
                "generator": "noise",
                "algorithm": "philox4x32-10",
                "counter_before": 0,
                "counter_after": "18446744073709551616",
                "draws": {"count": 4, "shape": [2, 2]},
            }
        ],
        "ids": {"call": "c1", "calls": ["c1", 2]},
        "x-own": [None],
        "end": {"events": 1},
    },
}

REMOVE = object()


def change(path: list[str | int], value: object) -> dict[str, Any]:
    """Return LINE with the part at `path` replaced, or removed."""
    line: Any = copy.deepcopy(LINE)
    part = line
    for step in path[:-1]:
        part = part[step]
    if value is REMOVE:
        del part[path[-1]]
    else:
        part[path[-1]] = value
    found: dict[str, Any] = line
    return found


def test_a_valid_line_becomes_an_event() -> None:
    """All seven keys arrive, and the payload as it is."""
    event = event_from_json(LINE)
    assert (event.event_id, event.parent_event_id, event.payload) == ("e0", None, LINE["payload"])


P = "payload"


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        pytest.param(["trace_id"], REMOVE, "trace_id", id="a key is missing"),
        pytest.param(["more"], 1, "more", id="a key too many"),
        pytest.param(["event_id"], "", "event_id", id="empty id"),
        pytest.param(["event_id"], 7, "event_id", id="numeric id"),
        pytest.param(["parent_event_id"], 0, "parent_event_id", id="numeric parent"),
        pytest.param(["logical_step"], -1, "logical_step", id="negative step"),
        pytest.param(["logical_step"], True, "logical_step", id="true is no number"),
        pytest.param(["logical_step"], 0.5, "logical_step", id="half a step"),
        pytest.param([P], [], "payload", id="payload is a list"),
        pytest.param([P, "output"], [], "payload.output", id="misspelt section"),
        pytest.param([P, "trace", "kind"], "video", "payload.trace.kind", id="unknown kind"),
        pytest.param([P, "trace", "format"], "x/2", "payload.trace.format", id="other format"),
        pytest.param([P, "trace", "format"], REMOVE, "payload.trace.format", id="no format"),
        pytest.param([P, "lane"], {}, "payload.lane", id="empty lane"),
        pytest.param([P, "lane", "request"], None, "payload.lane.request", id="lane of null"),
        pytest.param([P, "artifacts", "model"], 1, "payload.artifacts.model", id="artifact id"),
        pytest.param([P, "ids", "calls", 1], [], "payload.ids.calls[1]", id="nested list of ids"),
        pytest.param([P, "end", "events"], REMOVE, "payload.end.events", id="end without count"),
        pytest.param([P, "inputs"], {}, "payload.inputs", id="tensors as an object"),
        pytest.param([P, "inputs", 0], 1, "payload.inputs[0]", id="tensor is a number"),
        pytest.param(
            [P, "inputs", 0, "digest"], REMOVE, "payload.inputs[0].digest", id="no digest"
        ),
        pytest.param([P, "inputs", 0, "size"], 2, "payload.inputs[0].size", id="tensor key"),
        pytest.param(
            [P, "inputs", 0, "shape", 1], -2, "payload.inputs[0].shape[1]", id="negative extent"
        ),
        pytest.param(
            [P, "inputs", 0, "values", 1], "nan", "payload.inputs[0].values[1]", id="misspelt NaN"
        ),
        pytest.param(
            [P, "inputs", 0, "values", 0], None, "payload.inputs[0].values[0]", id="null value"
        ),
        pytest.param(
            [P, "inputs", 0, "sketch"], [0.0] * 63, "payload.inputs[0].sketch", id="short sketch"
        ),
        pytest.param(
            [P, "inputs", 0, "sketch"],
            [0.0] * 63 + [True],
            "payload.inputs[0].sketch[63]",
            id="true in a sketch",
        ),
        pytest.param(
            [P, "inputs", 0, "stats", "max"], "high", "payload.inputs[0].stats.max", id="statistic"
        ),
        pytest.param([P, "rng", 0, "draws"], {}, "payload.rng[0].draws.count", id="no count"),
        pytest.param(
            [P, "rng", 0, "counter_before"], 0.5, "payload.rng[0].counter_before", id="counter"
        ),
    ],
)
def test_a_broken_field_is_named(path: list[str | int], value: object, field: str) -> None:
    """One broken rule is refused, with the path of the field that breaks it."""
    with pytest.raises(InvalidField) as refusal:
        event_from_json(change(path, value))
    assert refusal.value.field == field
    assert refusal.value.reason


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param([P, "inputs", 0, "x-own"], {"any": None}, id="private tensor key"),
        pytest.param([P, "x-"], 1, id="shortest private section"),
        pytest.param([P, "note"], [1, {"a": None}], id="a note may be anything"),
        pytest.param(["logical_step"], 4.0, id="4.0 counts as an integer"),
        pytest.param([P, "inputs", 0, "values"], [True, 1], id="booleans are elements"),
        pytest.param([P, "inputs", 0, "values"], [], id="no values"),
        pytest.param([P, "trace", "tolerances"], [{"match": "*", "mode": "exact"}], id="tolerance"),
    ],
)
def test_what_the_format_allows_is_accepted(path: list[str | int], value: object) -> None:
    """Freedom that the schema gives is not taken away by hand."""
    assert event_from_json(change(path, value)).trace_id == "t"


@pytest.mark.parametrize("line", [None, [], "x", 5], ids=["null", "list", "string", "number"])
def test_a_line_is_an_object(line: object) -> None:
    """JSON that is no object is no event."""
    with pytest.raises(InvalidField) as refusal:
        event_from_json(line)
    assert refusal.value.field == "line"


def test_a_payload_key_that_is_no_string_is_refused() -> None:
    """A payload made in Python may have keys that JSON cannot have."""
    with pytest.raises(InvalidField, match="unknown section"):
        check_payload({1: {}})


def test_long_values_are_cut_in_messages() -> None:
    """A hostile value does not flood the message."""
    with pytest.raises(InvalidField) as refusal:
        event_from_json(change(["event_id"], ["x" * 10_000]))
    assert len(refusal.value.reason) < 200
