"""Calls of modules as events: names, order, inputs, draws, threads and failures."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install 'tracediff[torch]'")

from tracediff import Outcome, Recorder, diff_traces  # noqa: E402
from tracediff.errors import IncompleteTrace, UsageError  # noqa: E402
from tracediff.events import Event, Trace  # noqa: E402
from tracediff.integrations.torch_modules import record_module  # noqa: E402
from tracediff.recording.sinks import MemorySink  # noqa: E402
from tracediff.storage import read_trace  # noqa: E402

pytestmark = pytest.mark.torch


class Block(torch.nn.Module):
    """Two layers with an operation between them, and a switch."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(4, 6)
        self.second = torch.nn.Linear(6, 4)
        self.rate = 0.0

    def forward(self, hidden: Any, scale: float = 1.0) -> Any:
        inner = self.first(hidden)
        inner = torch.nn.functional.dropout(inner.tanh(), self.rate, training=self.rate > 0)
        return {"hidden": self.second(inner) * scale, "skipped": None}


class Model(torch.nn.Module):
    """Ids to numbers through one block, called `times` times."""

    def __init__(self, times: int = 1) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(10, 4)
        self.block = Block()
        self.times = times

    def forward(self, ids: Any) -> Any:
        hidden = self.embed(ids)
        for _ in range(self.times):
            hidden = self.block(hidden)["hidden"]
        return hidden


IDS = torch.tensor([[1, 2, 3]])


def build(**options: Any) -> Any:
    torch.manual_seed(4)
    return Model(**options).eval()


def record(use: Callable[[Any], Any], model: Any = None, **options: Any) -> Trace:
    """Return the trace of what `use` does with a model."""
    model, sink = build() if model is None else model, MemorySink()
    with Recorder(sink) as recorder, record_module(model, recorder, **options):
        use(model)
    return sink.trace("run")


def call(model: Any) -> None:
    with torch.no_grad():
        model(IDS)


def shapes(trace: Trace) -> list[tuple[str, str, int]]:
    return [(e.component, e.event_type.partition(".")[2], e.logical_step) for e in trace.events]


def names(event: Event, section: str) -> list[str]:
    return [record["name"] for record in event.payload.get(section, [])]


def named(trace: Trace, component: str, event_type: str = "module.called") -> Event:
    return next(e for e in trace.events if (e.component, e.event_type) == (component, event_type))


def test_calls_in_the_order_in_which_they_end() -> None:
    """What the model consists of, what arrives, then each module's call, inner ones first."""
    assert shapes(record(call)) == [
        ("Model", "loaded", 0),
        ("Model", "entered", 0),
        ("embed", "called", 0),
        ("block.first", "called", 0),
        ("block.second", "called", 0),
        ("block", "called", 0),
        ("Model", "called", 0),
    ]


def test_names_say_where_a_tensor_is() -> None:
    """Outputs bear the module's path and what nests; inputs the name of the parameter."""
    trace = record(call)
    assert names(named(trace, "block"), "outputs") == ["block.output.hidden"]
    assert names(named(trace, "Model"), "outputs") == ["output"]
    assert named(trace, "Model", "module.entered").payload["state"]["read"] == {"ids": IDS.tolist()}


def test_only_new_tensors_are_inputs() -> None:
    """What a recorded module gave is not recorded again; what was made in between is."""
    trace = record(call)
    assert names(named(trace, "block.first"), "inputs") == []
    assert names(named(trace, "block.second"), "inputs") == ["block.second.input"]


def test_a_changed_tensor_is_an_input() -> None:
    """A module's output that was changed in place before the next module is recorded there."""

    class InPlace(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)

        def forward(self, x: Any) -> Any:
            return self.second(self.first(x).mul_(2))

    torch.manual_seed(1)
    trace = record(lambda m: m(torch.ones(1, 3)), InPlace())
    given = named(trace, "first").payload["outputs"][0]
    (read,) = named(trace, "second").payload["inputs"]
    assert read["digest"] != given["digest"]
    assert read["values"] == [2 * value for value in given["values"]]


def test_steps_and_ordinals_count() -> None:
    """The step counts calls of the model, `call` those of a module within a step."""

    def use(model: Any) -> None:
        call(model)
        call(model)

    trace = record(use, build(times=2))
    found = [
        (event.logical_step, event.payload.get("state", {}).get("call", 0))
        for event in trace.events
        if (event.component, event.event_type) == ("block.first", "module.called")
    ]
    assert found == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_steps_may_be_set() -> None:
    """A recorder of generation counts the steps itself."""
    model, sink = build(), MemorySink()
    with Recorder(sink) as recorder, record_module(model, recorder) as recording:
        recording.step = 7
        call(model)
    assert {event.logical_step for event in sink.trace("run").events[1:]} == {7}


def test_other_events_keep_their_place() -> None:
    """What is recorded between calls stands between them."""
    model, sink = build(), MemorySink()
    with Recorder(sink) as recorder, record_module(model, recorder, include=""):
        call(model)
        recorder.event("loop", "between")
        call(model)
    types = [event.event_type for event in sink.trace("run").events]
    assert types == [
        *("module.loaded", "module.entered", "module.called", "between"),
        *("module.entered", "module.called"),
    ]


@pytest.mark.parametrize(
    ("include", "components"),
    [
        pytest.param("*", {"Model", "embed", "block", "block.first", "block.second"}, id="all"),
        pytest.param("block.*", {"block.first", "block.second"}, id="a-glob"),
        pytest.param(["embed", "*.second"], {"embed", "block.second"}, id="several"),
        pytest.param("", {"Model"}, id="the-model-itself"),
    ],
)
def test_include_selects(include: Any, components: set[str]) -> None:
    """Only modules whose path fits are recorded."""
    trace = record(call, include=include)
    assert {e.component for e in trace.events if e.event_type == "module.called"} == components


def test_an_include_that_fits_nothing_is_refused() -> None:
    """The error names the glob and some paths."""
    with pytest.raises(UsageError, match=r"include 'blok\.\*' fits no module; .*block\.first"):
        record(call, include="blok.*")


def test_names_may_have_a_prefix() -> None:
    """Several modules are told apart by a name before their paths."""
    trace = record(call, name="decoder")
    assert named(trace, "decoder").event_type == "module.called"
    assert names(named(trace, "decoder.block"), "outputs") == ["decoder.block.output.hidden"]
    assert "decoder.embed.weight" in trace.events[0].payload["artifacts"]


def test_without_inputs_only_outputs() -> None:
    """Of what is read, only what arrives at the model is recorded."""
    trace = record(call, inputs=False)
    assert names(named(trace, "block.second"), "inputs") == []
    assert named(trace, "Model", "module.entered").payload["state"]["read"]
    with_inputs = record(call)
    for component in ("embed", "block.first", "block.second", "block", "Model"):
        mine, other = (named(t, component).payload["outputs"] for t in (trace, with_inputs))
        assert mine == other


def test_select_takes_a_part() -> None:
    """A function chooses what is recorded of each tensor, or that nothing is."""
    trace = record(
        call, select=lambda name, tensor: None if name.startswith("embed") else tensor[:, -1:]
    )
    assert named(trace, "block").payload["outputs"][0]["shape"] == [1, 1, 4]
    assert "outputs" not in named(trace, "embed").payload


@pytest.mark.parametrize("inputs", [True, False], ids=["inputs", "outputs-only"])
def test_draws_stand_where_they_were_made(inputs: bool) -> None:
    """A draw between two modules is recorded before the second one's call, or with it."""
    model = build()
    model.block.rate = 0.5
    trace = record(call, model, inputs=inputs)
    drawing = [event for event in trace.events if event.payload.get("rng")]
    expected = ("block", "random.drawn") if inputs else ("block.second", "module.called")
    assert [(event.component, event.event_type) for event in drawing] == [expected]
    assert drawing[0].payload["rng"][0]["generator"] == "cpu"


def test_training_mode_is_state() -> None:
    """Modules in training mode are listed, and one that changes afterwards says so."""
    model = build()
    model.block.second.training = True

    def use(model: Any) -> None:
        model.embed.training = True
        call(model)

    trace = record(use, model)
    assert trace.events[0].payload["state"]["training"] == ["block.second"]
    assert named(trace, "embed").payload["state"] == {"training": True}
    assert "state" not in named(trace, "block.second").payload


def test_autocast_is_state_and_gradients_are_context() -> None:
    """Autocast is compared, the gradient mode is printed."""

    def use(model: Any) -> None:
        with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
            model(IDS)

    payload = named(record(use), "Model", "module.entered").payload
    assert payload["state"]["autocast"] == {"cpu": "bfloat16"}
    assert payload["context"] == {"gradients": "off", "devices": ["cpu"]}


def recorded_gradients(model: Any) -> None:
    model(IDS).sum()


def inference(model: Any) -> None:
    with torch.inference_mode():
        model(IDS)


@pytest.mark.parametrize("use", [recorded_gradients, inference], ids=["gradients", "inference"])
def test_modes_give_the_same_outputs(use: Callable[[Any], None]) -> None:
    """With gradients, without, and in inference mode, the same numbers are recorded."""
    found = diff_traces(record(call, inputs=False), record(use, inputs=False))
    assert found.outcome is Outcome.EQUAL


def test_the_model_is_left_as_it_was() -> None:
    """After the block no hook is left, and the results are the same as ever."""
    model = build()
    before = model(IDS)
    record(call, model)
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
    assert torch.equal(model(IDS), before)


def test_compiled_is_one_call() -> None:
    """What torch.compile took over is recorded at its border, under the same names."""
    model = build()
    compiled = torch.compile(model, backend="eager")
    trace = record(call, compiled)
    assert [c for c, what, _ in shapes(trace) if what == "called"] == ["Model"]
    whole = record(call, model, include="")
    assert diff_traces(whole, record(call, compiled, include="")).outcome is Outcome.EQUAL


def test_a_failure_leaves_a_readable_trace(tmp_path: Path) -> None:
    """What was recorded before an exception can be read, and reads as incomplete."""
    path, model = tmp_path / "run.jsonl", build()
    model.block.second = torch.nn.Linear(7, 4)
    with (
        pytest.raises(RuntimeError, match="shapes"),
        Recorder(path) as recorder,
        record_module(model, recorder),
    ):
        call(model)
    partial = tmp_path / "run.jsonl.partial"
    text = partial.read_text("utf-8")
    assert '"component":"block.first"' in text
    assert '"component":"block.second","event_type":"module.failed"' in text
    with pytest.raises(IncompleteTrace):
        read_trace(partial)


def test_a_call_after_a_failure_starts_anew() -> None:
    """An exception that the user catches does not disturb the calls after it."""
    model = build()

    def use(model: Any) -> None:
        with pytest.raises(IndexError):
            model(torch.tensor([[99]]))
        call(model)

    trace = record(use, model)
    last = [event for event in trace.events if event.logical_step == 1]
    assert [e.component for e in last if e.event_type == "module.called"] == [
        *("embed", "block.first", "block.second", "block", "Model"),
    ]


def test_what_cannot_be_recorded_is_refused_by_name() -> None:
    """The error comes out of the call and names the tensor."""
    with pytest.raises(UsageError, match=r"cannot record weight .*meta"):
        record(lambda m: None, torch.nn.Linear(2, 2, device="meta"))


def test_threads_have_lanes() -> None:
    """Calls of several threads do not mix: each follows its own, in a lane of its own."""

    def use(model: Any) -> None:
        def work() -> None:
            for _ in range(20):
                call(model)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    trace = record(use)
    events = {event.event_id: event for event in trace.events}
    lanes: dict[Any, list[Event]] = {}
    for event in trace.events[1:]:
        lanes.setdefault(event.payload["lane"]["thread"], []).append(event)
    assert sorted(lanes) == [1, 2, 3]
    for held in lanes.values():
        assert sum(event.component == "Model" for event in held) == 40
        for event in held[1:]:
            assert event.parent_event_id is not None
            assert events[event.parent_event_id].payload["lane"] == event.payload["lane"]


def test_two_runs_are_the_same_bytes(tmp_path: Path) -> None:
    """The same work gives the same file."""
    for name in ("a", "b"):
        model = build()
        with Recorder(tmp_path / f"{name}.jsonl") as recorder, record_module(model, recorder):
            call(model)
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


@pytest.mark.parametrize(
    "given", [(build(), "run.jsonl"), (Recorder, build())], ids=["path", "swapped"]
)
def test_wrong_arguments_are_refused(given: tuple[Any, Any]) -> None:
    """Other arguments than a module and a recorder are named."""
    with (
        pytest.raises(UsageError, match=r"takes a torch\.nn\.Module and a tracediff\.Recorder"),
        record_module(*given),
    ):
        pass
