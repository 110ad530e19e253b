"""Values of ONNX Runtime that are no plain tensors: as inputs, as results, as initializers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="needs the extra onnx")
ml_dtypes = pytest.importorskip("ml_dtypes", reason="needs ml_dtypes, which comes with onnx")
pytest.importorskip("onnxruntime", reason="needs the extra onnx")

from onnx import TensorProto, helper  # noqa: E402
from onnx_models import (  # noqa: E402
    WIDTH,
    drawn,
    mapped,
    model_of,
    narrow,
    nodes_of,
    options,
    reading,
    run,
    unnamed_parts,
    x_in,
)

from tracediff.comparison import diff_files  # noqa: E402
from tracediff.contracts.check import check_trace  # noqa: E402
from tracediff.diff import Outcome  # noqa: E402
from tracediff.errors import UsageError  # noqa: E402
from tracediff.integrations.onnx_session import record_session  # noqa: E402
from tracediff.storage import read_trace  # noqa: E402

pytestmark = [
    pytest.mark.onnx,
    pytest.mark.filterwarnings("ignore"),  # of other packages
]


@pytest.mark.parametrize(
    ("score", "outcome"),
    [
        pytest.param(0.5, Outcome.EQUAL, id="same"),
        pytest.param(0.5 * (1 + 2**-22), Outcome.WITHIN_TOLERANCE, id="rounding"),
        pytest.param(0.51, Outcome.DIVERGED, id="other"),
    ],
)
def test_numbers_of_maps_have_tolerances(score: float, outcome: Outcome, tmp_path: Path) -> None:
    """The values of maps are one tensor in the order of the keys, which are exact."""
    left = run(tmp_path / "a.jsonl", mapped(), include="classes", parameters=False)
    right = run(tmp_path / "b.jsonl", mapped(score), include="classes", parameters=False)
    (event, _) = nodes_of(left)
    (record,) = event.payload["outputs"]
    assert (record["name"], record["dtype"], record["shape"]) == (
        "classes.values",
        "float32",
        [6, WIDTH],
    )
    assert event.payload["choice"] == {"classes.keys": [str(k) for k in range(1, WIDTH + 1)]}
    given = record_session(mapped(), x_in(), tmp_path / "c.jsonl")["classes"]
    expected = x_in()["x"].reshape(-1, WIDTH)[:, ::-1] * np.float32(0.5)
    np.testing.assert_array_equal([[row[k] for k in sorted(row)] for row in given], expected)
    assert diff_files(left, right).outcome is outcome


def test_what_has_no_name_links_nothing(tmp_path: Path) -> None:
    """A left-out output and a left-out input share an empty name, and nothing else."""
    path = run(tmp_path / "a.jsonl", unnamed_parts())
    (entered,) = [e for e in read_trace(path).events if e.event_type == "module.entered"]
    events = {event.component: event for event in nodes_of(path)}
    assert events["clipped"].parent_event_id == entered.event_id
    assert events["clipped"].payload.get("joins", []) == []


STRING = helper.make_tensor_type_proto(TensorProto.STRING, None)
FLOAT = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
WORDS = ["a", "ü"]
SEQUENCE = helper.make_sequence_type_proto(FLOAT)
X = np.arange(6, dtype=np.float32).reshape(2, 3)

INPUTS: dict[str, tuple[Any, str, Any, Any]] = {
    "strings-as-objects": (STRING, "Identity", np.array(WORDS, object), WORDS),
    "strings": (STRING, "Identity", np.array(WORDS), WORDS),
    "strings-as-list": (STRING, "Identity", WORDS, WORDS),
    "big-endian": (FLOAT, "Identity", X.astype(">f4"), X),
    "not-contiguous": (FLOAT, "Identity", np.asfortranarray(X), X),
    "sequence": (SEQUENCE, "SequenceAt", [X, X[:1]], X),
    "sequence-of-big-endian": (SEQUENCE, "SequenceAt", [X.astype(">f4"), X], X),
}


@pytest.mark.parametrize("case", INPUTS)
def test_input(case: str, tmp_path: Path) -> None:
    """Whatever the model takes is handed over as it is meant, and recorded."""
    kind, operator, value, expected = INPUTS[case]
    path = tmp_path / "a.jsonl"
    found = record_session(reading(kind, operator), {"x": value}, path, session_options=options())
    np.testing.assert_array_equal(found["y"], expected)
    entered = read_trace(path).events[1].payload
    assert ("state" in entered) == case.startswith("strings")
    assert check_trace(read_trace(path)).violations == ()


WRONG_INPUTS: dict[str, tuple[Any, str]] = {
    "several-shapes": ([X, X[:1]], "the input x is no array"),
    "no-type-of-a-trace": (X.astype(ml_dtypes.int4), "an array of int4"),
    "objects": (np.array([None, X], object), "the input x is an array of objects"),
}


@pytest.mark.parametrize("case", WRONG_INPUTS)
def test_wrong_input(case: str, tmp_path: Path) -> None:
    """What is no array is one clear error."""
    value, message = WRONG_INPUTS[case]
    with pytest.raises(UsageError, match=message):
        record_session(reading(FLOAT), {"x": value}, tmp_path / "a.jsonl")


@pytest.mark.parametrize("kind", ["INT4", "UINT4", "FLOAT8E4M3FNUZ", "FLOAT8E5M2FNUZ"])
def test_unreadable_values_are_listed(kind: str, tmp_path: Path) -> None:
    """Inner values of a type that no trace holds are left out, and the trace says so."""
    path = run(tmp_path / "a.jsonl", narrow(getattr(TensorProto, kind)))
    assert read_trace(path).root.payload["settings"]["left_out"] == ["low"]
    assert [event.component for event in nodes_of(path)] == ["y", "model"]
    assert check_trace(read_trace(path)).violations == ()


def test_an_unreadable_result_is_refused(tmp_path: Path) -> None:
    """An output of the model cannot be left out."""
    model = narrow(TensorProto.INT4)
    model.graph.output.append(onnx.ValueInfoProto(name="low"))
    with pytest.raises(UsageError, match="output low of the model is a tensor\\(int4\\)"):
        run(tmp_path / "a.jsonl", model)


def test_all_is_fetched_in_one_run(tmp_path: Path) -> None:
    """What is drawn and its copy in bfloat16 are of one run; what would need two is refused."""
    path = run(tmp_path / "a.jsonl", drawn(), include=["noise", "low", "y"], tensors="full")
    trace = read_trace(path)
    held = {r["name"]: r for e in nodes_of(path) for r in e.payload["outputs"]}
    assert held["low"]["dtype"] == "bfloat16"
    bits = np.load(path.parent / "a.tensors" / held["low"]["file"]).astype(np.uint32)
    noise = np.load(path.parent / "a.tensors" / held["noise"]["file"])
    # Of a bfloat16, 8 bits are significant: rounding to nearest changes at most 2^-8 of a number.
    np.testing.assert_allclose((bits << 16).view(np.float32), noise, rtol=2.0**-8)
    assert check_trace(trace).violations == ()
    with pytest.raises(UsageError, match="would draw other random numbers"):
        run(tmp_path / "b.jsonl", drawn())


def with_int4(store: str, last: int = 7) -> Any:
    numbers = [*range(-8, 7), last]
    tensor = helper.make_tensor("w", TensorProto.INT4, [4, 4], numbers)
    if store == "raw":
        pairs = zip(numbers[::2], numbers[1::2], strict=True)  # two in a byte, the first below
        tensor.ClearField("int32_data")
        tensor.raw_data = bytes((low & 15) | (high & 15) << 4 for low, high in pairs)
    return tensor


def with_strings(*words: str, note: str = "") -> Any:
    tensor = helper.make_tensor("w", TensorProto.STRING, [len(words)], list(words))
    tensor.doc_string = note
    return tensor


INITIALIZERS: dict[str, tuple[Callable[[], Any], Callable[[], Any], bool]] = {
    "int4-stored-otherwise": (lambda: with_int4("int32"), lambda: with_int4("raw"), True),
    "int4-changed": (lambda: with_int4("raw"), lambda: with_int4("raw", 6), False),
    "strings-with-a-note": (
        lambda: with_strings("a", "b"),
        *(lambda: with_strings("a", "b", note="n"), True),
    ),
    "strings-changed": (lambda: with_strings("a", "b"), lambda: with_strings("a", "c"), False),
    "strings-cut-elsewhere": (
        lambda: with_strings("ab", "c"),
        *(lambda: with_strings("a", "bc"), False),
    ),
}


@pytest.mark.parametrize("case", INITIALIZERS)
def test_initializers_are_their_content(case: str, tmp_path: Path) -> None:
    """Where and with which note a tensor is stored makes no other artifact of it."""
    *tensors, is_same = INITIALIZERS[case]
    paths = []
    for index, make in enumerate(tensors):
        model = model_of([helper.make_node("Relu", ["x"], ["y"])], {}, ["y"], 21)
        model.graph.initializer.append(make())
        model.ir_version = 10
        paths.append(run(tmp_path / f"{index}.jsonl", model))
    found = diff_files(*paths)
    assert found.outcome is (Outcome.EQUAL if is_same else Outcome.DIVERGED)
    assert is_same or (found.cause is not None and found.cause.kind == "artifact-changed")
