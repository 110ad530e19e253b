"""Records an exported ONNX model and the module that it was exported from, as traces of one form.

Knows what the calls of modules give, and which values of the model correspond to that. Must not
know how notes in a model (`onnx_names`) or calls of torch (`torch_modules`) are read.
"""

from __future__ import annotations

import glob
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import onnx
import onnxruntime
import torch

from tracediff.errors import UsageError
from tracediff.events import Event
from tracediff.integrations.onnx_graph import Model, load_model, read_nodes
from tracediff.integrations.onnx_names import ExportNotes
from tracediff.integrations.onnx_pairs import Pairs, SourceCall, pair_values, possible_values
from tracediff.integrations.onnx_running import RuntimeSetup, optimise, read_inputs, run_once
from tracediff.integrations.torch_conditions import is_discrete
from tracediff.integrations.torch_contents import LOADED
from tracediff.integrations.torch_modules import record_module
from tracediff.integrations.torch_parameters import plain_path
from tracediff.integrations.torch_places import find_places
from tracediff.integrations.torch_recording import CALLED, ENTERED
from tracediff.integrations.torch_tensors import as_array
from tracediff.recording.kernels import load_kernels
from tracediff.recording.recordable import Tensor
from tracediff.recording.recorder import Recorder
from tracediff.recording.sinks import MemorySink


def record_export(
    network: torch.nn.Module,
    args: Sequence[Any] | torch.Tensor,
    model: Model,
    source: Recorder | str | Path,
    export: Recorder | str | Path,
    *,
    kwargs: Mapping[str, Any] | None = None,
    session_options: onnxruntime.SessionOptions | None = None,
    providers: Sequence[Any] | None = None,
) -> tuple[str, ...]:
    """Run a module and its ONNX export, record what both have, and return what is not compared.

        record_export(network, (x,), "model.onnx", "torch.jsonl", "onnx.jsonl")

    `network` is called with `args`, a sequence or one tensor, and `kwargs`; `model` gets the
    tensors among these by their names or in their order. `source` gets the trace of `network`,
    `export` that of the model under the same names, so that `tracediff diff` compares them as they
    are: what arrives, what each module gives, and the results. Weights are not compared, which
    exporters transpose and fold, nor what modules read.

    Which value is what a module gives say the notes of `torch.onnx.export(..., dynamo=True)`;
    where they leave it open it is not compared, and its name is returned and stands in the
    setting `not_compared` of the export's trace. So do modules that compute nothing (`Dropout`) or
    are never called themselves (`MultiheadAttention.out_proj`), values that the exporter or ONNX
    Runtime fused into others, two results of one module with the same shape, and calls that the
    exporter merged.

    ONNX Runtime runs the graph without optimisation unless `session_options` say otherwise.
    `network` is called twice, without gradients. Raises UsageError for a network in training mode,
    a model without notes or with other inputs or results, and as `record_session` does.
    """
    if any(module.training for module in network.modules()):
        raise UsageError("the network is in training mode; call network.eval(), then export it")
    args, kwargs = (args,) if isinstance(args, torch.Tensor) else args, kwargs or {}
    loaded = load_model(model)
    setup = RuntimeSetup.of(session_options or _unoptimised(), providers)
    runnable = optimise(loaded, setup)
    calls = _watch(network, args, kwargs)
    arrived = _arriving(network, args, kwargs)
    inputs = read_inputs(loaded, _feeds(loaded, arrived))
    present = {name for node in read_nodes(runnable, "*") for name in node.outputs}
    notes = ExportNotes(loaded.graph, _recorded_paths(network))
    possible = possible_values(notes, present, calls[:-1])
    wanted = [name for found in possible for name in found]
    values = run_once(runnable, wanted, inputs, setup).values
    pairs = pair_values(loaded, calls, possible, values)
    uncalled = _uncalled_modules(network, calls)
    left_out = tuple(dict.fromkeys((*arrived.scalars, *pairs.left_out, *uncalled)))
    with _opened(source) as recorder:
        _record_network(recorder, network, args, kwargs, pairs.components[:-1], left_out)
    settings = {
        "opset": {held.domain or "ai.onnx": held.version for held in loaded.opset_import},
        "optimisation": setup.optimisation,
        "values": {name: value for found in pairs.values for name, value in found.items()},
        "not_compared": list(left_out),
    }
    with _opened(export) as recorder:
        _record_values(recorder, pairs, settings, arrived.tensors, values)
    return left_out


def _record_network(
    recorder: Recorder,
    network: torch.nn.Module,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    components: Sequence[str],
    left_out: Sequence[str],
) -> None:
    """Run a network and record what it and some of its modules give."""
    with (
        torch.no_grad(),
        record_module(
            network,
            recorder,
            include=["", *map(glob.escape, components)],
            inputs=False,
            parameters=False,
            leave_out=[glob.escape(name) for name in left_out],
        ),
    ):
        network(*args, **kwargs)


def _record_values(
    recorder: Recorder,
    pairs: Pairs,
    settings: Mapping[str, Any],
    arrived: Mapping[str, torch.Tensor],
    values: Mapping[str, Any],
) -> None:
    """Record the values of the model as the network's events."""
    root = pairs.calls[-1].component
    recorder.use_kernels(load_kernels())
    nothing: dict[str, Any] = {"training": [], "parameter_sums": {}}
    recorder.event(root, LOADED, artifacts={}, state=nothing, settings=settings)
    recorder.event(root, ENTERED, **_arrived_sections(arrived))
    earlier: Counter[str] = Counter()
    for call, found in zip(pairs.calls, pairs.values, strict=True):
        if found:
            given = {name: values[value] for name, value in found.items()}
            state = {"call": earlier[call.component]} if earlier[call.component] else None
            recorder.event(call.component, CALLED, state=state, outputs=given)
            earlier[call.component] += 1


def _watch(
    network: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> list[SourceCall]:
    """Return the calls of a network's modules in the order of their ends, its own the last.

    Raises UsageError for a network that gives no tensor.
    """
    sink = MemorySink()
    with (
        Recorder(sink, tensors="digest") as recorder,
        torch.no_grad(),
        record_module(network, recorder, inputs=False, parameters=False),
    ):
        network(*args, **kwargs)
    events = sink.trace("the network").events
    calls = [_source_call(event) for event in events if event.event_type == CALLED]
    if not calls[-1].tensors:
        raise UsageError(f"{calls[-1].component} gives no tensor that could be compared")
    return calls


def _uncalled_modules(network: torch.nn.Module, calls: Sequence[SourceCall]) -> list[str]:
    """Return the modules that compute without being called, or not at all."""
    called = {call.component for call in calls}
    held = {plain_path(path): module for path, module in network.named_modules() if path}
    return [path for path, m in held.items() if path not in called and not any(m.children())]


def _source_call(event: Event) -> SourceCall:
    records = event.payload.get("outputs", ())
    given = {record["name"]: (record["dtype"], tuple(record["shape"])) for record in records}
    content = tuple(record["digest"] for record in records)
    return SourceCall(event.component, given, content, tuple(event.payload.get("choice", ())))


def _arriving(network: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    return find_places(network, "", "")[network].arguments(tuple(args), kwargs, ())


def _feeds(model: onnx.ModelProto, arrived: Any) -> dict[str, Any]:
    """Return what the model takes: by the names of the arguments, or in their order."""
    given = {held.name for held in model.graph.initializer}
    names = [held.name for held in model.graph.input if held.name not in given]
    tensors = {name: _numpy(name, tensor) for name, tensor in arrived.tensors.items()}
    if len(names) != len(tensors):
        raise UsageError(
            f"the model takes {', '.join(names) or 'nothing'}, and the network is called with "
            f"{', '.join(tensors) or 'no tensor'}: those must be as many"
        )
    if set(names) == set(tensors):
        return tensors
    return dict(zip(names, tensors.values(), strict=True))


def _recorded_paths(network: torch.nn.Module) -> dict[str, str]:
    """Return by every path of a module the one by which it is recorded, the first."""
    first = {held: plain_path(path) for path, held in network.named_modules()}
    every = network.named_modules(remove_duplicate=False)
    return {plain_path(path): first[held] for path, held in every}


def _numpy(name: str, tensor: torch.Tensor) -> Any:
    """Return a tensor as an array, of a type of ml_dtypes where numpy has none."""
    array, dtype = as_array(name, tensor)
    if dtype is None:
        return array
    kind = onnx.TensorProto.DataType.Value(dtype.upper().replace("FLOAT8_", "FLOAT8"))
    return array.view(onnx.helper.tensor_dtype_to_np_dtype(kind))


def _arrived_sections(arrived: Mapping[str, torch.Tensor]) -> dict[str, Any]:
    """Return what arrives at the network as its trace has it: few integers are discrete."""
    discrete = {name: tensor.tolist() for name, tensor in arrived.items() if is_discrete(tensor)}
    others = {name: tensor for name, tensor in arrived.items() if name not in discrete}
    arrays = {name: Tensor(*_with_type(name, tensor)) for name, tensor in others.items()}
    sections = {"inputs": arrays, "state": {"read": discrete} if discrete else {}}
    return {name: held for name, held in sections.items() if held}


def _with_type(name: str, tensor: torch.Tensor) -> tuple[Any, dict[str, Any], str | None]:
    array, dtype = as_array(name, tensor)
    return array, {}, dtype


def _unoptimised() -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return options


@contextmanager
def _opened(recorder: Recorder | str | Path) -> Iterator[Recorder]:
    """Yield a recorder: the caller's own, which stays open, or one of a file."""
    if isinstance(recorder, Recorder):
        yield recorder
        return
    with Recorder(recorder) as own:
        yield own
