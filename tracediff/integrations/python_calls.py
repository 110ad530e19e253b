"""Records plain Python: calls of functions, blocks of code, and what a logger is told.

Knows functions, blocks and loggers. Must not know any engine or what an array is.
"""

from __future__ import annotations

import functools
import inspect
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, ParamSpec, TypeVar, cast

import numpy as np

from tracediff.errors import UsageError
from tracediff.integrations.nested import Leaves, find_leaves
from tracediff.integrations.python_arrays import is_array, read_array
from tracediff.recording.recordable import Snapshot, Tensor
from tracediff.recording.recorder import Recorder
from tracediff.recording.tensor_records import Recordable

CALLED: Final = "function.called"
FINISHED: Final = "block.finished"

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def recorded(
    recorder: Recorder, component: str | None = None, *, leave_out: Sequence[str] = ()
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Return a decorator with which each call of a function is an event.

        @recorded(recorder)
        def update(x, rate): ...

    Arrays among the arguments, which may nest, are `inputs` by the names of parameters, as they
    were before the call, defaults among them; those among the results are `outputs` called
    `output`, with `[0]`, `.key` … for what nests. Plain values are `state` and `choice`. Of a
    method, the object itself (`self`, `cls`) is not read. `component` is the function's qualified
    name if not given; the step counts its calls. What fits a glob of `leave_out` is not recorded:
    `rng`, `output.cache.*`. A call that raises records nothing; one of an `async def` is recorded
    when it is done.

    Raises UsageError for a function that yields, which is not done when it returns, and out of the
    call for what a trace cannot hold.
    """

    def decorate(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        name = component or function.__qualname__
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise UsageError(
                f"cannot record {name}: it yields its results one by one; record the function "
                "that makes one of them, or give each to a recorded_block"
            )
        calls = _Calls(recorder, name, inspect.signature(function), tuple(leave_out))
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def call_async(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Any:
                begun = calls.begin(args, kwargs)
                result = await function(*args, **kwargs)
                calls.end(begun, result)
                return result

            return cast("Callable[Parameters, Result]", call_async)

        @functools.wraps(function)
        def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
            begun = calls.begin(args, kwargs)
            result = function(*args, **kwargs)
            calls.end(begun, result)
            return result

        return call

    return decorate


class _Begun(NamedTuple):
    step: int
    state: dict[str, Any]
    inputs: dict[str, Recordable]


class _Calls:
    """The calls of one function."""

    def __init__(
        self,
        recorder: Recorder,
        name: str,
        signature: inspect.Signature,
        leave_out: tuple[str, ...],
    ) -> None:
        self._recorder = recorder
        self._name = name
        self._signature = signature
        self._leave_out = leave_out
        self._count = _Counter()

    def begin(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Begun:
        """Return what the function is given, as it is before the call."""
        bound = self._signature.bind(*args, **kwargs)
        given = set(bound.arguments)
        bound.apply_defaults()
        step = self._count.next()
        leaves = Leaves({}, {}, {})
        for index, (name, value) in enumerate(bound.arguments.items()):
            if index == 0 and name in ("self", "cls"):
                continue
            try:
                self._find(name, value, leaves)
            except UsageError:
                if name in given:
                    raise  # a default that cannot be recorded is part of the code
        return _Begun(step, leaves.scalars, _snapshots(leaves))

    def end(self, begun: _Begun, result: Any) -> None:
        """Record a call that returned."""
        given = find_leaves("output", result, is_array, leave_out=self._leave_out)
        tensors: dict[str, Recordable] = {}
        for key, array in given.tensors.items():
            numbers, logical = read_array(key, array)
            tensors[key] = Tensor(numbers, logical)
        self._recorder.event(
            self._name,
            CALLED,
            logical_step=begun.step,
            state=begun.state or None,
            inputs=begun.inputs or None,
            outputs=tensors or None,
            choice=given.scalars or None,
        )

    def _find(self, name: str, value: Any, leaves: Leaves) -> None:
        find_leaves(name, value, is_array, leaves, names_code=True, leave_out=self._leave_out)


class Block:
    """A block of code under way; `give` says what it has made."""

    def __init__(self) -> None:
        self.outputs: dict[str, Recordable] = {}
        self.choice: dict[str, Any] = {}

    def give(self, **results: Any) -> None:
        """Take results by name, as they are now: arrays, plain values, and what nests of them."""
        leaves = _leaves_of(results)
        outputs = _snapshots(leaves)
        for name in (*outputs, *leaves.scalars):
            if name in self.outputs or name in self.choice:
                raise UsageError(f"{name} was given to this block before; give it another name")
        self.outputs.update(outputs)
        self.choice.update(leaves.scalars)


@contextmanager
def recorded_block(
    recorder: Recorder, component: str, *, step: int = 0, **inputs: Any
) -> Iterator[Block]:
    """Record a block of code as one event when it ends; one that raises records nothing.

    with recorded_block(recorder, "attention", step=3, query=query) as block:
        block.give(scores=query @ keys.T)
    """
    read, block = _leaves_of(inputs), Block()
    held = _snapshots(read)
    yield block
    recorder.event(
        component,
        FINISHED,
        logical_step=step,
        state=read.scalars or None,
        inputs=held or None,
        outputs=block.outputs or None,
        choice=block.choice or None,
    )


class RecordingHandler(logging.Handler):
    """A logging handler that records what a message carries.

        logging.getLogger("loop").addHandler(RecordingHandler(recorder))
        logging.getLogger("loop").info("updated", extra={"arrays": {"x": x}, "step": 3})

    The logger's name is the component, the message the type of the event, `arrays` its outputs,
    `step` its step (0 if not given). Messages without `arrays` are left alone.
    """

    def __init__(self, recorder: Recorder, level: int = logging.NOTSET) -> None:
        super().__init__(level)
        self._recorder = recorder

    def emit(self, record: logging.LogRecord) -> None:
        """Record one message; raises UsageError for arrays that a trace cannot hold."""
        arrays = getattr(record, "arrays", None)
        if arrays is None:
            return
        if not isinstance(arrays, Mapping):
            raise UsageError(
                f'extra={{"arrays": …}} takes a mapping of names to arrays, such as '
                f'{{"x": x}}, not a {type(arrays).__name__}'
            )
        leaves = _leaves_of(arrays)
        self._recorder.event(
            record.name,
            record.getMessage(),
            logical_step=getattr(record, "step", 0),
            outputs=_snapshots(leaves) or None,
            choice=leaves.scalars or None,
        )


class _Counter:
    """Counts from 0; threads may share it."""

    def __init__(self) -> None:
        self._next = 0
        self._lock = threading.Lock()

    def next(self) -> int:
        with self._lock:
            self._next += 1
            return self._next - 1


def _leaves_of(values: Mapping[str, Any]) -> Leaves:
    leaves = Leaves({}, {}, {})
    for name, value in values.items():
        find_leaves(name, value, is_array, leaves)
    return leaves


def _snapshots(leaves: Leaves) -> dict[str, Recordable]:
    found: dict[str, Recordable] = {}
    for name, array in leaves.tensors.items():
        numbers, logical = read_array(name, array)
        found[name] = Snapshot(np.array(numbers, order="C"), logical)
    return found
