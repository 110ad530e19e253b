"""A recording of torch modules under way: what its hooks are told becomes events.

Knows calls, what may be kept of them at once, and the order of events. Must not know how tensors
are summarised or which model it is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

import torch

from tracediff.errors import UsageError
from tracediff.integrations.nested import Leaves
from tracediff.integrations.torch_calls import Call, SeenTensors, Thread, Threads
from tracediff.integrations.torch_conditions import (
    autocast_state,
    call_context,
    is_news,
    lengths_state,
)
from tracediff.integrations.torch_contents import ModuleContents
from tracediff.integrations.torch_leaves import find_tensors
from tracediff.integrations.torch_places import ModulePlace
from tracediff.integrations.torch_queue import DRAWN, CallQueue, Returned, Told, size_of
from tracediff.integrations.torch_random import Look, RandomLedger
from tracediff.integrations.torch_sightings import Sightings
from tracediff.integrations.torch_taking import Select, TensorTaker
from tracediff.integrations.torch_tensors import stored_snapshot
from tracediff.integrations.torch_writes import Arguments
from tracediff.recording.levels import TensorLevel
from tracediff.recording.recorder import Recorder

ENTERED: Final = "module.entered"
CALLED: Final = "module.called"
FAILED: Final = "module.failed"

NOTHING: Final = Leaves({}, {}, {})

# Found once: each part of a dotted name costs a hook time.
_is_compiling = torch.compiler.is_compiling
_is_tracing = torch.jit.is_tracing


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
        self._taker = TensorTaker(level, select, leave_out, inputs)
        self._queue = CallQueue(recorder, self._tell)
        self._threads = Threads()
        self._leave_out = leave_out
        self._contents: ModuleContents | None = None
        self._sightings = Sightings()
        self._process = os.getpid()
        self.come_last: Callable[[], None] = lambda: None

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

    @property
    def loaded(self) -> str:
        """The id of the event that says what the module consists of."""
        return self._queue.first_event

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
        self._contents = ModuleContents(self._recorder, module, places, name)
        self._queue.first_event = self._contents.load(self._leave_out)

    def tell_changes(self) -> None:
        """Record the parameters, buffers and gradients that the block has changed."""
        self.flush()
        thread = self._threads.current()
        if self._contents is not None:
            self._contents.tell_changes(thread.step, self._level, thread.workspace)

    def _refuse_fork(self, place: ModulePlace) -> None:
        if os.getpid() != self._process:
            raise UsageError(
                f"{place.component} is called in a process that was forked while it is recorded: "
                "the calls would be lost, or damage the trace; record inside of that process"
            )

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
        if not thread.open:
            self.come_last()
            self._refuse_fork(place)
        if self._inputs or not thread.open:
            self._note_draws(thread, place)
        call = thread.enter(place, module)
        is_inside = len(thread.open) > 1
        if not place.is_recorded or (is_inside and not self._inputs):
            return
        if is_inside and place.is_leaf and self._taker.knows(thread, args, kwargs):
            return
        arguments = place.arguments(args, kwargs, self._leave_out)
        if not is_inside:
            call.arguments = Arguments(arguments)
        arrived = self._taker.take_arguments(thread, place, arguments)
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
        self.leave_outer(place, module, args, {}, output)

    def leave_outer(
        self,
        place: ModulePlace,
        module: torch.nn.Module,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        output: Any,
    ) -> None:
        """Hook: a module has returned, and this is what it was given."""
        if _is_compiling():
            return
        thread = self._threads.current()
        call = None if thread.at_border else thread.leave(place)
        if call is None:
            return
        if not place.is_recorded:
            self._note_draws(thread, place)
            return
        written = NOTHING
        if call.arguments is not None:
            written = call.arguments.written(place.arguments(args, kwargs, self._leave_out))
        if written.tensors or written.scalars:
            self._returned(thread, call, module, output, written)
        elif not self._took_plain(thread, call, place, module, output):
            self._returned(thread, call, module, output)

    def meet(
        self, place: ModulePlace, module: torch.nn.Module, args: tuple[Any, ...], output: Any
    ) -> None:
        """Hook: a module of which nothing but the output is recorded has returned."""
        if _is_compiling() or _is_tracing():
            return
        thread = self._threads.current()
        if not thread.at_border and not self._took_plain(thread, None, place, module, output):
            if not thread.open:
                thread.seen = SeenTensors()
            self._returned(thread, Call(place, thread.step, thread.passage), module, output)

    def _took_plain(
        self,
        thread: Thread,
        call: Call | None,
        place: ModulePlace,
        module: torch.nn.Module,
        output: Any,
    ) -> bool:
        """Have what a call gave wait, if it is one usual tensor."""
        taken = self._taker.take_plain(thread, output)
        if taken is None:
            return False
        held, shape = taken
        passage, fixed, several = thread.passage, thread.fixed_step, self._threads.count > 1
        look, training = self._random.look(), module.training
        self._queue.add(
            Returned(thread, call, place, passage, fixed, several, look, held, shape, training),
            size_of(held),
        )
        return True

    def _returned(
        self,
        thread: Thread,
        call: Call,
        module: torch.nn.Module,
        output: Any,
        written: Leaves = NOTHING,
    ) -> None:
        """Record what a call gave, and what it wrote into its arguments."""
        leaves = find_tensors(call.place.output, output, leave_out=self._leave_out)
        outputs = self._taker.take_all(thread, leaves)
        arguments = {call.place.prefix + name: held for name, held in written.tensors.items()}
        outputs |= self._taker.take_all(thread, Leaves(arguments, {}, {}))
        choice = leaves.scalars | written.scalars
        self._sightings.call = True
        self._sightings.result |= bool(outputs or choice)
        self._emit(
            thread,
            call,
            CALLED,
            self._random.look(),
            state=self._state(call, module.training, lengths_state(leaves)),
            inputs=call.inputs,
            outputs=outputs,
            choice=choice,
        )

    def _tell(self, returned: Returned) -> Told:
        call = returned.described_call()
        self._sightings.call = self._sightings.result = True
        held = returned.held
        if isinstance(held, bytes):
            held = stored_snapshot(held, returned.shape, self._level)
        sections = {
            "state": self._state(call, returned.training, {}),
            "inputs": call.inputs,
            "outputs": {call.place.output: held},
        }
        return Told(returned.thread, call, returned.several, returned.look, CALLED, sections)

    def _state(self, call: Call, training: bool, given: dict[str, Any]) -> dict[str, Any]:
        state = {**(call.state or {}), **given}
        known = frozenset() if self._contents is None else self._contents.training
        if training is not (call.place.component in known):
            state["training"] = training
        return state

    def fail(self) -> None:
        """Record the innermost call of the present thread that an exception ended."""
        thread = self._threads.current()
        if not thread.open:
            return
        call = thread.open[-1]
        self._emit(thread, call, FAILED, state=call.state, inputs=call.inputs)

    def _note_draws(self, thread: Thread, place: ModulePlace) -> None:
        """Record what was drawn since the last call began or ended, with the call around it."""
        call = thread.open[-1] if thread.open else Call(place, thread.step, thread.passage, 0)
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
        tensors = (
            *(sections.get("inputs") or {}).values(),
            *(sections.get("outputs") or {}).values(),
        )
        size = sum(map(size_of, tensors))
        self._queue.add(Told(thread, call, several, look, event_type, sections), size)
