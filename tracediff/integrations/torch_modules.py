"""Records the calls of torch modules by forward hooks: what each read, drew and gave.

Knows hooks and the recorder. Must not know how tensors are summarised or which model it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, TypeAlias

import torch

from tracediff.integrations.nested import Leaves, find_leaves
from tracediff.integrations.torch_calls import Call, Thread, Threads
from tracediff.integrations.torch_conditions import (
    autocast_state,
    call_context,
    is_discrete,
    is_news,
    lengths_state,
    module_settings,
)
from tracediff.integrations.torch_parameters import identify_parameters
from tracediff.integrations.torch_places import ModulePlace, find_places
from tracediff.integrations.torch_queue import CallQueue
from tracediff.integrations.torch_random import RandomLedger
from tracediff.integrations.torch_tensors import is_tensor, record_tensor, snapshot_plain
from tracediff.recording.levels import TensorLevel, parse_level
from tracediff.recording.recorder import Recorder
from tracediff.recording.tensor_records import Recordable

Select: TypeAlias = Callable[[str, torch.Tensor], torch.Tensor | None]
"""Returns what to record of a named tensor, None for nothing."""

LOADED: Final = "module.loaded"
ENTERED: Final = "module.entered"
CALLED: Final = "module.called"
FAILED: Final = "module.failed"
DRAWN: Final = "random.drawn"


@contextmanager
def record_module(
    module: torch.nn.Module,
    recorder: Recorder,
    *,
    include: str | Sequence[str] = "*",
    level: TensorLevel | str | None = None,
    name: str = "",
    inputs: bool = True,
    parameters: bool = True,
    select: Select | None = None,
    generators: Mapping[str, torch.Generator] | None = None,
) -> Iterator[ModuleRecording]:
    """Record every call of `module` and of the modules in it while the block runs.

        with Recorder("before.jsonl") as recorder, record_module(model, recorder):
            model(ids)

    One event `module.loaded` identifies parameters and buffers (not without `parameters`). Then
    each call is one `module.called`, in the order in which calls end: its component is the path of
    the module, its step counts the calls of `module`, its outputs are named `PATH.output`, with
    `[0]`, `.key` … for what nests. Before them, `module.entered` says what arrives at a module
    with submodules from outside of what is recorded. A draw of random numbers stands with the
    call in which it was made, or as `random.drawn` before the next call.

    `include` are globs over paths (`module` itself is the empty path); `level` is that of the
    recorder if not given; `name` goes before all paths, for recordings of several modules; without
    `inputs` only what arrives at `module` is recorded of what is read; `select` takes the name and
    the tensor and returns what to record of it, a row of a batch for example, or None for nothing;
    `generators` are random generators beside torch's own. What was compiled (`torch.compile`) is
    recorded as one call.

    Raises UsageError for an `include` that fits no module, and out of the call for a tensor that
    a trace cannot hold.
    """
    places = find_places(module, include, name)
    level = parse_level(level) if isinstance(level, str) else level or recorder.level
    recording = ModuleRecording(recorder, level, inputs, RandomLedger(generators), select)
    recording.load(module, places, name if parameters else None)
    handles = []
    recorder.add_source(recording.flush)
    try:
        for held, place in places.items():
            if inputs or not place.is_leaf or place.is_outer:
                enter = partial(recording.enter, place)
                handles.append(held.register_forward_pre_hook(enter, with_kwargs=True))
                leave = partial(recording.leave, place)
            else:  # a hook before each call costs as much as what it would find
                leave = partial(recording.meet, place)
            handles.append(held.register_forward_hook(leave))
        yield recording
    except BaseException:
        recording.fail()
        raise
    finally:
        for handle in handles:
            handle.remove()
        recorder.remove_source(recording.flush)


class ModuleRecording:
    """A recording under way; its hooks may be called from several threads."""

    def __init__(
        self,
        recorder: Recorder,
        level: TensorLevel,
        inputs: bool,
        random: RandomLedger,
        select: Select | None = None,
    ) -> None:
        self._recorder = recorder
        self._level = level
        self._inputs = inputs
        self._random = random
        self._select = select
        self._queue = CallQueue(recorder)
        self._threads = Threads()
        self._training: frozenset[str] = frozenset()

    @property
    def step(self) -> int | None:
        """The step of the present thread's next calls; None where calls of the module count."""
        return self._threads.current().fixed_step

    @step.setter
    def step(self, step: int | None) -> None:
        self._threads.current().fixed_step = step

    @property
    def random(self) -> RandomLedger:
        """The ledger of draws, for what draws between calls: each draw is told once."""
        return self._random

    def flush(self) -> None:
        """Record the calls that wait; needed by nobody who records by the same recorder."""
        self._queue.flush()

    def load(
        self,
        module: torch.nn.Module,
        places: Mapping[torch.nn.Module, ModulePlace],
        name: str | None,
    ) -> None:
        """Record what `module` consists of; without `name`, not its parameters."""
        prefix = f"{name}." if name else ""
        identities, sums = ({}, {}) if name is None else identify_parameters(module, prefix)
        training = [place.component for held, place in places.items() if held.training]
        self._training = frozenset(training)
        self._queue.first_event = self._recorder.event(
            places[module].component,
            LOADED,
            artifacts=identities,
            state={"training": training, "parameter_sums": sums},
            settings={"modules": module_settings(places)},
        )

    def enter(
        self,
        place: ModulePlace,
        module: torch.nn.Module,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        """Hook: a module is about to be called."""
        if torch.compiler.is_compiling() or torch.jit.is_tracing():
            return
        thread = self._threads.current()
        self._note_draws(thread, place)
        is_inside = bool(thread.open)
        call = thread.enter(place)
        if not place.is_recorded or (is_inside and not self._inputs):
            return
        arrived = self._arrived(thread, place, place.arguments(args, kwargs))
        if place.is_leaf and is_inside:
            call.inputs, call.state = arrived
        elif not is_inside or is_news(*arrived):
            inputs, state = arrived
            if not is_inside:
                state |= autocast_state()
            context = None if is_inside else call_context(module)
            self._emit(thread, call, ENTERED, state=state, inputs=inputs, context=context)

    def leave(
        self, place: ModulePlace, module: torch.nn.Module, args: tuple[Any, ...], output: Any
    ) -> None:
        """Hook: a module has returned."""
        if torch.compiler.is_compiling():
            return
        thread = self._threads.current()
        call = thread.leave(place)
        if call is None:
            return
        if not place.is_recorded:
            self._note_draws(thread, place)
            return
        leaves = find_leaves(f"{place.prefix}output", output, is_tensor)
        outputs: dict[str, Recordable] = {}
        for name, tensor in leaves.tensors.items():
            self._add(thread, name, tensor, outputs)
        state = call.state | lengths_state(leaves)
        if module.training is not (place.component in self._training):
            state["training"] = module.training
        self._emit(
            thread,
            call,
            CALLED,
            state=state,
            inputs=call.inputs,
            rng=self._random.draws(),
            outputs=outputs,
            choice=leaves.scalars,
        )

    def meet(
        self, place: ModulePlace, module: torch.nn.Module, args: tuple[Any, ...], output: Any
    ) -> None:
        """Hook: a module of which nothing but the output is recorded has returned."""
        if torch.compiler.is_compiling() or torch.jit.is_tracing():
            return
        self._threads.current().enter(place)
        self.leave(place, module, args, output)

    def fail(self) -> None:
        """Record the innermost call of the present thread that an exception ended."""
        thread = self._threads.current()
        if not thread.open:
            return
        call = thread.open[-1]
        self._emit(thread, call, FAILED, state=call.state, inputs=call.inputs)

    def _arrived(
        self, thread: Thread, place: ModulePlace, leaves: Leaves
    ) -> tuple[dict[str, Recordable], dict[str, Any]]:
        """Return the tensors that no recorded module gave, and discrete values, as `state`."""
        tensors: dict[str, Recordable] = {}
        state: dict[str, Any] = lengths_state(leaves) if not place.is_leaf else {}
        arguments: dict[str, Any] = dict(leaves.scalars)
        for name, tensor in leaves.tensors.items():
            if thread.seen.is_unchanged(tensor):
                continue
            chosen = self._selected(name, tensor)
            if chosen is not None and is_discrete(chosen):
                arguments[name] = chosen.tolist()
                thread.seen.add(tensor, None)
            else:
                self._add(thread, f"{place.prefix}{name}", tensor, tensors)
        if arguments:
            state["read"] = arguments
        return tensors, state

    def _add(
        self, thread: Thread, name: str, tensor: torch.Tensor, found: dict[str, Recordable]
    ) -> None:
        """Put the records of a tensor into `found`."""
        chosen = self._selected(name, tensor)
        plain = None if chosen is None else snapshot_plain(chosen, self._level)
        if plain is not None:
            found[name] = plain
            if self._inputs:
                thread.seen.add(tensor, None)
            return
        known = thread.seen.record_of(tensor)
        parts: dict[str, Recordable] = {}
        if chosen is not None:
            parts.update(
                record_tensor(name, chosen, self._level, known=known, workspace=thread.workspace)
            )
        found.update(parts)
        thread.seen.add(tensor, parts.get(name))

    def _selected(self, name: str, tensor: torch.Tensor) -> torch.Tensor | None:
        return tensor if self._select is None else self._select(name, tensor)

    def _note_draws(self, thread: Thread, place: ModulePlace) -> None:
        """Record what was drawn since the last call began or ended, with the call around it."""
        draws = self._random.draws()
        if draws:
            call = thread.open[-1] if thread.open else Call(place, thread.step, 0)
            self._emit(thread, call, DRAWN, rng=draws)

    def _emit(self, thread: Thread, call: Call, event_type: str, **sections: Any) -> None:
        self._queue.add(thread, call, event_type, self._threads.count > 1, sections)
