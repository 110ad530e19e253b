"""Small ONNX models for tests, and recordings of them.

Imported by tests that have made sure that onnx and onnxruntime are there.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from tracediff.events import Event
from tracediff.integrations.onnx_session import record_session
from tracediff.storage import read_trace

WIDTH, HIDDEN = 16, 32
LEVELS = onnxruntime.GraphOptimizationLevel
Model = Any


def options(level: str = "DISABLE_ALL", threads: int = 1) -> Any:
    found = onnxruntime.SessionOptions()
    found.graph_optimization_level = getattr(LEVELS, f"ORT_{level}")
    found.intra_op_num_threads = threads
    return found


def weights() -> dict[str, Any]:
    source = np.random.default_rng(5)
    shapes = {"W1": (WIDTH, HIDDEN), "B1": (HIDDEN,), "W2": (HIDDEN, WIDTH), "B2": (WIDTH,)}
    return {n: source.normal(0, 0.3, shape).astype(np.float32) for n, shape in shapes.items()}


def x_in() -> dict[str, Any]:
    return {"x": np.random.default_rng(6).normal(size=(2, 3, WIDTH)).astype(np.float32)}


def block(
    opset: int = 13, changed: dict[str, Any] | None = None, low: int = TensorProto.FLOAT
) -> Model:
    """Return softmax(x + W2 relu(W1 x + B1) + B2), the second product computed in the type `low`.

    Without an `axis`, the Softmax of opset 12 is over all but the first axis, that of opset 13
    over the last.
    """
    nodes = [
        helper.make_node("MatMul", ["x", "W1"], ["product_1"]),
        helper.make_node("Add", ["product_1", "B1"], ["up"]),
        helper.make_node("Relu", ["up"], ["active"]),
        helper.make_node("Cast", ["active"], ["active_low"], to=low),
        helper.make_node("Cast", ["W2"], ["W2_low"], to=low),
        helper.make_node("MatMul", ["active_low", "W2_low"], ["product_low"]),
        helper.make_node("Cast", ["product_low"], ["product_2"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["product_2", "B2"], ["down"]),
        helper.make_node("Add", ["x", "down"], ["sum"]),
        helper.make_node("Softmax", ["sum"], ["probabilities"]),
    ]
    return model_of(nodes, {**weights(), **(changed or {})}, ["probabilities"], opset)


def model_of(
    nodes: Sequence[Any],
    initializers: dict[str, Any],
    outputs: Sequence[str],
    opset: int = 17,
    extra: Sequence[Any] = (),
) -> Model:
    shape = ["batch", "length", WIDTH]
    graph = helper.make_graph(
        nodes,
        "block",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in initializers.items()],
    )
    opsets = [helper.make_opsetid("", opset), *extra]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def run(path: Path, model: Model, level: str = "DISABLE_ALL", **how: Any) -> Path:
    chosen = options(level, how.pop("threads", 1))
    record_session(model, x_in(), path, session_options=chosen, **how)
    return path


def nodes_of(path: Path) -> list[Event]:
    return [event for event in read_trace(path).events if event.event_type == "node.computed"]


def linear() -> Model:
    """Return relu(W1 x + B1) for x of two axes, which is one node when optimised."""
    nodes = [
        helper.make_node("Reshape", ["x", "flat"], ["rows"]),
        helper.make_node("MatMul", ["rows", "W1"], ["product"]),
        helper.make_node("Add", ["product", "B1"], ["up"]),
        helper.make_node("Relu", ["up"], ["active"]),
    ]
    shape = {"flat": np.array([-1, WIDTH], np.int64)}
    return model_of(nodes, {**weights(), **shape}, ["active"])


def branch() -> Model:
    """Return a model whose If reads a value and an initializer from inside of its graphs."""
    graphs = {
        f"{name}_branch": helper.make_graph(
            [helper.make_node(op, ["up", "inner"], ["chosen_inside"])],
            name,
            [],
            [onnx.ValueInfoProto(name="chosen_inside")],
            [numpy_helper.from_array(np.float32([2.0]), "inner")],
        )
        for name, op in (("then", "Add"), ("else", "Mul"))
    }
    nodes = [
        helper.make_node("MatMul", ["x", "W1"], ["up"]),
        helper.make_node("ReduceSum", ["x"], ["total"], keepdims=0),
        helper.make_node("Greater", ["total", "zero"], ["condition"]),
        helper.make_node("If", ["condition"], ["chosen"], **graphs),
    ]
    return model_of(nodes, {**weights(), "zero": np.float32(0)}, ["chosen"])


def odd_values() -> Model:
    nodes = [
        helper.make_node("SplitToSequence", ["x"], ["parts"], axis=1, keepdims=1),
        helper.make_node("Cast", ["x"], ["low"], to=TensorProto.BFLOAT16),
        helper.make_node("Cast", ["low"], ["high"], to=TensorProto.FLOAT),
        helper.make_node("Constant", [], ["words"], value_strings=["a", "ü"]),
        helper.make_node("Constant", [], ["scale"], value_float=2.0),
        helper.make_node("Optional", ["x"], ["maybe"]),
        helper.make_node("Greater", ["x", "zero"], ["positive"]),
        helper.make_node("Cast", ["positive"], ["spelled"], to=TensorProto.STRING),
    ]
    return model_of(nodes, {"zero": np.float32(0)}, ["parts", "spelled", "high", "positive"])


def half_precision() -> Model:
    """Return a model with a product in float16, which the CPU computes between casts."""
    nodes = [
        helper.make_node("Cast", ["x"], ["x_low"], to=TensorProto.FLOAT16),
        helper.make_node("MatMul", ["x_low", "W_low"], ["product"]),
        helper.make_node("Softmax", ["product"], ["shares"]),
        helper.make_node("Cast", ["shares"], ["result"], to=TensorProto.FLOAT),
    ]
    return model_of(nodes, {"W_low": weights()["W1"].astype(np.float16)}, ["result"])


def mapped(score: float = 0.5) -> Model:
    """Return a model whose ZipMap gives `score` times x by class, one map a row."""
    nodes = [
        helper.make_node("Mul", ["x", "score"], ["scores"]),
        helper.make_node("Reshape", ["scores", "flat"], ["rows"]),
        helper.make_node(
            *("ZipMap", ["rows"], ["classes"]),
            domain="ai.onnx.ml",
            classlabels_int64s=list(range(WIDTH, 0, -1)),
        ),
    ]
    initializers = {"score": np.float32(score), "flat": np.array([-1, WIDTH], np.int64)}
    extra = [helper.make_opsetid("ai.onnx.ml", 3)]
    model = model_of(nodes, initializers, [], 17, extra)
    floats = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
    rows = helper.make_sequence_type_proto(helper.make_map_type_proto(TensorProto.INT64, floats))
    model.graph.output.append(helper.make_value_info("classes", rows))
    return model


def unnamed_parts() -> Model:
    """Return a model in which an optional output and an optional input are left out."""
    nodes = [
        helper.make_node("LSTM", ["x", "W", "R"], ["", "hidden", "cell"], hidden_size=3),
        helper.make_node("Clip", ["x", "", "highest"], ["clipped"]),
    ]
    initializers = {
        "W": np.ones((1, 12, WIDTH), np.float32),
        "R": np.ones((1, 12, 3), np.float32),
        "highest": np.float32(1),
    }
    return model_of(nodes, initializers, ["clipped", "hidden"])


def narrow(kind: int) -> Model:
    """Return a model that goes through a type of few bits."""
    zero = helper.make_tensor("zero", kind, [], [0])
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["low"]),
        helper.make_node("DequantizeLinear", ["low", "scale"], ["y"]),
    ]
    model = model_of(nodes, {"scale": np.float32(0.1)}, ["y"], 21)
    model.graph.initializer.append(zero)
    model.ir_version = 10
    return model


def reading(kind: Any, operator: str = "Identity", **attributes: Any) -> Model:
    """Return a model that reads an input `x` of a type and gives it as `y`."""
    names = ["x", "at"] if operator == "SequenceAt" else ["x"]
    node = helper.make_node(operator, names, ["y"], **attributes)
    model = model_of([node], {"at": np.int64(0)}, ["y"])
    model.graph.input[0].CopyFrom(helper.make_value_info("x", kind))
    return model


def drawn() -> Model:
    """Return a model that draws, with a value that numpy lacks and one that is no tensor."""
    nodes = [
        helper.make_node("RandomNormalLike", ["x"], ["noise"]),
        helper.make_node("Cast", ["noise"], ["low"], to=TensorProto.BFLOAT16),
        helper.make_node("Cast", ["low"], ["y"], to=TensorProto.FLOAT),
        helper.make_node("SplitToSequence", ["noise"], ["parts"], axis=1, keepdims=1),
    ]
    return model_of(nodes, {}, ["y"])
