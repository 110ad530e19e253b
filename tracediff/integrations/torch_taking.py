"""What a recording keeps of the tensors that the calls of modules read and give.

Knows which tensors were seen before, and what was asked to be left out. Must not know hooks,
events or how a tensor is summarised.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import torch

from tracediff.integrations.nested import Leaves
from tracediff.integrations.torch_calls import Thread
from tracediff.integrations.torch_conditions import is_discrete, lengths_state
from tracediff.integrations.torch_places import ModulePlace
from tracediff.integrations.torch_queue import Held
from tracediff.integrations.torch_tensors import (
    plain_array,
    record_plain,
    record_tensor,
    snapshot_plain,
)
from tracediff.recording.flat_tensor import BLOCK
from tracediff.recording.levels import TensorLevel
from tracediff.recording.tensor_records import Recordable

Select: TypeAlias = Callable[[str, torch.Tensor], torch.Tensor | None]
"""Returns what to record of a named tensor, None for nothing."""


class TensorTaker:
    """Makes records of tensors; `notes_seen` says that a tensor is recorded only where it is made.

    `select` and `leave_out` are those of `record_module`.
    """

    def __init__(
        self, level: TensorLevel, select: Select | None, leave_out: Sequence[str], notes_seen: bool
    ) -> None:
        self._level = level
        self._select = select
        self._takes_all = select is None and not leave_out
        self._notes_seen = notes_seen

    def take_plain(self, thread: Thread, output: object) -> tuple[Held, tuple[int, ...]] | None:
        """Return what to keep of a result that is one usual tensor, and its shape; else None.

        A tuple of it and of None, which many attention modules give, has its name too.
        """
        if type(output) is tuple and len(output) == 2 and output[1] is None:
            output = output[0]
        if type(output) is not torch.Tensor or not self._takes_all:
            return None
        array = plain_array(output)
        if array is None:
            return None
        if array.size <= BLOCK:
            if self._notes_seen:
                thread.seen.add(output, None)
            return array.tobytes(), array.shape
        known = thread.seen.record_of(output)
        record = record_plain(array, self._level, known, thread.workspace)
        thread.seen.add(output, record)
        return record, array.shape

    def take_all(self, thread: Thread, leaves: Leaves) -> dict[str, Recordable]:
        """Return the records of all tensors."""
        found: dict[str, Recordable] = {}
        for name, tensor in leaves.tensors.items():
            self._take(thread, name, tensor, found)
        return found

    def knows(self, thread: Thread, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        """Whether a call is given one tensor that was seen, unchanged: the usual call of a leaf."""
        if kwargs or len(args) != 1 or type(args[0]) is not torch.Tensor:
            return False
        return thread.seen.is_unchanged(args[0])

    def take_arguments(
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
                self._take(thread, f"{place.prefix}{name}", tensor, tensors)
        if arguments:
            state["read"] = arguments
        return tensors, state

    def _take(
        self, thread: Thread, name: str, tensor: torch.Tensor, found: dict[str, Recordable]
    ) -> None:
        """Put the records of a tensor into `found`."""
        chosen = self._selected(name, tensor)
        plain = None if chosen is None else snapshot_plain(chosen, self._level)
        if plain is not None:
            found[name] = plain
            if self._notes_seen:
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
