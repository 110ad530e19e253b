"""What hooks do not see, or a trace cannot hold, is recorded otherwise or refused: never equal."""

import copy
import io
import re
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install 'tracediff[torch]'")

from tracediff import Outcome, Recorder, Trace, TraceDiff, diff_traces  # noqa: E402
from tracediff.contracts.check import check_trace  # noqa: E402
from tracediff.errors import UsageError  # noqa: E402
from tracediff.integrations.torch_modules import record_module  # noqa: E402
from tracediff.integrations.torch_recording import ModuleRecording  # noqa: E402
from tracediff.recording.sinks import MemorySink  # noqa: E402

pytestmark = pytest.mark.torch

X = torch.arange(8.0).reshape(2, 4) / 7
Use = Callable[[Any], Any]


class Giving(torch.nn.Module):
    """Gives what a function makes of the input."""

    def __init__(self, give: Callable[[Any], Any]) -> None:
        super().__init__()
        self.give = give

    def forward(self, x: Any) -> Any:
        return self.give(x)


class Held:
    """An object of somebody's own."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor


class Recursive(torch.nn.Module):
    """Calls itself."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.inner, self.factor = torch.nn.Linear(4, 4), factor

    def forward(self, x: Any, times: int = 1) -> Any:
        return self.inner(x) if times == 0 else self(x, times - 1) * self.factor


class Pair(torch.nn.Module):
    """Two layers; the tensor between them may be changed in place."""

    def __init__(self, changes: bool = False) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.first, self.second, self.changes = (
            torch.nn.Linear(4, 4),
            torch.nn.Linear(4, 4),
            changes,
        )

    def forward(self, x: Any) -> Any:
        hidden = self.first(x)
        return self.second(hidden.mul_(1.5) if self.changes else hidden)


def record(model: Any, use: Use, **options: Any) -> Trace:
    sink = MemorySink()
    with Recorder(sink) as recorder, record_module(model, recorder, **options):
        use(model)
    return sink.trace("run")


def compare(model: Any, use: Use, other: Use, **options: Any) -> TraceDiff:
    return diff_traces(record(model, use, **options), record(model, other, **options))


def compiled_in_place(part: str) -> Any:
    model = Pair()
    (model.get_submodule(part) if part else model).compile(backend="eager")
    return model


@pytest.mark.parametrize("part", ["", "first"], ids=["the-model", "a-layer"])
@pytest.mark.parametrize("inputs", [True, False], ids=["inputs", "outputs-only"])
def test_compiled_in_place_is_recorded_at_its_border(part: str, inputs: bool) -> None:
    """`module.compile()` runs no hooks, and its calls are events all the same."""
    model = compiled_in_place(part)
    same = compare(model, lambda m: m(X), lambda m: m(X), inputs=inputs)
    other = compare(model, lambda m: m(X), lambda m: m(X * 5), inputs=inputs)
    assert (same.outcome, other.outcome) == (Outcome.EQUAL, Outcome.DIVERGED)
    trace = record(model, lambda m: m(X), inputs=inputs)
    called = [e.component for e in trace.events if e.event_type == "module.called"]
    assert called == (["first", "second", "Pair"] if part else ["Pair"])
    eager = record(Pair(), lambda m: m(X), inputs=inputs, include="")
    whole = record(model, lambda m: m(X), inputs=inputs, include="")
    assert diff_traces(eager, whole).outcome is Outcome.EQUAL


def test_compiled_in_place_is_left_as_it_was() -> None:
    """After the block the compiled call is the one of before."""
    model = compiled_in_place("")
    before = model._compiled_call_impl
    record(model, lambda m: m(X))
    assert model._compiled_call_impl is before


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize(
    ("use", "message"),
    [
        pytest.param(lambda m: None, "no call of Pair", id="never-called"),
        pytest.param(lambda m: copy.deepcopy(m)(X), "no call of Pair", id="a-copy-called"),
        pytest.param(
            lambda m: torch.compile(m, backend="eager")(X), "compiled inside", id="compiled"
        ),
        pytest.param(
            lambda m: (m(X), torch.compile(m, backend="eager")(X)), "compiled", id="compiled-later"
        ),
        pytest.param(
            lambda m: (m.compile(backend="eager"), m(X)), "before record_module", id="in-place"
        ),
        pytest.param(torch.jit.script, "while it is recorded", id="scripted"),
        pytest.param(
            lambda m: torch.func.grad(lambda x: m(x).sum())(X), r"torch\.func", id="functional-grad"
        ),
        pytest.param(lambda m: torch.func.vmap(m)(X), r"torch\.func", id="vmap"),
    ],
)
def test_a_block_without_calls_is_refused(use: Use, message: str) -> None:
    """A recording that saw nothing of the model is no trace that could be equal to another one."""
    with pytest.raises(UsageError, match=message):
        record(Pair(), use)


def test_a_block_without_results_is_refused() -> None:
    """Nothing selected, nothing to compare."""
    with pytest.raises(UsageError, match="nothing that Pair gave"):
        record(Pair(), lambda m: m(X), select=lambda name, tensor: None)


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_a_scripted_module_is_refused() -> None:
    """Modules of torch.jit run no hooks."""
    with pytest.raises(UsageError, match=r"torch\.jit runs no hooks"):
        record(torch.jit.trace(Pair(), X), lambda m: m(X))


GIVEN: list[tuple[str, Callable[[Any, int], Any]]] = [
    ("object", lambda x, k: Held(x * k)),
    ("namespace", lambda x, k: SimpleNamespace(a=x * k)),
    ("deque", lambda x, k: deque([x * k])),
    ("set", lambda x, k: {float((x * k).sum())}),
    ("numpy-array", lambda x, k: (x * k).numpy()),
    ("numpy-scalar", lambda x, k: np.float32((x * k).sum())),
    ("complex", lambda x, k: complex(k)),
    ("bytes", lambda x, k: bytes([k])),
    ("dotted-keys", lambda x, k: {"a.b": x * k, "a": {"b": x}}),
]


@pytest.mark.parametrize("give", [g for _, g in GIVEN], ids=[name for name, _ in GIVEN])
def test_results_of_other_types_are_compared(give: Callable[[Any, int], Any]) -> None:
    """Whatever a module gives: the same is equal, another one diverges."""
    traces = [record(Giving(lambda x, k=k: give(x, k)), lambda m: m(X)) for k in (1, 1, 2)]
    assert diff_traces(traces[0], traces[1]).outcome is Outcome.EQUAL
    assert diff_traces(traces[0], traces[2]).outcome is Outcome.DIVERGED


def test_what_cannot_be_recorded_may_be_left_out() -> None:
    """A generator is refused by name; without it, the rest is recorded and the trace says so."""
    model = Giving(lambda x: {"kept": x, "lazy": (part for part in x)})
    with pytest.raises(UsageError, match=r"output\.lazy \(generator\).*leave_out"):
        record(model, lambda m: m(X))
    trace = record(model, lambda m: m(X), leave_out="output.lazy")
    assert trace.root.payload["settings"]["left_out"] == ["output.lazy"]
    assert [r["name"] for r in trace.events[-1].payload["outputs"]] == ["output.kept"]


def test_a_module_that_calls_itself() -> None:
    """Inner and outer calls are events of one step, and a factor in the outer one is seen."""
    trace = record(Recursive(1.0), lambda m: (m(X), m(X)))
    called = [
        (e.component, e.logical_step, e.payload.get("state", {}).get("call", 0))
        for e in trace.events
        if e.event_type == "module.called"
    ]
    one = [("inner", 0), ("Recursive", 1), ("Recursive", 0)]
    assert called == [(name, step, nth) for step in (0, 1) for name, nth in one]
    other = record(Recursive(100.0), lambda m: (m(X), m(X)))
    assert diff_traces(trace, other).outcome is Outcome.DIVERGED


def test_a_failed_call_of_a_module_that_calls_itself() -> None:
    """What an exception left open is closed when the next call begins."""

    def use(model: Any) -> None:
        with pytest.raises(RuntimeError):
            model(torch.zeros(2, 3))
        model(X)

    trace = record(Recursive(1.0), use)
    last = [e.component for e in trace.events if e.logical_step == 1]
    assert last.count("Recursive") == 4


def test_copies_and_files_of_a_module_have_no_recorder() -> None:
    """A recorded module can be copied and saved; neither leads to the recorder."""

    def use(model: Any) -> None:
        copied, held = copy.deepcopy(model), io.BytesIO()
        torch.save(model, held)
        held.seek(0)
        loaded = torch.load(held, weights_only=False)
        for other in (copied, loaded):
            assert torch.equal(other(X), other(X))
        model(X)

    assert len(record(Pair(), use).events) == len(record(Pair(), lambda m: m(X)).events)


def test_checkpointed_dropout_keeps_the_rules() -> None:
    """A state that is set back to draw the same numbers again is said, and breaks no rule."""

    def use(model: Any) -> None:
        x = X.clone().requires_grad_()
        torch.utils.checkpoint.checkpoint(model, x, use_reentrant=False).sum().backward()
        model(x)

    torch.manual_seed(5)
    trace = record(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5)), use)
    draws = [draw for event in trace.events for draw in event.payload.get("rng", [])]
    assert "replaced" in [draw.get("transform") for draw in draws]
    assert not check_trace(trace).violations


def in_threads(model: Any, recording: ModuleRecording) -> None:
    def work(index: int) -> None:
        with recording.in_lane(f"item {index}"):
            model(X * index)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, range(6)))


def test_lanes_may_be_named_by_the_work() -> None:
    """Whichever thread of a pool takes a piece of work, it stands in the lane of that work."""
    traces = []
    for _ in range(2):
        model, sink = Pair(), MemorySink()
        with Recorder(sink) as recorder, record_module(model, recorder) as recording:
            in_threads(model, recording)
        traces.append(sink.trace("run"))
    lanes = {e.payload["lane"]["thread"] for e in traces[0].events if "lane" in e.payload}
    assert lanes == {f"item {index}" for index in range(6)}
    assert diff_traces(*traces).outcome is Outcome.EQUAL


def under_autocast(model: Any) -> None:
    with torch.autocast("cpu", torch.bfloat16):
        model(X)


@pytest.mark.parametrize(
    ("other", "use", "kind", "text"),
    [
        pytest.param(
            Pair(),
            under_autocast,
            "dtype",
            "autocast is off on the left and bfloat16",
            id="autocast",
        ),
        pytest.param(
            Pair(changes=True),
            lambda m: m(X),
            "input-changed",
            r"second\.input is new on the right.*changed in place",
            id="in-place",
        ),
    ],
)
def test_one_sided_fields_have_a_cause(other: Any, use: Use, kind: str, text: str) -> None:
    """What only one side records says why it is there."""
    found = diff_traces(record(Pair(), lambda m: m(X)), record(other, use))
    assert found.cause is not None
    assert found.cause.kind == kind
    assert re.search(text, found.cause.explanation)
