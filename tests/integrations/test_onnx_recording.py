"""Recording ONNX Runtime: the graph, odd values, and what is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="needs the extra onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs the extra onnx")

from onnx import helper  # noqa: E402
from onnx_models import (  # noqa: E402
    LEVELS,
    WIDTH,
    block,
    branch,
    half_precision,
    linear,
    model_of,
    nodes_of,
    odd_values,
    options,
    run,
    x_in,
)

from tracediff import Recorder  # noqa: E402
from tracediff.comparison import diff_files  # noqa: E402
from tracediff.contracts.check import check_trace  # noqa: E402
from tracediff.diff import Outcome  # noqa: E402
from tracediff.errors import StorageError, UsageError  # noqa: E402
from tracediff.integrations import onnx_graph  # noqa: E402
from tracediff.integrations.onnx_session import record_session  # noqa: E402
from tracediff.storage import read_trace  # noqa: E402

pytestmark = [
    pytest.mark.onnx,
    pytest.mark.filterwarnings("ignore"),  # of other packages
]


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("golden") / "golden.jsonl", block())


def test_a_node_follows_all_that_it_reads_from(golden: Path) -> None:
    """The first node read from is the parent, the others are joins; the rules of traces hold."""
    events = {event.component: event for event in nodes_of(golden)}
    product, total = events["product_low"], events["sum"]
    assert product.parent_event_id == events["active_low"].event_id
    assert product.payload["joins"] == [events["W2_low"].event_id]
    assert total.parent_event_id == events["down"].event_id
    assert check_trace(read_trace(golden)).violations == ()


def test_options_and_model_stay_as_they_are(tmp_path: Path) -> None:
    """Recording changes neither the caller's options nor the model."""
    chosen, model = options("ENABLE_BASIC"), block()
    before = model.SerializeToString(deterministic=True)
    record_session(model, x_in(), tmp_path / "a.jsonl", session_options=chosen)
    assert chosen.graph_optimization_level == LEVELS.ORT_ENABLE_BASIC
    assert chosen.optimized_model_filepath == ""
    assert model.SerializeToString(deterministic=True) == before


def test_control_flow_is_one_event(tmp_path: Path) -> None:
    """An If follows its condition and what its graphs read; their initializers are identified."""
    path = run(tmp_path / "a.jsonl", branch())
    events = {event.component: event for event in nodes_of(path)}
    chosen = events["chosen"]
    assert chosen.parent_event_id == events["condition"].event_id
    assert chosen.payload["joins"] == [events["up"].event_id]
    artifacts = read_trace(path).root.payload["artifacts"]
    assert {"chosen.then_branch.inner", "chosen.else_branch.inner"} <= artifacts.keys()


def test_values_that_are_no_plain_tensors(tmp_path: Path) -> None:
    """Sequences are recorded by their parts, strings as a discrete result, bfloat16 as itself."""
    path = run(tmp_path / "a.jsonl", odd_values())
    artifacts = read_trace(path).root.payload["artifacts"]
    assert [artifacts[n].split()[0] for n in ("words", "scale")] == ["string[2]", "float32[]"]
    events = {e.component: e.payload for e in nodes_of(path)}
    assert [one["name"] for one in events["parts"]["outputs"]] == [
        "parts[0]",
        "parts[1]",
        "parts[2]",
    ]
    (spelled,) = events["spelled"]["choice"].values()
    expected = np.where(x_in()["x"] > 0, "1", "0")
    assert spelled == expected.tolist()
    assert events["low"]["outputs"][0]["dtype"] == "bfloat16"
    assert events["positive"]["outputs"][0]["dtype"] == "bool"
    assert events["maybe"]["outputs"][0]["shape"] == [2, 3, WIDTH]


REFUSED: dict[str, tuple[Callable[[Path], Any], type[Exception], str]] = {
    "no-file": (lambda path: path / "none.onnx", StorageError, "cannot read"),
    "no-model": (lambda path: b"not a model", UsageError, "no ONNX model"),
    "no-such-operator": (
        lambda path: model_of([helper.make_node("Nope", ["x"], ["y"])], {}, ["y"]),
        *(UsageError, "ONNX Runtime cannot load"),
    ),
    "other-input": (
        lambda path: model_of([helper.make_node("Relu", ["z"], ["y"])], {}, ["y"]),
        *(UsageError, "ONNX Runtime cannot load"),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_run_is_refused(case: str, tmp_path: Path) -> None:
    """What is no model, or none that ONNX Runtime takes, is one clear error and leaves no trace."""
    make, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        run(tmp_path / "a.jsonl", make(tmp_path))
    assert list(tmp_path.glob("*.jsonl*")) == []


def test_wrong_inputs_are_named(tmp_path: Path) -> None:
    """An input that is missing, and one that the model does not have."""
    with pytest.raises(UsageError, match="lack x; the model takes x"):
        record_session(block(), {}, tmp_path / "a.jsonl")
    with pytest.raises(UsageError, match="have no use for y"):
        record_session(block(), {**x_in(), "y": np.float32(0)}, tmp_path / "a.jsonl")
    with pytest.raises(UsageError, match="ONNX Runtime cannot run"):
        record_session(
            block(), {"x": np.zeros((2, 3, WIDTH + 1), np.float32)}, tmp_path / "a.jsonl"
        )
    with pytest.raises(UsageError, match="include 'nothing\\*' fits no value"):
        record_session(block(), x_in(), tmp_path / "a.jsonl", include="nothing*")


def test_external_weights_count_as_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Path
) -> None:
    """Weights in a file of their own are read; models too large for one piece are refused."""
    path = tmp_path / "model.onnx"
    onnx.save(block(), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    found = diff_files(golden, run(tmp_path / "a.jsonl", path))
    assert found.outcome is Outcome.EQUAL
    monkeypatch.setattr(onnx_graph, "LARGEST_MODEL", 3000)
    with pytest.raises(UsageError, match="larger ones in parts"):
        run(tmp_path / "b.jsonl", path)


PLAIN = {
    "float32": (block, "probabilities"),
    "float16": (half_precision, "result"),
    "fused": (linear, "active"),
}


@pytest.mark.parametrize("level", ["DISABLE_ALL", "ENABLE_BASIC", "ENABLE_ALL"])
@pytest.mark.parametrize("case", PLAIN)
def test_recording_does_not_change_the_result(case: str, level: str, tmp_path: Path) -> None:
    """At every level the outputs are those of a plain session, to the bit."""
    build, name = PLAIN[case]
    model = build()
    session = onnxruntime.InferenceSession(model.SerializeToString(), options(level))
    expected = session.run([name], x_in())[0]
    path = tmp_path / "a.jsonl"
    found = record_session(model, x_in(), path, session_options=options(level))
    assert found[name].tobytes() == expected.tobytes()
    (record,) = nodes_of(path)[-1].payload["outputs"]
    assert record["name"] == f"output.{name}"


def test_a_recorder_of_the_callers_own(tmp_path: Path) -> None:
    """Several runs can stand in one trace, which the caller closes."""
    path = tmp_path / "a.jsonl"
    with Recorder(path, tensors="digest") as recorder:
        for _ in range(2):
            record_session(block(), x_in(), recorder, session_options=options())
    assert len([e for e in nodes_of(path) if e.component == "probabilities"]) == 2


EXAMPLE = """\
import numpy as np

from tracediff.integrations.onnx_session import record_session

x = np.random.default_rng(0).normal(size=(2, 3, 16)).astype(np.float32)
outputs = record_session("model.onnx", {"x": x}, "before.jsonl")
"""
"""The example of the documentation; `model.onnx` is any model."""


def test_documented_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example writes a trace of every node, and gives the outputs."""
    monkeypatch.chdir(tmp_path)
    onnx.save(block(), "model.onnx")
    names: dict[str, Any] = {}
    assert EXAMPLE in (Path(__file__).parents[2] / "docs" / "onnx.md").read_text("utf-8")
    exec(compile(EXAMPLE, "example", "exec"), names)
    assert list(names["outputs"]) == ["probabilities"]
    assert check_trace(read_trace(tmp_path / "before.jsonl")).violations == ()
