"""Writing a trace, event by event, so that a file under its final name is always a whole one.

Knows trace, timing sidecar and tensor folder as one undertaking. Must not know what events mean.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from tracediff.errors import IllegalState, StorageError, UsageError
from tracediff.events.event import TENSOR_SECTIONS, Event
from tracediff.events.tensors import tensor_from_json
from tracediff.events.trace import TensorSource, Trace
from tracediff.events.validity import InvalidField
from tracediff.storage.canonical import encode_event
from tracediff.storage.names import is_timing_name, tensor_folder_path, timing_path
from tracediff.storage.partial import PartialFile, storage_errors
from tracediff.storage.tensor_files import TensorFolder
from tracediff.storage.timing import TimingWriter

if TYPE_CHECKING:
    import numpy as np

_FLUSH_AFTER: Final = 200_000_000
"""Nanoseconds after which events that were written are handed to the system."""


class TraceWriter:
    """Writes the trace `path`; a context manager that finishes, or abandons on an exception.

    Until `finish` the trace is in `path` with `.partial` after its name, and so it stays when the
    process is killed; what `path` held before is untouched until then. The folder must exist. A
    name ending in `.gz` or `.zst` is compressed. With `environment`, a timing sidecar is written
    beside the trace: `clock` gives nanoseconds.

    Raises StorageError where the system refuses, also when another writer is writing `path`.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        environment: Mapping[str, Any] | None = None,
        clock: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        self._path = Path(path)
        if not self._path.name:
            raise StorageError(f"cannot write {path}: it is a folder; name a file in it")
        if is_timing_name(self._path):
            raise StorageError(
                f"cannot write {path}: names in .timing.jsonl are those of timing sidecars, which "
                "are never compared; leave .timing out"
            )
        self._tensors = TensorFolder(tensor_folder_path(self._path))
        self._events = 0
        self._stated: int | None = None
        self._open = True
        self._clock = clock
        self._file = PartialFile(self._path)
        self._timing: TimingWriter | None = None
        if environment is not None:
            try:
                self._timing = TimingWriter(self._path, environment)
            except BaseException:
                self.abandon()
                raise
        self._start = self._flushed = clock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._open:
            return
        if kind is None:
            self.finish()
        else:
            self.abandon()

    def write(self, event: Event, *, at: int | None = None) -> None:
        """Append `event`, whose payload keeps the rules of `events.validity`.

        `at` is what the clock said when it happened, now if not given. Raises UsageError naming
        the field for a value that JSON cannot hold, StorageError, and IllegalState after the end.
        """
        if not self._open:
            raise IllegalState(f"{self._path} is finished or abandoned; no event can follow")
        now = self._clock()
        try:
            line = encode_event(event)
        except InvalidField as error:
            raise UsageError(f"cannot write event {event.event_id}: {error}") from None
        self._file.write(line)
        if self._timing is not None:
            self._timing.write(event.event_id, (now if at is None else at) - self._start)
        self._events += 1
        end = event.payload.get("end")
        self._stated = None if end is None else end["events"]
        if now - self._flushed > _FLUSH_AFTER:
            self._flush(now)

    def write_tensor(self, digest: str, array: np.ndarray[Any, Any]) -> str:
        """Keep a full tensor; return the name for the record's `file`. Raises StorageError."""
        return self._tensors.save(digest, array)

    def finish(self) -> None:
        """Make the trace final; its last event must state how many were written.

        A sidecar that an earlier run left is replaced, or removed if this run wrote none. Raises
        IllegalState and StorageError; the trace is then not final.
        """
        if not self._open:
            raise IllegalState(f"{self._path} is finished or abandoned already")
        try:
            if self._stated != self._events:
                raise IllegalState(
                    f"{self._path}: {self._events} events were written and the last one does not "
                    f"say `end` with that count, so the trace is not whole"
                )
            files = [self._file] if self._timing is None else [self._timing.file, self._file]
            for file in files:
                file.seal()
            if self._timing is None:
                with storage_errors(timing_path(self._path)):
                    timing_path(self._path).unlink(missing_ok=True)
            for file in files:
                file.publish()
        except BaseException:
            self.abandon()
            raise
        self._open = False

    def abandon(self) -> None:
        """Stop; what was written stays in the `.partial`, as far as the system takes it."""
        self._open = False
        self._file.abandon()
        if self._timing is not None:
            self._timing.file.abandon()

    def _flush(self, now: int) -> None:
        self._flushed = now
        self._file.flush()
        if self._timing is not None:
            self._timing.file.flush()


def write_trace(trace: Trace | Iterable[Event], path: Path | str) -> None:
    """Write a whole trace to `path`, with the full tensors that it keeps.

    Raises as `TraceWriter` does.
    """
    tensors = trace.tensors if isinstance(trace, Trace) else None
    with TraceWriter(path) as writer:
        for event in trace.events if isinstance(trace, Trace) else trace:
            if tensors is not None:
                _copy_tensors(event, tensors, writer)
            writer.write(event)


def _copy_tensors(event: Event, tensors: TensorSource, writer: TraceWriter) -> None:
    for section in TENSOR_SECTIONS:
        for found in event.payload.get(section, ()):
            record = tensor_from_json(found)
            array = tensors.load(record)
            if array is not None:
                writer.write_tensor(record.digest, array)
