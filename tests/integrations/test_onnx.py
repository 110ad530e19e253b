"""Faults in ONNX models, and changes that are none: what the comparison says of each."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="needs the extra onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs the extra onnx")

from onnx import TensorProto  # noqa: E402
from onnx_models import (  # noqa: E402
    Model,
    block,
    linear,
    nodes_of,
    options,
    run,
    weights,
    x_in,
)

from tracediff.comparison import diff_files  # noqa: E402
from tracediff.diff import Outcome  # noqa: E402
from tracediff.integrations.onnx_session import optimised_model, record_session, value_names  # noqa: E402

pytestmark = [
    pytest.mark.onnx,
    pytest.mark.filterwarnings("ignore"),  # of other packages
]


def one_element() -> dict[str, Any]:
    changed = weights()["W1"]
    changed[3, 5] += np.float32(0.01)
    return {"W1": changed}


def half(name: str) -> dict[str, Any]:
    return {name: weights()[name].astype(np.float16)}


FAULTS: dict[str, tuple[Callable[[], Model], dict[str, Any], tuple[str, ...], str | None]] = {
    "opset": (
        lambda: block(opset=12),
        {},
        ("probabilities", "outputs", "payload.outputs[probabilities]", "numeric-path"),
        "payload.settings.opset.ai.onnx",
    ),
    "one-element-of-an-initializer": (
        lambda: block(changed=one_element()),
        {},
        ("model", "artifacts", "payload.artifacts.W1", "artifact-changed"),
        None,
    ),
    "its-effect-where-initializers-are-not-recorded": (
        lambda: block(changed=one_element()),
        {"parameters": False},
        ("product_1", "outputs", "payload.outputs[product_1]", "numeric-path"),
        None,
    ),
    "type-of-an-initializer": (
        lambda: block(changed=half("W2")),
        {},
        ("model", "artifacts", "payload.artifacts.W2", "dtype"),
        None,
    ),
    "type-of-a-node": (
        lambda: block(low=TensorProto.DOUBLE),
        {},
        ("active_low", "outputs", "payload.outputs[active_low]", "dtype"),
        "payload.settings.active_low",
    ),
    "optimisation-level": (
        block,
        {"level": "ENABLE_ALL"},
        ("active_low", "structure", "event", "missing-event"),
        "payload.settings.optimisation",
    ),
}


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("golden") / "golden.jsonl", block())


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_named(fault: str, golden: Path, tmp_path: Path) -> None:
    """The first divergence of a fault is at its value, section, field and cause."""
    build, how, expected, trigger = FAULTS[fault]
    if not how.get("parameters", True):
        golden = run(tmp_path / "golden.jsonl", block(), **how)
    found = diff_files(golden, run(tmp_path / "faulty.jsonl", build(), **how))
    assert found.outcome is Outcome.DIVERGED
    first, cause = found.first, found.cause
    assert first is not None
    assert first.left is not None
    assert cause is not None
    place = first.left.component
    assert (place, first.check, first.difference.field, cause.kind) == expected
    assert trigger is None or trigger in [one.field for one in found.triggers]


HARMLESS: dict[str, tuple[Callable[[], Model], dict[str, Any]]] = {
    "again": (block, {}),
    "two-threads": (block, {"threads": 2}),
    "opset-that-means-the-same": (lambda: block(opset=14), {}),
    "another-level": (block, {"level": "ENABLE_BASIC"}),
    # The CPU has no such product, so ONNX Runtime computes it in float32 and drops the casts.
    "float16-on-the-cpu": (lambda: block(low=TensorProto.FLOAT16), {}),
}


@pytest.mark.parametrize("case", HARMLESS)
def test_harmless_change_is_no_divergence(case: str, tmp_path: Path) -> None:
    """What does not change the numbers is equal, and settings that differ are said."""
    build, how = HARMLESS[case]
    names = ["product_1", "up", "active", "sum", "probabilities"]
    left = run(tmp_path / "left.jsonl", block(), include=names)
    right = run(tmp_path / "right.jsonl", build(), include=names, **how)
    found = diff_files(left, right)
    assert found.outcome in (Outcome.EQUAL, Outcome.WITHIN_TOLERANCE)
    assert bool(found.triggers) == (case in ("opset-that-means-the-same", "another-level"))


def test_fused_graph_is_recorded_as_it_runs(tmp_path: Path) -> None:
    """Recording keeps no node from being fused, and gives what a plain session gives."""
    model = linear()
    session = onnxruntime.InferenceSession(model.SerializeToString(), options("ENABLE_ALL"))
    expected = session.run(None, x_in())[0]
    path = tmp_path / "fused.jsonl"
    given = record_session(model, x_in(), path, session_options=options("ENABLE_ALL"))
    assert given["active"].tobytes() == expected.tobytes()
    fused = optimised_model(model, session_options=options("ENABLE_ALL"))
    assert value_names(model) == ["rows", "product", "up", "active"]
    assert value_names(fused) == ["rows", "active"]
    assert [event.component for event in nodes_of(path)] == ["rows", "active", "model"]


def test_fused_against_unfused(tmp_path: Path) -> None:
    """A fused graph lacks the inner values; what both graphs have is equal within tolerance."""
    model = linear()
    paths = [
        run(tmp_path / f"{level}.jsonl", model, level) for level in ("DISABLE_ALL", "ENABLE_ALL")
    ]
    found = diff_files(*paths)
    assert found.first is not None
    assert found.first.left is not None
    assert found.first.left.component == "product"
    assert found.first.check == "structure"
    shared = value_names(optimised_model(model))
    paths = [
        run(tmp_path / f"{level}.jsonl", model, level, include=shared)
        for level in ("DISABLE_ALL", "ENABLE_ALL")
    ]
    found = diff_files(*paths)
    assert found.outcome in (Outcome.EQUAL, Outcome.WITHIN_TOLERANCE)
    assert found.coverage.matched == 5
