"""Runs an ONNX model once in ONNX Runtime and records the output of every node.

Knows the recorder and the order of events. Must not know how a graph is read (`onnx_graph`) and run
(`onnx_running`) or how parameters are identified (`onnx_parameters`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import onnx
import onnxruntime

from tracediff.integrations.onnx_graph import GraphNode, Model, load_model, read_nodes
from tracediff.integrations.onnx_parameters import identify_initializers
from tracediff.integrations.onnx_running import RuntimeSetup, optimise, read_inputs, run_once
from tracediff.integrations.onnx_sections import make_sections
from tracediff.integrations.onnx_values import Fetched
from tracediff.recording.kernels import load_kernels
from tracediff.recording.recorder import Recorder

LOADED: Final = "module.loaded"
ENTERED: Final = "module.entered"
COMPUTED: Final = "node.computed"
MODEL: Final = "model"


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
    are recorded by their parts, the numbers of maps as tensors, strings up to 1024 of them as a
    discrete result. A value of a type that numpy lacks (bfloat16) is returned as a
    `tracediff.Tensor` of its bits; inner values of a type that a trace lacks (int4, float8 with
    fnuz) are not recorded: the setting `left_out` lists them. Inputs may be strings, and lists of
    arrays where the model takes a sequence.

    Raises UsageError for what ONNX Runtime refuses, models beyond 2 GB, missing inputs, globs that
    fit nothing, and values that only a second run can give where a node draws random numbers;
    StorageError for a file that cannot be read.
    """
    loaded = load_model(model)
    setup = RuntimeSetup.of(session_options, providers)
    runnable = optimise(loaded, setup)
    nodes = read_nodes(runnable, include)
    inputs = read_inputs(loaded, inputs)
    fetched = run_once(runnable, [name for n in nodes for name in n.outputs], inputs, setup)
    recording = _Recording(loaded, nodes, inputs, fetched, setup, joins, parameters)
    if isinstance(recorder, Recorder):
        recording.write(recorder)
    else:
        with Recorder(recorder, tensors=tensors) as own:
            recording.write(own)
    return {output.name: fetched.values[output.name] for output in loaded.graph.output}


def optimised_model(
    model: Model,
    providers: Sequence[Any] | None = None,
    session_options: onnxruntime.SessionOptions | None = None,
) -> onnx.ModelProto:
    """Return the graph that ONNX Runtime makes of a model at the options' optimisation level."""
    return optimise(load_model(model), RuntimeSetup.of(session_options, providers))


def value_names(model: Model) -> list[str]:
    """Return the names by which the nodes of a model are recorded, in graph order."""
    return [node.name for node in read_nodes(load_model(model), "*")]


@dataclass(frozen=True, slots=True)
class _Recording:
    """One run to record: what was run, what it was given, and what it gave."""

    model: onnx.ModelProto
    nodes: Sequence[GraphNode]
    inputs: Mapping[str, Any]
    fetched: Fetched
    setup: RuntimeSetup
    joins: bool
    parameters: bool

    def write(self, recorder: Recorder) -> None:
        """Record all events."""
        recorder.use_kernels(load_kernels())
        self._write_loaded(recorder)
        inputs = make_sections("inputs", self.inputs, {})
        entered = recorder.event(MODEL, ENTERED, **inputs)
        known: dict[str, list[str]] = {}
        for node in self.nodes:
            read = dict.fromkeys(event for name in node.parents for event in known[name])
            parents = list(read) or [entered]
            found = [name for name in node.outputs if name in self.fetched.values]
            if not found:  # it stands in `left_out`; what reads it follows what it reads
                known[node.name] = parents
                continue
            event = recorder.event(
                node.name,
                COMPUTED,
                **self._causes(parents),
                settings={node.name: node.op},
                **self._outputs({name: name for name in found}),
            )
            known[node.name] = [event]
        results = {f"output.{held.name}": held.name for held in self.model.graph.output}
        given = set(results.values())
        last = [e for n in self.nodes if given.intersection(n.outputs) for e in known[n.name]]
        recorder.event(MODEL, COMPUTED, **self._causes(last), **self._outputs(results))

    def _write_loaded(self, recorder: Recorder) -> None:
        identities, sums = identify_initializers(self.model) if self.parameters else ({}, {})
        opsets = {held.domain or "ai.onnx": held.version for held in self.model.opset_import}
        wanted = [name for node in self.nodes for name in node.outputs]
        left_out = [name for name in wanted if name not in self.fetched.values]
        options, providers = self.setup.options, self.setup.providers
        recorder.event(
            MODEL,
            LOADED,
            artifacts=identities,
            state={"training": [], "parameter_sums": sums},
            settings={"opset": opsets, "optimisation": self.setup.optimisation}
            | ({"left_out": left_out} if left_out else {}),
            context={
                "providers": [str(p if isinstance(p, str) else p[0]) for p in providers],
                "intra_op_threads": options.intra_op_num_threads,
                "execution": options.execution_mode.name.removeprefix("ORT_").lower(),
            },
        )

    def _causes(self, events: Sequence[str]) -> dict[str, Any]:
        """Return the first event as parent, the others as joins; without any, the last event."""
        return {"parent": events[0], "joins": events[1:]} if events and self.joins else {}

    def _outputs(self, names: Mapping[str, str]) -> dict[str, Any]:
        """Return the sections of values, by the names under which they are recorded."""
        values = {shown: self.fetched.values[name] for shown, name in names.items()}
        types = {shown: self.fetched.types[name] for shown, name in names.items()}
        return make_sections("outputs", values, types)
