"""The calls under way, thread by thread: steps, ordinals, and which tensors were seen already.

Knows order and identity. Must not know the recorder or what a tensor holds.
"""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass, field
from typing import Any

import torch

from tracediff.integrations.torch_places import ModulePlace
from tracediff.recording.scratch import Workspace
from tracediff.recording.tensor_records import Recordable


@dataclass(slots=True)
class Call:
    """One call: the module, its step, how often it was called before in it, and what it read."""

    place: ModulePlace
    step: int
    ordinal: int
    inputs: dict[str, Recordable] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)


class Thread:
    """The calls of one thread. `lane` is None for the thread that started the recording."""

    def __init__(self, lane: dict[str, int] | None) -> None:
        self.lane = lane
        self.last_event: str | None = None
        self.fixed_step: int | None = None
        self.seen = SeenTensors()
        self.open: list[Call] = []
        self.workspace = Workspace()
        self._passes = 0
        self._ordinals: dict[str, int] = {}

    def enter(self, place: ModulePlace) -> Call:
        """Open a call."""
        if place.is_outer:
            self.open.clear()  # what an exception left open
            self._passes += 1
        if not self.open:
            self.seen = SeenTensors()
        if place.is_outer:
            self._ordinals = {}
        ordinal = self._ordinals.get(place.component, 0)
        self._ordinals[place.component] = ordinal + 1
        call = Call(place, self.step, ordinal)
        self.open.append(call)
        return call

    @property
    def step(self) -> int:
        """The step of what happens now: calls of the outer module before this one, or as set."""
        return max(self._passes - 1, 0) if self.fixed_step is None else self.fixed_step

    def leave(self, place: ModulePlace) -> Call | None:
        """Close the call of `place`, and what an exception left open in it; None without one."""
        while self.open:
            call = self.open.pop()
            if call.place is place:
                return call
        return None


class Threads:
    """The threads that have made calls."""

    def __init__(self) -> None:
        self._local = threading.local()
        self._lock = threading.Lock()
        self.count = 0
        self.current()

    def current(self) -> Thread:
        """Return the state of the present thread."""
        found: Thread | None = getattr(self._local, "thread", None)
        if found is None:
            with self._lock:
                found = Thread({"thread": self.count} if self.count else None)
                self.count += 1
            self._local.thread = found
        return found


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
