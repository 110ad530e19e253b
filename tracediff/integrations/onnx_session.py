"""Runs an ONNX model once in ONNX Runtime and records the output of every node.

Knows sessions and the recorder. Must not know how a graph is read (`onnx_graph`) or how parameters
are identified (`onnx_parameters`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
import onnxruntime

from tracediff.errors import UsageError
from tracediff.integrations.nested import find_leaves
from tracediff.integrations.onnx_graph import GraphNode, Model, expose, load_model, read_nodes
from tracediff.integrations.onnx_parameters import identify_initializers
from tracediff.integrations.onnx_values import fetch_values
from tracediff.recording.kernels import load_kernels
from tracediff.recording.recordable import Tensor
from tracediff.recording.recorder import Recorder

LOADED: Final = "module.loaded"
ENTERED: Final = "module.entered"
COMPUTED: Final = "node.computed"
MODEL: Final = "model"

MOST_STRINGS: Final = 1024
"""Elements up to which a tensor of strings stands in a trace."""


def record_session(
    model: Model,
    inputs: Mapping[str, Any],
    recorder: Recorder | str | Path,
    *,
    providers: Sequence[Any] | None = None,
    session_options: onnxruntime.SessionOptions | None = None,
    include: str | Sequence[str] = "*",
    joins: bool = True,
    tensors: str = "sketch",
    parameters: bool = True,
) -> dict[str, Any]:
    """Run `model` on `inputs`, record every node, and return the model's outputs by name.

        record_session("model.onnx", {"x": x}, "before.jsonl")

    `model` is a path, the bytes of a file, or a `ModelProto`, which stays as it is. What is
    recorded is the graph that ONNX Runtime makes of it at the optimisation level of
    `session_options`, fused nodes included; so that recording does not keep nodes from being
    fused, the optimised graph is saved first, and then run as it is with its inner values as
    outputs. `providers` are those of a session, the CPU if not given.

    `module.loaded` identifies the initializers of `model` (not without `parameters`), then each
    node is one `node.computed` in graph order, called by its first output: names of values outlive
    optimisation, names of nodes do not. A node follows those that it reads from: the first is its
    parent, the others stand in `joins`; without `joins` each follows the one before it, as
    `record_module` does it. `include` are globs over values: nodes without such an output are not
    recorded. All recorded values are in memory at once.

    A node with graphs of its own (If, Loop, Scan) or a call of a function is one event. Sequences
    and maps are recorded by their parts, strings up to 1024 of them as a discrete result. A value
    of a type that numpy lacks (bfloat16) is read in a second run, and returned as a
    `tracediff.Tensor` of its bits. Raises UsageError for what ONNX Runtime refuses, models beyond
    2 GB, missing inputs, and globs that fit nothing, StorageError for a file that cannot be read.
    """
    loaded = load_model(model)
    options = session_options or onnxruntime.SessionOptions()
    chosen = list(providers or ["CPUExecutionProvider"])
    runnable = _optimise(loaded, options, chosen)
    nodes = read_nodes(runnable, include)
    inputs = {name: np.asarray(value) for name, value in inputs.items()}
    _check_inputs(loaded, inputs)
    values = _run(runnable, nodes, inputs, options, chosen)
    if isinstance(recorder, Recorder):
        _record(recorder, loaded, nodes, inputs, values, options, chosen, joins, parameters)
    else:
        with Recorder(recorder, tensors=tensors) as own:
            _record(own, loaded, nodes, inputs, values, options, chosen, joins, parameters)
    return {output.name: values[output.name] for output in loaded.graph.output}


def optimised_model(
    model: Model,
    providers: Sequence[Any] | None = None,
    session_options: onnxruntime.SessionOptions | None = None,
) -> onnx.ModelProto:
    """Return the graph that ONNX Runtime makes of a model at the options' optimisation level."""
    options = session_options or onnxruntime.SessionOptions()
    return _optimise(load_model(model), options, list(providers or ["CPUExecutionProvider"]))


def value_names(model: Model) -> list[str]:
    """Return the names by which the nodes of a model are recorded, in graph order."""
    return [node.name for node in read_nodes(load_model(model), "*")]


def _record(
    recorder: Recorder,
    model: onnx.ModelProto,
    nodes: Sequence[GraphNode],
    inputs: Mapping[str, Any],
    values: Mapping[str, Any],
    options: onnxruntime.SessionOptions,
    providers: Sequence[Any],
    joins: bool,
    parameters: bool,
) -> None:
    recorder.use_kernels(load_kernels())
    identities, sums = identify_initializers(model) if parameters else ({}, {})
    recorder.event(
        MODEL,
        LOADED,
        artifacts=identities,
        state={"training": [], "parameter_sums": sums},
        settings={
            "opset": {held.domain or "ai.onnx": held.version for held in model.opset_import},
            "optimisation": options.graph_optimization_level.name.removeprefix("ORT_").lower(),
        },
        context={
            "providers": [str(p if isinstance(p, str) else p[0]) for p in providers],
            "intra_op_threads": options.intra_op_num_threads,
            "execution": options.execution_mode.name.removeprefix("ORT_").lower(),
        },
    )
    entered = recorder.event(MODEL, ENTERED, **_sections("inputs", inputs))
    known: dict[str, str] = {}
    for node in nodes:
        parents = [known[name] for name in node.parents] or [entered]
        found = {name: values[name] for name in node.outputs}
        known[node.name] = recorder.event(
            node.name,
            COMPUTED,
            **_causes(parents if joins else []),
            settings={node.name: node.op},
            **_sections("outputs", found),
        )
    results = {f"output.{held.name}": values[held.name] for held in model.graph.output}
    last = [known[node.name] for node in nodes if _gives(node, model)]
    recorder.event(
        MODEL, COMPUTED, **_causes(last if joins else []), **_sections("outputs", results)
    )


def _gives(node: GraphNode, model: onnx.ModelProto) -> bool:
    return any(held.name in node.outputs for held in model.graph.output)


def _causes(events: Sequence[str]) -> dict[str, Any]:
    """Return the first event as the parent and the others as joins; without any, the last event."""
    return {"parent": events[0], "joins": events[1:]} if events else {}


def _sections(section: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return tensors as a section, and strings and other plain values as a discrete one."""
    tensors: dict[str, Any] = {}
    discrete: dict[str, Any] = {}
    for name, value in values.items():
        leaves = find_leaves(name, value, _is_array)
        discrete |= leaves.scalars
        for leaf, array in leaves.tensors.items():
            if isinstance(array, Tensor) or array.dtype.kind not in "OUS":
                tensors[leaf] = array
            elif array.size <= MOST_STRINGS:
                discrete[leaf] = np.asarray(array, dtype=str).tolist()
            else:
                raise UsageError(
                    f"{leaf} holds {array.size} strings; at most {MOST_STRINGS} can be recorded: "
                    "leave it out with include="
                )
    named = {section: tensors, "state" if section == "inputs" else "choice": discrete}
    return {name: held for name, held in named.items() if held}


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic | Tensor)


def _check_inputs(model: onnx.ModelProto, inputs: Mapping[str, Any]) -> None:
    given = {held.name for held in model.graph.initializer}
    wanted = [held.name for held in model.graph.input if held.name not in given]
    missing = [name for name in wanted if name not in inputs]
    unknown = [name for name in inputs if name not in (*wanted, *given)]
    if missing or unknown:
        what = f"lack {', '.join(missing)}" if missing else f"have no use for {', '.join(unknown)}"
        raise UsageError(f"the inputs {what}; the model takes {', '.join(wanted) or 'none'}")


def _optimise(
    model: onnx.ModelProto, options: onnxruntime.SessionOptions, providers: Sequence[Any]
) -> onnx.ModelProto:
    """Return the graph that ONNX Runtime makes of a model; the options stay as they are.

    Without optimisation it still is another one: operators that the CPU lacks in float16 are put
    between casts, which would end up in other places if inner values were outputs.
    """
    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder) / "optimised.onnx"
        with _changed(options, optimized_model_filepath=str(saved), log_severity_level=3):
            _session(model, options, providers)
        return onnx.load(saved)


def _run(
    model: onnx.ModelProto,
    nodes: Sequence[GraphNode],
    inputs: Mapping[str, Any],
    options: onnxruntime.SessionOptions,
    providers: Sequence[Any],
) -> dict[str, Any]:
    """Return the values of all recorded nodes and of the model's outputs, by name."""
    names = [*(held.name for held in model.graph.output), *(n for k in nodes for n in k.outputs)]
    names = list(dict.fromkeys(names))
    off = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    with _changed(options, graph_optimization_level=off):
        session = _session(expose(model, names), options, providers)
    try:
        return fetch_values(session, names, inputs)
    except _refusals() as error:
        raise UsageError(f"ONNX Runtime cannot run the model: {_first_line(error)}") from None


def _session(
    model: onnx.ModelProto, options: onnxruntime.SessionOptions, providers: Sequence[Any]
) -> onnxruntime.InferenceSession:
    try:
        return onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=list(providers)
        )
    except _refusals() as error:
        raise UsageError(f"ONNX Runtime cannot load the model: {_first_line(error)}") from None


@contextmanager
def _changed(options: onnxruntime.SessionOptions, **values: Any) -> Iterator[None]:
    """Change options, which cannot be copied, and change them back."""
    before = {name: getattr(options, name) for name in values}
    try:
        for name, value in values.items():
            setattr(options, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(options, name, value)


def _refusals() -> tuple[type[Exception], ...]:
    # Its errors have no base of their own.
    state = onnxruntime.capi.onnxruntime_pybind11_state
    names = ("Fail", "InvalidArgument", "InvalidGraph", "InvalidProtobuf", "NotImplemented")
    return (*(getattr(state, name) for name in names), ValueError, RuntimeError)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:300]
