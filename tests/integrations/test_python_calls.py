"""Plain functions, blocks and log messages as events."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tracediff import Recorder
from tracediff.errors import UsageError
from tracediff.events import Event
from tracediff.integrations.python_calls import RecordingHandler, recorded, recorded_block
from tracediff.recording.sinks import MemorySink

LAZY = (item for item in "ab")


def events_of(use: Callable[[Recorder], None]) -> tuple[Event, ...]:
    sink = MemorySink()
    with Recorder(sink) as recorder:
        use(recorder)
    return sink.trace("run").events


def values(event: Event, section: str) -> dict[str, Any]:
    return {record["name"]: record.get("values") for record in event.payload.get(section, [])}


def test_calls_are_events() -> None:
    """Each call has arguments by name, results, plain values and a step."""

    def use(recorder: Recorder) -> None:
        @recorded(recorder, "loop")
        def update(x: Any, pair: Any, rate: float = 0.5) -> Any:
            return {"x": x * rate, "count": len(pair)}

        for start in (1.0, 2.0):
            update(np.array([start]), (np.array([3]), None))

    first, second = events_of(use)
    assert (first.component, first.event_type) == ("loop", "function.called")
    assert [first.logical_step, second.logical_step] == [0, 1]
    assert values(second, "inputs") == {"x": [2.0], "pair": [3]}
    assert values(second, "outputs") == {"output.x": [1.0]}
    assert second.payload["choice"] == {"output.count": 2}


def test_inputs_are_those_before_the_call() -> None:
    """A function that changes its argument in place does not change what it was given."""

    def use(recorder: Recorder) -> None:
        @recorded(recorder)
        def double(x: Any) -> None:
            x *= 2

        double(np.array([4.0]))

    assert values(events_of(use)[0], "inputs") == {"x": [4.0]}


def test_names_and_results_stay() -> None:
    """The decorated function is still the function."""

    def use(recorder: Recorder) -> None:
        @recorded(recorder)
        def triple(x: int) -> int:
            """Say it."""
            return 3 * x

        assert triple(x=2) == 6
        assert (triple.__name__, triple.__doc__) == ("triple", "Say it.")

    (event,) = events_of(use)
    assert event.component.endswith("triple")
    assert (event.payload["state"], event.payload["choice"]) == ({"x": 2}, {"output": 6})


def test_a_block_is_an_event() -> None:
    """A block has what it was given and what it gave, when it gave it."""

    def use(recorder: Recorder) -> None:
        query = np.array([1.0, 2.0])
        with recorded_block(recorder, "attention", step=3, query=query, heads=2) as block:
            query += 1
            block.give(scores=query, best=1)
            query += 1

    (event,) = events_of(use)
    assert (event.component, event.logical_step) == ("attention", 3)
    assert values(event, "inputs") == {"query": [1.0, 2.0]}
    assert values(event, "outputs") == {"scores": [2.0, 3.0]}
    assert (event.payload["state"], event.payload["choice"]) == ({"heads": 2}, {"best": 1})


def test_what_raises_records_nothing() -> None:
    """Neither a call nor a block that ends by an exception is an event."""

    def use(recorder: Recorder) -> None:
        recorder.event("a", "start")

        @recorded(recorder)
        def fail() -> None:
            raise ArithmeticError

        with pytest.raises(ArithmeticError):
            fail()
        with pytest.raises(ArithmeticError), recorded_block(recorder, "block"):
            raise ArithmeticError

    assert [event.event_type for event in events_of(use)] == ["start"]


def test_log_messages_are_events() -> None:
    """A message with arrays is recorded, one without is left alone."""

    def use(recorder: Recorder) -> None:
        logger = logging.getLogger("tests.loop")
        logger.setLevel(logging.INFO)
        handler = RecordingHandler(recorder)
        logger.addHandler(handler)
        try:
            logger.info("nothing to keep")
            logger.info("updated", extra={"arrays": {"x": np.array([7])}, "step": 4})
            with pytest.raises(UsageError, match="takes a mapping"):
                logger.info("wrong", extra={"arrays": [1]})
        finally:
            logger.removeHandler(handler)

    (event,) = events_of(use)
    assert (event.component, event.event_type) == ("tests.loop", "updated")
    assert (event.logical_step, values(event, "outputs")) == (4, {"x": [7]})


def test_defaults_are_arguments() -> None:
    """A call that leaves a default to the function is the same as one that gives it."""

    def use(recorder: Recorder) -> None:
        @recorded(recorder)
        def scale(x: Any, rate: float = 0.5, unread: Any = LAZY) -> Any:
            return x * rate

        scale(np.array([2.0]))
        scale(np.array([2.0]), rate=0.5)

    first, second = events_of(use)
    assert first.payload["state"] == second.payload["state"] == {"rate": 0.5}


def test_coroutines_are_recorded_when_they_are_done() -> None:
    """The result of an `async def` is what it returns, not what waits for it."""

    def use(recorder: Recorder) -> None:
        @recorded(recorder)
        async def double(x: Any) -> Any:
            await asyncio.sleep(0)
            return 2 * x

        asyncio.run(double(np.array([2.0])))

    assert values(events_of(use)[0], "outputs") == {"output": [4.0]}


def test_functions_that_yield_are_refused() -> None:
    """They are not done when they return."""

    def count() -> Any:
        yield 1

    async def count_later() -> Any:
        yield 1

    def use(recorder: Recorder) -> None:
        recorder.event("a", "start")
        for function in (count, count_later):
            with pytest.raises(UsageError, match="it yields its results"):
                recorded(recorder)(function)

    events_of(use)


def test_what_cannot_be_recorded_is_refused_or_left_out() -> None:
    """Nothing is dropped without a word."""

    def use(recorder: Recorder) -> None:
        def draw(lazy: Any, x: Any) -> Any:
            return {"x": x, "lazy": lazy}

        with pytest.raises(UsageError, match=r"cannot record lazy \(generator\)"):
            recorded(recorder)(draw)((item for item in "a"), np.array([1.0]))
        kept = recorded(recorder, leave_out=["lazy", "output.lazy"])(draw)
        kept((item for item in "a"), np.array([1.0]))

    (event,) = events_of(use)
    assert values(event, "outputs") == {"output.x": [1.0]}


def test_methods_are_recorded_without_their_object() -> None:
    """Of a method's arguments, `self` is not read."""

    def use(recorder: Recorder) -> None:
        class Loop:
            @recorded(recorder)
            def update(self, x: Any) -> Any:
                return x

        Loop().update(np.array([1.0]))

    assert values(events_of(use)[0], "inputs") == {"x": [1.0]}


def test_a_block_takes_each_name_once() -> None:
    """A second value of one name would take the place of the first."""

    def use(recorder: Recorder) -> None:
        with recorded_block(recorder, "loop") as block:
            block.give(x=np.array([1.0]))
            with pytest.raises(UsageError, match="x was given"):
                block.give(x=np.array([2.0]))

    assert values(events_of(use)[0], "outputs") == {"x": [1.0]}


@pytest.mark.torch
def test_gradients_do_not_keep_a_tensor_from_being_recorded() -> None:
    """A tensor of torch is recorded without its gradient."""
    torch = pytest.importorskip("torch", reason="needs torch: pip install 'tracediff[torch]'")

    def use(recorder: Recorder) -> None:
        @recorded(recorder)
        def double(x: Any) -> Any:
            return 2 * x

        assert double(torch.ones(1, requires_grad=True)).requires_grad

    (event,) = events_of(use)
    assert (values(event, "inputs"), values(event, "outputs")) == ({"x": [1.0]}, {"output": [2.0]})
