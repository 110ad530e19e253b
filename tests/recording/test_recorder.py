"""The recorder: how events are put together, and which values it refuses."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tracediff.errors import UsageError
from tracediff.events import ToleranceRule, Tolerances, Trace
from tracediff.events.structure import check_structure
from tracediff.events.tensors import tensor_from_json
from tracediff.recording.recordable import Draw, Tensor
from tracediff.recording.recorder import Recorder
from tracediff.recording.sinks import MemorySink
from tracediff.storage import read_trace


def record(use: Callable[[Recorder], object], **options: Any) -> Trace:
    """Return the trace of what `use` records."""
    sink = MemorySink()
    with Recorder(sink, **options) as recorder:
        use(recorder)
    trace = sink.trace("test")
    check_structure(trace.events)
    return trace


def record_one(**sections: Any) -> Any:
    """Return the payload of one event with these sections."""
    trace = record(lambda recorder: recorder.event("loop", "step", **sections))
    return trace.events[0].payload


def test_three_lines() -> None:
    """A loop is recorded by one call a step: ids, causes and the count come by themselves."""
    sink = MemorySink()
    with Recorder(sink) as recorder:
        for step in range(3):
            recorder.event("loop", "state.updated", logical_step=step, outputs={"x": [step, 1]})
    events = sink.trace("run").events
    assert [(e.event_id, e.parent_event_id, e.logical_step) for e in events] == [
        ("e00", None, 0),
        ("e01", "e00", 1),
        ("e02", "e01", 2),
    ]
    assert {(e.trace_id, e.component, e.event_type) for e in events} == {
        ("trace-generic", "loop", "state.updated")
    }
    assert [set(e.payload) for e in events] == [
        {"trace", "outputs"},
        {"outputs"},
        {"outputs", "end"},
    ]
    assert events[0].payload["trace"] == {
        "format": "tracediff-trace/1",
        "kind": "generic",
        "tensors": "sketch",
    }
    assert events[2].payload["end"] == {"events": 3}


@pytest.mark.parametrize("as_text", [True, False], ids=["text", "path"])
def test_file_holds_what_memory_holds(tmp_path: Path, as_text: bool) -> None:
    """Recorded into a file and read back, the events are those of the memory sink."""

    def use(recorder: Recorder) -> None:
        recorder.event("a", "b", state={"x": np.float32(4.2), "big": 2**70}, outputs={"t": [1.5]})
        recorder.event("a", "c", choice={"text": "天\ud800", "half": b"\xe5"}, note=math.nan)

    path = tmp_path / "run.jsonl"
    with Recorder(str(path) if as_text else path) as recorder:
        use(recorder)
    assert read_trace(path).events == record(use).events


def test_ids_and_names_can_be_chosen() -> None:
    """Trace id, kind, prefix and header are the caller's; ids go on beyond two digits."""

    def use(recorder: Recorder) -> None:
        for _ in range(102):
            recorder.event("a", "b")

    trace = record(
        use, kind="image", trace_id="mine", event_prefix="d", header={"fixture": "x", "x-note": 1}
    )
    assert [trace.events[n].event_id for n in (0, 99, 100, 101)] == ["d00", "d99", "d100", "d101"]
    assert trace.root.trace_id == "mine"
    assert trace.header == {
        "format": "tracediff-trace/1",
        "kind": "image",
        "fixture": "x",
        "x-note": 1,
        "tensors": "sketch",
    }


def test_declared_tolerances_stand_in_the_header() -> None:
    """Tolerances are written into the root, and left out where there are none."""
    rule = ToleranceRule(match="logits.*", mode="ulp", ulps=4)
    header = record(lambda r: r.event("a", "b"), tolerances=Tolerances((rule,))).header
    assert header["tolerances"] == [{"match": "logits.*", "mode": "ulp", "ulps": 4}]
    assert "tolerances" not in record(lambda r: r.event("a", "b"), tolerances=Tolerances()).header


def test_parents_and_joins() -> None:
    """A parent may be any earlier event, and joins name further ones."""

    def use(recorder: Recorder) -> None:
        root = recorder.event("a", "fork")
        left = recorder.event("a", "branch", parent=root)
        right = recorder.event("a", "branch", parent=root)
        recorder.event("a", "join", parent=left, joins=[right])

    trace = record(use)
    assert [event.parents for event in trace.events] == [(), ("e00",), ("e00",), ("e01", "e02")]
    assert "joins" not in trace.events[1].payload


def test_root_has_no_parent() -> None:
    """A parent for the first event is refused, and the recorder goes on."""

    def use(recorder: Recorder) -> None:
        with pytest.raises(UsageError, match="first event is the root and follows none, not e9"):
            recorder.event("a", "b", parent="e9")
        recorder.event("a", "b")

    assert len(record(use).events) == 1


def test_lanes() -> None:
    """A lane is recorded as it is given."""
    assert record_one(lane={"request": "r1", "slot": 3})["lane"] == {"request": "r1", "slot": 3}


DRAW = Draw("latents", "Philox4x32-10", 0, 4096, 16384)
FULL_DRAW = Draw("g", "a", 2**64, 2**64 + 1, 4, key=(2**64, 1), shape=(2, 2), transform="t")


@pytest.mark.parametrize(
    ("draw", "expected"),
    [
        pytest.param(
            DRAW,
            {
                "generator": "latents",
                "algorithm": "Philox4x32-10",
                "counter_before": 0,
                "counter_after": 4096,
                "draws": {"count": 16384},
            },
            id="required-only",
        ),
        pytest.param(
            FULL_DRAW,
            {
                "generator": "g",
                "algorithm": "a",
                "key": ["18446744073709551616", 1],
                "counter_before": "18446744073709551616",
                "counter_after": "18446744073709551617",
                "draws": {"count": 4, "shape": [2, 2]},
                "transform": "t",
            },
            id="all-and-large",
        ),
    ],
)
def test_draws(draw: Draw, expected: dict[str, Any]) -> None:
    """A draw becomes the rng section's object, large counters as text."""
    assert record_one(rng=[draw])["rng"] == [expected]


def test_sections() -> None:
    """Every section arrives under its name; what is not given is not there."""
    sections = {
        "artifacts": {"model": "m"},
        "state": {"length": np.int64(3)},
        "settings": {"eta": np.float32(0.1)},
        "choice": {"token_id": 4, "p": math.inf},
        "commit": {"status": "committed", "digest": b"\xff"},
        "ids": {"request_id": "r", "calls": [1, "x"]},
        "context": {"batch": 8},
        "note": ["anything", None, "\ud800"],
    }
    payload = record_one(**sections)
    assert list(payload) == ["trace", *sections, "end"]
    assert payload["state"] == {"length": 3}
    assert payload["settings"] == {"eta": 0.1}
    assert payload["choice"] == {"token_id": 4, "p": "Infinity"}
    assert payload["commit"] == {"status": "committed", "digest": {"b64": "/w=="}}
    assert payload["note"] == ["anything", None, {"b64": "7aCA"}]


def test_private_keys() -> None:
    """Keys that start with x- are kept; others are refused by name."""
    assert record_one(private={"x-mine": {"a": (1,)}})["x-mine"] == {"a": [1]}
    with pytest.raises(UsageError, match="private keys start with x-, 'mine' does not"):
        record_one(private={"mine": 1})
    with pytest.raises(UsageError, match="'note' does not"):
        record_one(note="a", private={"note": "b"})


def test_a_misspelt_section_is_impossible() -> None:
    """Python itself refuses a section that does not exist."""
    with pytest.raises(TypeError, match="unexpected keyword argument 'output'"):
        record_one(output={"x": [1]})


def test_tensors() -> None:
    """Arrays, lists, scalars, and raw bits with their element type are summarised by name."""
    payload = record_one(
        inputs={"list": [[1.0, 2.0], [3.0, 4.0]]},
        outputs={
            "scalar": np.float32(4.2),
            "placed": Tensor(np.zeros((1, 2), np.float16), {"layer": np.int32(3)}),
            # 0x3FC0 is 1.5 in bfloat16: sign 0, exponent 127, fraction 1/2.
            "raw": Tensor(np.array([0x3FC0], np.uint16), dtype="bfloat16"),
        },
    )
    found = [*payload["inputs"], *payload["outputs"]]
    assert [(r["name"], r["dtype"], r["shape"], r["logical"], r["values"]) for r in found] == [
        ("list", "float64", [2, 2], {}, [1.0, 2.0, 3.0, 4.0]),
        ("scalar", "float32", [], {}, [4.2]),
        ("placed", "float16", [1, 2], {"layer": 3}, [0.0, 0.0]),
        ("raw", "bfloat16", [1], {}, [1.5]),
    ]


@pytest.mark.parametrize(
    ("level", "header", "keys"),
    [
        ("digest", "digest", set()),
        ("sketch", "sketch", {"sketch"}),
        ("values", "values", {"values"}),
        ("values=99", "values=99", {"sketch"}),
        ("full", "full", {"sketch", "file"}),
    ],
)
def test_levels(level: str, header: str, keys: set[str]) -> None:
    """The level decides what is kept of a tensor, and stands in the header."""
    trace = record(
        lambda r: r.event("a", "b", outputs={"x": np.arange(100, dtype=np.int32)}), tensors=level
    )
    (found,) = trace.events[0].payload["outputs"]
    assert trace.header["tensors"] == header
    assert keys == set(found) - {"name", "dtype", "shape", "logical", "digest", "stats"}


def test_records_are_snapshots() -> None:
    """Changing arrays, lists and mappings afterwards does not alter what was recorded."""
    array, ids, logical = np.zeros(3, np.float32), [1, 2], {"layer": 0}
    state: dict[str, Any] = {"ids": ids}

    def use(recorder: Recorder) -> None:
        for n in range(2):
            recorder.event("a", "b", state=state, outputs={"x": Tensor(array, logical)})
            array[:], logical["layer"], state["more"] = n + 7, 9, n
            ids.append(3)

    trace = record(use, tensors="full")
    first, second = (event.payload for event in trace.events)
    assert first["state"] == {"ids": [1, 2]}
    assert second["state"] == {"ids": [1, 2, 3], "more": 0}
    kept = [payload["outputs"][0] for payload in (first, second)]
    assert [(record["logical"], record["values"]) for record in kept] == [
        ({"layer": 0}, [0.0, 0.0, 0.0]),
        ({"layer": 9}, [7.0, 7.0, 7.0]),
    ]
    assert trace.tensors is not None
    for found, value in zip(kept, (0, 7), strict=True):
        stored = trace.tensors.load(tensor_from_json(found))
        np.testing.assert_array_equal(stored, np.full(3, value, np.float32))


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        pytest.param(
            {"state": {"a": [1, object()]}}, r"state\.a\[1\]: cannot record a object", id="value"
        ),
        pytest.param({"choice": {1: 2}}, "choice: the key 1 is no string", id="key"),
        pytest.param({"note": {1}}, "note: cannot record a set", id="note"),
        pytest.param({"private": {"x-a": 1j}}, "x-a: cannot record a complex", id="private"),
        pytest.param({"outputs": {"t": object()}}, "tensor t: .*dtype object", id="tensor"),
        pytest.param(
            {"inputs": {"t": ["a"]}}, "tensor t: a tensor of dtype str", id="tensor-of-text"
        ),
        pytest.param(
            {"outputs": {"t": Tensor([1], {"at": {1}})}},
            r"outputs\[t\]\.logical\.at: cannot record a set",
            id="logical",
        ),
        pytest.param({"state": [1]}, "payload.state: expected an object", id="shape"),
        pytest.param({"lane": {}}, "payload.lane: expected an object with", id="empty-lane"),
        pytest.param({"artifacts": {"model": 3}}, "payload.artifacts.model", id="artifact"),
        pytest.param({"ids": {"a": 1.5}}, "payload.ids.a: expected", id="id"),
        pytest.param({"outputs": {"": [1]}}, r"payload.outputs\[0\].name", id="nameless-tensor"),
        pytest.param(
            {"rng": [Draw("g", "a", 0, 1, -1)]}, r"payload.rng\[0\].draws.count", id="draw"
        ),
    ],
)
def test_what_cannot_be_recorded(sections: dict[str, Any], message: str) -> None:
    """A value that a trace cannot hold is refused by field, and nothing of it is recorded."""

    def use(recorder: Recorder) -> None:
        recorder.event("a", "before")
        with pytest.raises(UsageError, match=message):
            recorder.event("a", "refused", **sections)
        recorder.event("a", "after")

    found = [(event.event_id, event.event_type) for event in record(use).events]
    assert found == [("e00", "before"), ("e01", "after")]


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        pytest.param({"outputs": [1.0]}, r"outputs= takes a mapping.*not a list", id="list"),
        pytest.param({"outputs": np.ones(2)}, r"outputs= takes.*not a ndarray", id="array"),
        pytest.param({"inputs": Tensor([1.0])}, r"inputs= takes.*not a Tensor", id="tensor"),
        pytest.param(
            {"rng": [{"count": 1}]}, r"rng\[0\] is a dict; expected a tracediff\.Draw", id="dict"
        ),
        pytest.param(
            {"rng": Draw("g", "a", 0, 1, 4)}, r"rng= takes a list of.*not a Draw", id="lone-draw"
        ),
    ],
)
def test_arguments_of_a_wrong_kind(sections: dict[str, Any], message: str) -> None:
    """An argument of another kind is refused by name, with what is expected."""
    sink = MemorySink()
    with Recorder(sink) as recorder:
        recorder.event("loop", "before")
        with pytest.raises(UsageError, match=message):
            recorder.event("loop", "step", **sections)


def test_unknown_header_key_is_refused() -> None:
    """A header that the format does not know is refused with the first event."""
    with pytest.raises(UsageError, match=r"payload\.trace\.colour: unknown key"):
        record(lambda recorder: recorder.event("a", "b"), header={"colour": "red"})


WRONG_PLACES = {
    "unknown-parent": ({"parent": "e07"}, "no event 'e07' was recorded before"),
    "own-id-as-parent": ({"parent": "e01"}, "no event 'e01' was recorded before"),
    "other-spelling": ({"parent": "e0"}, "no event 'e0' was recorded before"),
    "unknown-join": ({"joins": ["x"]}, "no event 'x' was recorded before"),
    "negative-step": ({"logical_step": -1}, "logical_step: expected an integer of at least 0"),
    "step-is-text": ({"logical_step": "1"}, "logical_step"),
    "step-is-a-fraction": ({"logical_step": 1.5}, "logical_step"),
}


@pytest.mark.parametrize("case", WRONG_PLACES)
def test_wrong_places(case: str) -> None:
    """What no trace can hold is refused when it is said, and the recording goes on."""
    arguments, message = WRONG_PLACES[case]

    def use(recorder: Recorder) -> None:
        recorder.event("a", "b")
        with pytest.raises(UsageError, match=message):
            recorder.event("a", "b", **arguments)
        recorder.event("a", "b", logical_step=np.int64(2))

    assert [event.logical_step for event in record(use).events] == [0, 2]


@pytest.mark.parametrize(("component", "event_type"), [("", "b"), ("a", ""), (None, "b"), ("a", 7)])
def test_wrong_names(component: Any, event_type: Any) -> None:
    """Component and type are non-empty strings."""

    def use(recorder: Recorder) -> None:
        recorder.event("a", "b")
        with pytest.raises(UsageError, match="expected a non-empty string"):
            recorder.event(component, event_type)

    assert len(record(use).events) == 1


def test_cycles_and_ragged_lists() -> None:
    """A list that contains itself and a list that is no array are refused by name."""
    endless: list[Any] = []
    endless.append(endless)

    def use(recorder: Recorder) -> None:
        with pytest.raises(UsageError, match="nested more than 60 levels deep"):
            recorder.event("a", "b", state={"x": endless})
        with pytest.raises(UsageError, match="cannot record tensor x"):
            recorder.event("a", "b", outputs={"x": [[1.0], [1.0, 2.0]]})
        recorder.event("a", "b")

    assert len(record(use).events) == 1
