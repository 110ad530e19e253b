"""Makes the tensor records of an event, at once or, for snapshots, many together.

Knows recordable tensors, their summaries and the sink that keeps full ones. Must not know events.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tracediff.errors import UsageError
from tracediff.events.checks import InvalidField, check_name
from tracediff.events.element_types import resolve_element_type
from tracediff.recording.kernels import Kernels
from tracediff.recording.levels import TensorLevel
from tracediff.recording.plain import plain_json
from tracediff.recording.recordable import Snapshot, Summarised, Tensor
from tracediff.recording.scratch import Workspace
from tracediff.recording.sinks import EventSink
from tracediff.recording.summary import TensorSummary, summarise_tensor

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tracediff.events.element_types import Array

Recordable: TypeAlias = "Tensor | Snapshot | Summarised"
Record: TypeAlias = dict[str, Any]


class TensorRecorder:
    """Makes records of one recording's tensors; threads may share it."""

    def __init__(self, level: TensorLevel, sink: EventSink) -> None:
        self._level = level
        self._sink = sink
        self._waiting: list[tuple[Record, Snapshot]] = []
        self._lock = threading.RLock()
        self._kernels: Kernels | None = None
        self._own = threading.local()
        self.held_bytes = 0

    def use_kernels(self, kernels: Kernels | None) -> None:
        """Have summaries made by compiled loops from now on, by numpy where there are none."""
        self._kernels, self._own = kernels, threading.local()

    def record_all(
        self, section: str, tensors: Mapping[str, ArrayLike | Recordable]
    ) -> list[Record]:
        """Return the records of a section; those of snapshots are empty until `complete`."""
        if not isinstance(tensors, Mapping):
            raise UsageError(
                f"{section}= takes a mapping of names to arrays, such as {{'x': array}}, "
                f"not a {type(tensors).__name__}"
            )
        found = []
        for index, (name, value) in enumerate(tensors.items()):
            try:
                check_name(name)
            except InvalidField as error:
                field = f"payload.{section}[{index}].name"
                raise UsageError(f"cannot record a tensor: {error.inside(field)}") from None
            found.append(self._record(section, name, value))
        return found

    def complete(self) -> None:
        """Fill in the records of all snapshots; one thread at a time."""
        if not self._waiting:
            return
        with self._lock:
            waiting, self._waiting, self.held_bytes = self._waiting, [], 0
        from tracediff.recording.summaries import Held, summarise_all

        snapshots = {id(snapshot): snapshot for _, snapshot in waiting}  # one may be in two events
        held = [Held(s.array, s.dtype, s.level or self._level) for s in snapshots.values()]
        summaries = dict(zip(snapshots, summarise_all(held, self._workspace()), strict=True))
        for record, snapshot in waiting:
            array = snapshot.array if self._keeps(snapshot.level) else None
            self._fill(record, summaries[id(snapshot)], array)

    def _record(self, section: str, name: str, value: ArrayLike | Recordable) -> Record:
        if not isinstance(value, Tensor | Snapshot | Summarised):
            value = Tensor(value)
        record: Record = {"name": name}
        record["logical"] = (
            plain_json(value.logical, f"{section}[{name}].logical") if value.logical else {}
        )
        match value:
            case Snapshot():
                self._wait(name, record, value)
            case Summarised():
                self._fill(record, value.summary, value.array)
            case _:
                self._summarise(name, record, value)
        return record

    def _wait(self, name: str, record: Record, snapshot: Snapshot) -> None:
        try:
            resolve_element_type(snapshot.array, snapshot.dtype)
        except TypeError as error:
            raise UsageError(f"cannot record tensor {name}: {error}") from None
        with self._lock:
            self._waiting.append((record, snapshot))
            self.held_bytes += snapshot.array.nbytes + 1

    def _summarise(self, name: str, record: Record, tensor: Tensor) -> None:
        try:
            array = np.asarray(tensor.array)
            summary = summarise_tensor(
                array, dtype=tensor.dtype, level=self._level, workspace=self._workspace()
            )
        except (TypeError, ValueError) as error:
            raise UsageError(f"cannot record tensor {name}: {error}") from None
        self._fill(record, summary, array if self._keeps(None) else None)

    def _workspace(self) -> Workspace:
        """Return the memory of the present thread."""
        found: Workspace | None = getattr(self._own, "workspace", None)
        if found is None:
            found = self._own.workspace = Workspace(self._kernels)
        return found

    def _keeps(self, level: TensorLevel | None) -> bool:
        return (level or self._level).name == "full"

    def _fill(self, record: Record, summary: TensorSummary, array: Array | None) -> None:
        logical = record.pop("logical")
        record["dtype"] = summary.dtype
        record["shape"] = list(summary.shape)
        record["logical"] = logical
        record["digest"] = summary.digest
        record["stats"] = summary.stats
        if summary.sketch is not None:
            record["sketch"] = list(summary.sketch)
        if summary.values is not None:
            record["values"] = list(summary.values)
        if array is not None:
            record["file"] = self._sink.write_tensor(summary.digest, array)
