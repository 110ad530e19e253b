"""What calls write beside their results: arguments, buffers, parameters, gradients."""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install 'tracediff[torch]'")

from tracediff import Outcome, Recorder, diff_traces  # noqa: E402
from tracediff.errors import UsageError  # noqa: E402
from tracediff.events import Trace  # noqa: E402
from tracediff.integrations.torch_modules import record_module  # noqa: E402
from tracediff.recording.sinks import MemorySink  # noqa: E402

pytestmark = pytest.mark.torch

X = torch.linspace(-1, 1, 8).reshape(2, 4)


class Writing(torch.nn.Module):
    """A layer beside which something of size `amount` is written, in one of several ways."""

    def __init__(self, amount: float, write: Callable[..., None]) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
        self.register_buffer("seen", torch.zeros(4))
        self.amount, self.write = amount, write

    def forward(self, x: Any, given: Any = None) -> Any:
        given_result = self.layer(x)
        self.write(self, given_result, given)
        return given_result


def write_tensor(module: Any, result: Any, given: Any) -> None:
    given[0] += module.amount


def fill_mapping(module: Any, result: Any, given: Any) -> None:
    given["seen"] = result.detach() * module.amount


def fill_list(module: Any, result: Any, given: Any) -> None:
    given.append(module.amount)


def write_buffer(module: Any, result: Any, given: Any) -> None:
    module.seen.mul_(0.5).add_(result.detach().mean(0), alpha=module.amount)


def write_buffer_unseen(module: Any, result: Any, given: Any) -> None:
    module.seen.data += module.amount


def write_weight(module: Any, result: Any, given: Any) -> None:
    with torch.no_grad():
        module.layer.bias += module.amount


def drop_buffer(module: Any, result: Any, given: Any) -> None:
    if module.amount > 1:
        del module.seen


WRITES: dict[str, tuple[Callable[..., None], Callable[[], Any]]] = {
    "tensor": (write_tensor, lambda: torch.zeros(2)),
    "numpy-array": (write_tensor, lambda: torch.zeros(2).numpy()),
    "mapping": (fill_mapping, dict),
    "list": (fill_list, list),
    "buffer": (write_buffer, lambda: None),
    "buffer-around-the-count": (write_buffer_unseen, lambda: None),
    "weight": (write_weight, lambda: None),
    "buffer-gone": (drop_buffer, lambda: None),
}


def record(amount: float, write: Callable[..., None], given: Any, **options: Any) -> Trace:
    """Return the trace of one call."""
    torch.manual_seed(3)
    model, sink = Writing(amount, write), MemorySink()
    with Recorder(sink) as recorder, record_module(model, recorder, **options):
        model(X, given)
    return sink.trace("run")


@pytest.mark.parametrize("inference", [False, True], ids=["gradients", "inference"])
@pytest.mark.parametrize("inputs", [True, False], ids=["inputs", "outputs"])
@pytest.mark.parametrize("way", WRITES)
def test_writes_are_compared(way: str, inputs: bool, inference: bool) -> None:
    """What is written elsewhere than into the result is part of the trace."""
    write, make = WRITES[way]
    traces = []
    with torch.inference_mode(inference):
        for amount in (1.0, 1.0, 2.0):
            traces.append(record(amount, write, make(), inputs=inputs))
    same, other = (diff_traces(traces[0], trace).outcome for trace in traces[1:])
    assert (same, other) == (Outcome.EQUAL, Outcome.DIVERGED)


def test_arguments_that_stay_are_not_told_again() -> None:
    """An argument that is only read has no second record."""
    trace = record(1.0, lambda *_: None, torch.zeros(2).numpy())
    assert [record["name"] for record in trace.events[-1].payload["outputs"]] == ["output"]
    assert trace.events[-1].event_type == "module.called"


def test_gradients_of_the_block() -> None:
    """Gradients that the block leaves behind are compared."""

    def train(scale: float) -> Trace:
        torch.manual_seed(3)
        model, sink = torch.nn.Linear(4, 4), MemorySink()
        with Recorder(sink) as recorder, record_module(model, recorder):
            (model(X).sum() * scale).backward()
        return sink.trace("run")

    first = diff_traces(train(1.0), train(2.0)).first
    assert first is not None
    assert first.difference.field == "payload.outputs[weight.grad]"
    assert diff_traces(train(1.0), train(1.0)).outcome is Outcome.EQUAL


def test_hooks_of_the_block_come_first() -> None:
    """What a hook that is registered later makes of a result is what is recorded."""

    def call(amount: float) -> Trace:
        torch.manual_seed(3)
        model, sink = torch.nn.Sequential(torch.nn.Linear(4, 4)), MemorySink()
        with Recorder(sink) as recorder, record_module(model, recorder):
            for module in model.modules():
                module.register_forward_hook(lambda _, args, given: given + amount)
            model(X)
        return sink.trace("run")

    first = diff_traces(call(0.0), call(1.0)).first
    assert first is not None
    assert first.difference.field == "payload.outputs[0.output]"


FORKING = """
import os, torch
from tracediff import Recorder
from tracediff.errors import UsageError
from tracediff.integrations.torch_modules import record_module
from tracediff.recording.sinks import MemorySink

model = torch.nn.Linear(4, 4)
with Recorder(MemorySink()) as recorder, record_module(model, recorder):
    model(torch.ones(4))
    child = os.fork()
    if not child:
        try:
            model(torch.ones(4))
        except UsageError as error:
            os._exit(7 if "forked" in str(error) else 8)
        os._exit(9)
    _, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_forked_process_is_refused() -> None:
    """Calls in a forked process would be lost: they are an error there."""
    command = [sys.executable, "-c", FORKING]  # a process of its own: others may not be forked
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "7\n"


def test_lazy_parameters_are_refused() -> None:
    """A parameter without a shape is named."""
    model = torch.nn.Sequential(torch.nn.LazyLinear(3))
    with (
        pytest.raises(UsageError, match=r"cannot record 0\.weight: it has no shape"),
        Recorder(MemorySink()) as recorder,
        record_module(model, recorder),
    ):
        model(X)


def test_selection_is_for_calls() -> None:
    """What is chosen of the tensors of calls does not cut the tensors of the module."""

    def train(**options: Any) -> Any:
        torch.manual_seed(3)
        model, sink = torch.nn.Linear(4, 4), MemorySink()
        with Recorder(sink) as recorder, record_module(model, recorder, **options):
            model(X).sum().backward()
        return sink.trace("run").events[-1].payload["outputs"]

    assert train(select=lambda name, tensor: tensor[:1]) == train()
