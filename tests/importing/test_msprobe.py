"""msprobe dumps as traces.

The dumps have the form that mindstudio-probe 26.2.0 writes for torch 2.13 (`task` statistics,
level mix, `summary_mode` statistics, md5 and xor), with other numbers.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tracediff.diff import Outcome, TraceDiff, diff_traces
from tracediff.errors import UsageError
from tracediff.events import Trace
from tracediff.importing.msprobe import import_msprobe
from tracediff.storage import read_trace

STATISTICS = {"Max": 2.5, "Min": -1.5, "Mean": 0.25, "Norm": 4.0}


def tensor(*shape: int, dtype: str = "torch.float32", **entries: Any) -> dict[str, Any]:
    return {"type": "torch.Tensor", "dtype": dtype, "shape": list(shape), **entries}


def dump(output: dict[str, Any], weight: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return a dump of a function and the module that calls it, and of the module's gradients."""
    own = weight or tensor(2, 3, **STATISTICS)
    return {
        "task": "statistics",
        "level": "mix",
        "framework": "pytorch",
        "dump_data_dir": None,
        "data": {
            "Functional.linear.0.forward": {
                "input_args": [tensor(4, 3, **STATISTICS), own, {"type": "int", "value": 1}],
                "input_kwargs": {"bias": None},
                "output": [output],
            },
            "Module.fc1.Linear.forward.0": {
                "input_args": [[tensor(4, 3, **STATISTICS)]],
                "input_kwargs": {},
                "output": [output],
                "parameters": {"weight": own},
            },
            "Module.fc1.Linear.parameters_grad": {"weight": [tensor(2, 3, **STATISTICS)]},
        },
    }


def imported(content: Any, folder: Path, name: str = "dump") -> Trace:
    source = folder / f"{name}.json"
    source.write_text(content if isinstance(content, str) else json.dumps(content))
    import_msprobe(source, folder / f"{name}.jsonl")
    return read_trace(folder / f"{name}.jsonl")


def compared(left: Any, right: Any, folder: Path) -> TraceDiff:
    return diff_traces(imported(left, folder, "left"), imported(right, folder, "right"))


def test_calls_become_events(tmp_path: Path) -> None:
    """Each entry is an event: parameters first among what it read, plain arguments as state."""
    trace = imported(dump(tensor(4, 2, **STATISTICS)), tmp_path)
    calls = [(event.component, event.event_type, event.logical_step) for event in trace.events[1:]]
    assert calls == [
        ("Functional", "linear.forward", 0),
        ("Module", "fc1.Linear.forward", 0),
        ("Module", "fc1.Linear.parameters_grad", 0),
    ]
    function, module, gradients = (event.payload for event in trace.events[1:])
    assert function["state"] == {"input_args.2": 1, "input_kwargs.bias": None}
    assert [record["name"] for record in module["inputs"]] == [
        "Module.fc1.Linear.forward.parameters.weight",
        "Module.fc1.Linear.forward.input_args.0.0",
    ]
    assert [record["name"] for record in gradients["outputs"]] == [
        "Module.fc1.Linear.parameters_grad.weight.0"
    ]
    (output,) = function["outputs"]
    assert (output["dtype"], output["shape"], output["digest"]) == ("float32", [4, 2], "~none")
    assert output["stats"] == {"finite": 8, "min": -1.5, "max": 2.5, "mean": 0.25, "l2": 4.0}


@pytest.mark.parametrize(
    ("left", "right", "outcome", "evidence"),
    [
        pytest.param({"md5": "9cddbca9"}, {"md5": "9cddbca9"}, "none", "none", id="checksum-equal"),
        pytest.param(
            {"md5": "9cddbca9"}, {"md5": "29efe362"}, "none", "none", id="checksum-unequal"
        ),
        pytest.param({"md5": "0" * 32}, {"md5": "0" * 32}, None, "digest", id="md5-equal"),
        pytest.param(
            {"md5": "0x793d5e377e6e6ee7"}, {"md5": "0x793d5e377e6e6ee7"}, "none", "none", id="xor"
        ),
        pytest.param(STATISTICS, STATISTICS, "none", "none", id="statistics-equal"),
        pytest.param(
            STATISTICS, {**STATISTICS, "Max": 2.6}, "maxima", "statistics", id="statistics-unequal"
        ),
        pytest.param(
            STATISTICS, {**STATISTICS, "Max": float("nan")}, "NaN", "statistics", id="nan-appears"
        ),
        pytest.param({}, {}, "none", "none", id="shape-only"),
    ],
)
def test_what_a_dump_decides(
    left: dict[str, Any],
    right: dict[str, Any],
    outcome: str | None,
    evidence: str,
    tmp_path: Path,
) -> None:
    """An MD5 proves equality, statistics show differences, nothing else is decided."""
    dumps = [
        {"data": {"Module.a.Linear.forward.0": {"output": [tensor(2, **side)]}}}
        for side in (left, right)
    ]
    found = compared(*dumps, tmp_path)
    assert found.outcome is (Outcome.DIVERGED if outcome else Outcome.EQUAL)
    assert set(found.coverage.tensors) == {evidence}
    if outcome not in (None, "none"):
        assert found.first is not None
        assert found.first.tensor is not None
        assert outcome in found.first.tensor.reason


@pytest.mark.parametrize(
    ("left", "right", "field"),
    [
        pytest.param([[]], [[], []], "payload.state.input_args.1", id="another-empty-list"),
        pytest.param([{}], [[]], "payload.state.input_args.0", id="an-object-for-a-list"),
        pytest.param([1, []], [1], "payload.state.input_args.1", id="an-empty-list-less"),
        pytest.param(
            [{"type": "dict", "value": {"h": tensor(2)}}],
            [{"type": "dict", "value": {"h": tensor(2)}}],
            "payload.inputs[Module.a.forward.input_args.0.value.h]",
            id="a-tensor-in-a-typed-object",
        ),
    ],
)
def test_arguments_that_must_not_vanish(left: Any, right: Any, field: str, tmp_path: Path) -> None:
    """Empty lists are arguments, and a tensor within an object is one."""
    found = compared(entry({"input_args": left}), entry({"input_args": right}), tmp_path)
    assert found.first is not None
    assert found.first.difference.field == field


def test_a_changed_weight_is_named_first(tmp_path: Path) -> None:
    """Of a call whose weight and output both differ, the weight is reported."""
    changed = dump(
        tensor(4, 2, **{**STATISTICS, "Norm": 5.0}), tensor(2, 3, **{**STATISTICS, "Max": 3.0})
    )
    data = changed["data"]
    del data["Functional.linear.0.forward"]
    original = dump(tensor(4, 2, **STATISTICS))
    del original["data"]["Functional.linear.0.forward"]
    found = compared(original, changed, tmp_path)
    assert found.first is not None
    assert found.first.difference.field.endswith("parameters.weight]")


@pytest.mark.parametrize(
    ("leaf", "stats"),
    [
        pytest.param(
            tensor(3, Max=float("inf"), Min=float("-inf"), Mean=float("nan"), Norm=float("inf")),
            {"finite": 2, "nan": 1},
            id="nan-hides-infinities",
        ),
        pytest.param(
            tensor(3, Max=float("inf"), Min=0.5, Mean=float("inf"), Norm=float("inf")),
            {"finite": 2, "pos_inf": 1, "min": 0.5},
            id="infinity",
        ),
        pytest.param(
            tensor(2, dtype="torch.bool", Max=True, Min=False, Mean=None, Norm=None),
            {"finite": 2, "min": 0, "max": 1},
            id="booleans",
        ),
        pytest.param(
            tensor(2, dtype="torch.complex64", Max=2.0, Min=1.0), {"finite": 4}, id="complex"
        ),
        pytest.param(tensor(0, 3), {"finite": 0}, id="empty"),
    ],
)
def test_statistics(leaf: dict[str, Any], stats: dict[str, Any], tmp_path: Path) -> None:
    """Counts are the least that the statistics imply; what is not finite is left out."""
    trace = imported({"data": {"Module.a.forward.0": {"output": [leaf]}}}, tmp_path)
    assert trace.events[1].payload["outputs"][0]["stats"] == stats


def test_mindspore(tmp_path: Path) -> None:
    """Cells and their element types read as modules do."""
    leaf = {"type": "mindspore.Tensor", "dtype": "BFloat16", "shape": [2], **STATISTICS}
    trace = imported({"data": {"Cell.conv.Conv2d.forward.3": {"output": [leaf]}}}, tmp_path)
    event = trace.events[1]
    assert (event.component, event.event_type, event.logical_step) == (
        "Cell",
        "conv.Conv2d.forward",
        3,
    )
    assert event.payload["outputs"][0]["dtype"] == "bfloat16"


def entry(found: Any) -> dict[str, Any]:
    return {"data": {"Module.a.forward.0": found}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("{", "is no JSON document", id="no-json"),
        pytest.param("[" * 100_000, "is no JSON document", id="depth-bomb"),
        pytest.param('{"data": {}, "data": {}}', "'data' occurs twice", id="a-key-twice"),
        pytest.param([], "is no dump of msprobe", id="a-list"),
        pytest.param({"data": {}}, "holds no call", id="empty"),
        pytest.param(entry([]), "entry 'Module.a.forward.0': expected an object", id="no-entry"),
        pytest.param(
            entry({"output": [tensor(-1)]}), "output.0: [-1] is no shape", id="negative-extent"
        ),
        pytest.param(
            entry({"output": [tensor(1 << 40, 1 << 40)]}), "more than 2^63", id="gigantic-shape"
        ),
        pytest.param(
            entry({"output": [{"dtype": 1, "shape": []}]}), "dtype is no text", id="no-dtype"
        ),
        pytest.param(
            entry({"output": [tensor(1, Max="x")]}), "Max is 'x', no number", id="no-number"
        ),
        pytest.param(
            entry({"output": [tensor(1, dtype="torch.int64", Max=10**400)]}),
            "output.0: Max is a whole number beyond 64 bits",
            id="a-number-of-400-digits",
        ),
        pytest.param(
            entry({"output": [tensor(1, dtype="torch.int64", Min=-(1 << 63) - 1)]}),
            "output.0: Min is a whole number beyond 64 bits",
            id="a-number-just-beyond-64-bits",
        ),
        pytest.param(
            entry({"input_kwargs": {"x.y": tensor(1), "x": {"y": tensor(1)}}}),
            "two values are both called 'input_kwargs.x.y'",
            id="two-tensors-of-one-path",
        ),
        pytest.param(
            entry({"input_kwargs": {"x.y": 1, "x": {"y": 2}}}),
            "two values are both called 'input_kwargs.x.y'",
            id="two-arguments-of-one-path",
        ),
        pytest.param(
            entry({"input_kwargs": {"x.y": 1, "x": {"y": tensor(1)}}}),
            "two values are both called 'input_kwargs.x.y'",
            id="an-argument-and-a-tensor-of-one-path",
        ),
    ],
)
def test_what_is_no_dump(content: Any, message: str, tmp_path: Path) -> None:
    """The error names file and entry, and no trace is left."""
    with pytest.raises(UsageError) as caught:
        imported(content, tmp_path)
    assert message in str(caught.value)
    assert "dump.json" in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["dump.json"]
