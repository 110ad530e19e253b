"""Runs a model in ONNX Runtime: the graph that is made of it, and the values of its nodes.

Knows sessions and their options. Must not know how a graph is read (`onnx_graph`) or events.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import onnxruntime

from tracediff.errors import UsageError
from tracediff.integrations.onnx_graph import draws_random, expose
from tracediff.integrations.onnx_values import Fetched, fetch_values, is_readable, read_input


@dataclass(frozen=True, slots=True)
class RuntimeSetup:
    """How ONNX Runtime is to run: options, which stay as they are, and providers."""

    options: onnxruntime.SessionOptions
    providers: tuple[Any, ...]

    @classmethod
    def of(
        cls, options: onnxruntime.SessionOptions | None, providers: Sequence[Any] | None
    ) -> RuntimeSetup:
        """Return the setup of a caller: ONNX Runtime's own options and the CPU if not given."""
        chosen = tuple(providers or ("CPUExecutionProvider",))
        return cls(options or onnxruntime.SessionOptions(), chosen)

    @property
    def optimisation(self) -> str:
        """The level of optimisation: disable_all, enable_basic …."""
        level: str = self.options.graph_optimization_level.name
        return level.removeprefix("ORT_").lower()


def optimise(model: onnx.ModelProto, setup: RuntimeSetup) -> onnx.ModelProto:
    """Return the graph that ONNX Runtime makes of a model.

    Without optimisation it still is another one: operators that the CPU lacks in float16 are put
    between casts, which would end up in other places if inner values were outputs. Raises
    UsageError for what ONNX Runtime refuses.
    """
    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder) / "optimised.onnx"
        with _changed(setup.options, optimized_model_filepath=str(saved), log_severity_level=3):
            _session(model, setup)
        return onnx.load(saved)


def run_once(
    model: onnx.ModelProto, wanted: Sequence[str], inputs: Mapping[str, Any], setup: RuntimeSetup
) -> Fetched:
    """Return the wanted values and the outputs of a model, which is run as it is.

    Of the wanted ones those are missing whose element type cannot be read (int4); raises
    UsageError for such an output, and for what ONNX Runtime refuses.
    """
    results = [held.name for held in model.graph.output]
    names = list(dict.fromkeys((*results, *wanted)))
    off = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    with _changed(setup.options, graph_optimization_level=off):
        session = _session(expose(model, names), setup)
    types = {held.name: held.type for held in session.get_outputs()}
    readable = [name for name in names if is_readable(types[name])]
    unreadable = [name for name in results if name not in readable]
    if unreadable:
        raise UsageError(
            f"the output {unreadable[0]} of the model is a {types[unreadable[0]]}, which cannot be "
            "read; add a Cast behind it"
        )
    try:
        return fetch_values(session, readable, inputs, draws_random(model))
    except _refusals() as error:
        raise UsageError(f"ONNX Runtime cannot run the model: {_first_line(error)}") from None


def read_inputs(model: onnx.ModelProto, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs as arrays; raise UsageError for missing ones and those of no use."""
    given = {held.name for held in model.graph.initializer}
    kinds = {held.name: held.type.WhichOneof("value") for held in model.graph.input}
    wanted = [name for name in kinds if name not in given]
    missing = [name for name in wanted if name not in inputs]
    unknown = [name for name in inputs if name not in (*wanted, *given)]
    if missing or unknown:
        what = f"lack {', '.join(missing)}" if missing else f"have no use for {', '.join(unknown)}"
        raise UsageError(f"the inputs {what}; the model takes {', '.join(wanted) or 'none'}")
    return {
        name: read_input(name, value, kinds.get(name) == "sequence_type")
        for name, value in inputs.items()
    }


def _session(model: onnx.ModelProto, setup: RuntimeSetup) -> onnxruntime.InferenceSession:
    try:
        return onnxruntime.InferenceSession(
            model.SerializeToString(), setup.options, providers=list(setup.providers)
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
