"""Records the calls of torch modules by forward hooks: what each read, drew and gave.

Knows hooks and the recorder. Must not know how tensors are summarised or which model it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final, TypeAlias

import torch

from tracediff.integrations.nested import Leaves
from tracediff.integrations.torch_calls import Call, Thread, Threads
from tracediff.integrations.torch_conditions import (
    autocast_state,
    call_context,
    is_discrete,
    is_news,
    lengths_state,
    module_settings,
)
from tracediff.integrations.torch_hooks import watch_calls
from tracediff.integrations.torch_leaves import find_tensors
from tracediff.integrations.torch_parameters import identify_parameters
from tracediff.integrations.torch_places import ModulePlace, find_places
from tracediff.integrations.torch_queue import DRAWN, CallQueue, Returned, Told
from tracediff.integrations.torch_random import Look, RandomLedger
from tracediff.integrations.torch_sightings import Sightings
from tracediff.integrations.torch_tensors import (
    copy_plain,
    record_tensor,
    snapshot_plain,
)
from tracediff.recording.levels import TensorLevel, parse_level
from tracediff.recording.recorder import Recorder
from tracediff.recording.tensor_records import Recordable

Select: TypeAlias = Callable[[str, torch.Tensor], torch.Tensor | None]
"""Returns what to record of a named tensor, None for nothing."""

LOADED: Final = "module.loaded"
ENTERED: Final = "module.entered"
CALLED: Final = "module.called"
FAILED: Final = "module.failed"

# Found once: each part of a dotted name costs a hook time.
_is_compiling = torch.compiler.is_compiling
_is_tracing = torch.jit.is_tracing


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
    leave_out: str | Sequence[str] = (),
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
    `generators` are random generators beside torch's own; `leave_out` are globs over names of
    arguments and results that are not looked at. What was compiled (`torch.compile`) is recorded
    as one call.

    Raises UsageError for an `include` that fits no module, out of the call for what a trace cannot
    hold, and at the end of a block in which no call of a recorded module gave anything to compare.
    """
    places = find_places(module, include, name)
    level = parse_level(level) if isinstance(level, str) else level or recorder.level
    ledger = RandomLedger(generators)
    left_out = (leave_out,) if isinstance(leave_out, str) else tuple(leave_out)
    recording = ModuleRecording(recorder, level, inputs, ledger, select, left_out)
    recording.load(module, places, name if parameters else None)
    recorder.add_source(recording.flush)
    try:
        with watch_calls(places, recording, inputs=inputs):
            yield recording
        recording.check(places[module].component)
    except BaseException:
        recording.fail()
        raise
    finally:
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
        leave_out: Sequence[str] = (),
    ) -> None:
        self._recorder = recorder
        self._level = level
        self._inputs = inputs
        self._random = random
        self._select = select
        self._queue = CallQueue(recorder, self._tell)
        self._threads = Threads()
        self._training: frozenset[str] = frozenset()
        self._leave_out = leave_out
        self._takes_all = select is None and not leave_out
        self._sightings = Sightings()

    @property
    def step(self) -> int | None:
        """The step of the present thread's next calls; None where calls of the module count."""
        return self._threads.current().fixed_step

    @step.setter
    def step(self, step: int | None) -> None:
        self._threads.current().fixed_step = step

    @property
    def at_border(self) -> bool:
        """Whether the present thread is in compiled code, which is recorded as one call."""
        return self._threads.current().at_border

    @at_border.setter
    def at_border(self, at_border: bool) -> None:
        self._threads.current().at_border = at_border

    def in_lane(self, name: str) -> AbstractContextManager[None]:
        """Return a context in which the present thread's calls stand in the lane `name`.

        For work that a pool hands to whichever thread is free: name the work, not the thread.
        """
        return self._threads.in_lane(name)

    @property
    def random(self) -> RandomLedger:
        """The ledger of draws, for what draws between calls: each draw is told once."""
        return self._random

    def flush(self) -> None:
        """Record the calls that wait; needed by nobody who records by the same recorder."""
        self._queue.flush()

    def check(self, component: str) -> None:
        """Raise UsageError where nothing was recorded that a comparison could look at."""
        self.flush()
        self._sightings.check(component)

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
            settings={"modules": module_settings(places)} | self._left_out(),
        )

    def _left_out(self) -> dict[str, Any]:
        return {"left_out": list(self._leave_out)} if self._leave_out else {}

    def enter(
        self,
        place: ModulePlace,
        module: torch.nn.Module,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        """Hook: a module is about to be called."""
        if _is_compiling():
            if place.is_outer:
                self._sightings.compiling = True  # each time that what torch makes of it is run
            return
        thread = self._threads.current()
        if thread.at_border or _is_tracing():
            return
        self._note_draws(thread, place)
        call = thread.enter(place, module)
        is_inside = len(thread.open) > 1
        if not place.is_recorded or (is_inside and not self._inputs):
            return
        arrived = self._arrived(thread, place, place.arguments(args, kwargs, self._leave_out))
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
        if _is_compiling():
            return
        thread = self._threads.current()
        call = None if thread.at_border else thread.leave(place)
        if call is None:
            return
        if not place.is_recorded:
            self._note_draws(thread, place)
            return
        self._returned(thread, call, module, output)

    def meet(
        self, place: ModulePlace, module: torch.nn.Module, args: tuple[Any, ...], output: Any
    ) -> None:
        """Hook: a module of which nothing but the output is recorded has returned."""
        if _is_compiling() or _is_tracing():
            return
        thread = self._threads.current()
        if not thread.at_border:
            self._returned(thread, thread.pass_by(place, module), module, output)

    def _returned(self, thread: Thread, call: Call, module: torch.nn.Module, output: Any) -> None:
        """Record what a call gave."""
        if isinstance(output, torch.Tensor) and self._takes_all:
            copy = copy_plain(output)
            if copy is not None:
                if self._inputs:
                    thread.seen.add(output, None)
                several, look = self._threads.count > 1, self._random.look()
                self._queue.add(Returned(thread, call, several, look, copy, module.training))
                return
        leaves = find_tensors(call.place.output, output, leave_out=self._leave_out)
        outputs: dict[str, Recordable] = {}
        for name, tensor in leaves.tensors.items():
            self._add(thread, name, tensor, outputs)
        self._sightings.call = True
        self._sightings.result |= bool(outputs or leaves.scalars)
        self._emit(
            thread,
            call,
            CALLED,
            self._random.look(),
            state=self._state(call, module.training, lengths_state(leaves)),
            inputs=call.inputs,
            outputs=outputs,
            choice=leaves.scalars,
        )

    def _tell(self, returned: Returned) -> Told:
        thread, call, several, look, copy, training = returned
        self._sightings.call = self._sightings.result = True
        sections = {
            "state": self._state(call, training, {}),
            "inputs": call.inputs,
            "outputs": {call.place.output: copy.snapshot(self._level)},
        }
        return Told(thread, call, several, look, CALLED, sections)

    def _state(self, call: Call, training: bool, given: dict[str, Any]) -> dict[str, Any]:
        state = {**(call.state or {}), **given}
        if training is not (call.place.component in self._training):
            state["training"] = training
        return state

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
        call = thread.open[-1] if thread.open else Call(place, thread.step, 0)
        self._emit(thread, call, DRAWN, self._random.look())

    def _emit(
        self,
        thread: Thread,
        call: Call,
        event_type: str,
        look: Look | None = None,
        **sections: Any,
    ) -> None:
        several = self._threads.count > 1
        self._queue.add(Told(thread, call, several, look, event_type, sections))
