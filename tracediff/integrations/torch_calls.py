"""The calls under way, thread by thread: steps, ordinals, and which tensors were seen already.

Knows order and identity. Must not know the recorder or what a tensor holds.
"""

from __future__ import annotations

import re
import sys
import threading
import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import torch

from tracediff.integrations.torch_places import ModulePlace
from tracediff.integrations.torch_writes import Arguments
from tracediff.recording.kernels import load_kernels
from tracediff.recording.scratch import Workspace
from tracediff.recording.tensor_records import Recordable

_CALL: Final = torch.nn.Module._call_impl.__code__
_DEFAULT_NAME: Final = re.compile(r"(Thread|Dummy|ThreadPoolExecutor)-\d|asyncio_\d")


class Passage:
    """One call of the outer module: its number, and how often each module was called in it."""

    __slots__ = ("_ordinals", "number")

    def __init__(self, number: int) -> None:
        self.number = number
        self._ordinals: dict[str, int] = {}

    def count(self, component: str) -> int:
        """Return how often a module was called before, and count one more call."""
        ordinal = self._ordinals.get(component, 0)
        self._ordinals[component] = ordinal + 1
        return ordinal


@dataclass(slots=True)
class Call:
    """One call: the module, its step, what it read, and how often it was called before.

    `arguments` are those of an outermost call, which may write into them.

    The ordinal of a call that was met when it was over is None until the call is recorded.
    """

    place: ModulePlace
    step: int
    passage: Passage
    ordinal: int | None = None
    inputs: dict[str, Recordable] | None = None
    state: dict[str, Any] | None = None
    arguments: Arguments | None = None

    def count(self) -> int:
        """Return the ordinal, counted now if it was not before."""
        if self.ordinal is None:
            self.ordinal = self.passage.count(self.place.component)
        return self.ordinal


class Thread:
    """The calls of one thread. `lane` is None for the thread that started the recording."""

    def __init__(
        self, lane: dict[str, str | int] | None, workspace: Workspace | None = None
    ) -> None:
        self.lane = lane
        self.last_event: str | None = None
        self.fixed_step: int | None = None
        self.at_border = False
        self.seen = SeenTensors()
        self.open: list[Call] = []
        self.workspace = workspace or Workspace(load_kernels())
        self.passage = Passage(0)
        self._passes = 0

    def enter(self, place: ModulePlace, module: torch.nn.Module) -> Call:
        """Open a call."""
        if place.is_outer and self.open:
            self._close_failed(place, module)
        if not self.open:
            self.seen = SeenTensors()
            if place.is_outer:  # else the outer module calls itself
                self.passage = Passage(self._passes)
                self._passes += 1
        call = Call(place, self.step, self.passage)
        call.count()
        self.open.append(call)
        return call

    def _close_failed(self, place: ModulePlace, module: torch.nn.Module) -> None:
        """Close the calls that an exception left open: those of `module` that run no more."""
        running = _running_calls(module) - 1  # without the one that is about to begin
        for index, call in enumerate(self.open):
            running -= call.place is place
            if running < 0:
                del self.open[index:]
                return

    @property
    def step(self) -> int:
        """The step of what happens now: calls of the outer module before this one, or as set."""
        return self.passage.number if self.fixed_step is None else self.fixed_step

    def leave(self, place: ModulePlace) -> Call | None:
        """Close the call of `place`, and what an exception left open in it; None without one."""
        while self.open:
            call = self.open.pop()
            if call.place is place:
                return call
        return None


def _running_calls(module: torch.nn.Module) -> int:
    """Return how many calls of a module are under way in the present thread."""
    count, frame = 0, sys._getframe()
    while (outer := frame.f_back) is not None:
        frame = outer
        count += frame.f_code is _CALL and frame.f_locals.get("self") is module
    return count


class Threads:
    """The threads that have made calls.

    The lane of a thread is its name, where somebody gave it one. Others are numbered in the order
    of their first calls, which may be another one in another run.
    """

    def __init__(self) -> None:
        self._local = threading.local()
        self._lock = threading.Lock()
        self._lanes: Counter[str] = Counter()
        self.count = 0
        self.current()

    def current(self) -> Thread:
        """Return the state of the present thread."""
        found: Thread | None = getattr(self._local, "thread", None)
        if found is None:
            with self._lock:
                found = Thread(self._new_lane(_given_name()) if self.count else None)
                self.count += 1
            self._local.thread = found
        return found

    @contextmanager
    def in_lane(self, name: str) -> Iterator[None]:
        """Have the present thread's calls stand in a lane of their own."""
        before = self.current()
        with self._lock:
            thread = Thread(self._new_lane(name), before.workspace)
            self.count += 1
        thread.fixed_step = before.fixed_step
        self._local.thread = thread
        try:
            yield
        finally:
            self._local.thread = before

    def _new_lane(self, name: str) -> dict[str, str | int]:
        self._lanes[name] += 1
        nth = self._lanes[name]
        if not name:
            return {"thread": nth}
        return {"thread": name} if nth == 1 else {"thread": name, "nth": nth}


def _given_name() -> str:
    """Return the name of the present thread, an empty one where it is Python's own."""
    name = threading.current_thread().name
    return "" if _DEFAULT_NAME.match(name) else name


class SeenTensors:
    """What stands in the trace for tensors that are still the same objects."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[weakref.ref[torch.Tensor], int, Recordable | None]] = {}

    def add(self, tensor: torch.Tensor, recorded: Recordable | None) -> None:
        """Remember a tensor, and its record where it is one."""
        self._held[id(tensor)] = weakref.ref(tensor), _version(tensor), recorded

    def is_unchanged(self, tensor: torch.Tensor) -> bool:
        """Whether the tensor was seen and torch counts no change since then.

        Inference tensors have no such count; they are taken to be unchanged.
        """
        found = self._held.get(id(tensor))
        return found is not None and found[0]() is tensor and found[1] == _version(tensor)

    def record_of(self, tensor: torch.Tensor) -> Recordable | None:
        """Return what was recorded for the tensor when it was seen; its content may be another."""
        found = self._held.get(id(tensor))
        return found[2] if found is not None and found[0]() is tensor else None


def _version(tensor: torch.Tensor) -> int:
    return -1 if tensor.is_inference() else tensor._version
