"""The recorder: turns what an execution tells it into events and hands them to a sink.

Knows how an event is put together. Must not know engines, files or what the events are compared
with.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from tracediff.errors import IllegalState, UsageError
from tracediff.events import Event, Tolerances
from tracediff.events.event import FORMAT, KINDS, TENSOR_SECTIONS
from tracediff.events.tolerances import tolerances_to_json
from tracediff.events.validity import InvalidField, check_event
from tracediff.recording.kernels import Kernels
from tracediff.recording.levels import TensorLevel, parse_level
from tracediff.recording.pending import PendingEvents
from tracediff.recording.plain import plain_json
from tracediff.recording.sections import plain_sections
from tracediff.recording.sinks import EventSink
from tracediff.recording.tensor_records import Recordable, TensorRecorder

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tracediff.recording.recordable import Draw


class Recorder:
    """Records one execution.

    Use it as a context manager: leaving the block normally writes the last event with the event
    count and makes the trace final; leaving it by an exception leaves an incomplete trace.

        with Recorder("run.jsonl") as recorder:
            for step in range(3):
                state = update(state)
                recorder.event("loop", "state.updated", logical_step=step, outputs={"x": state})

    `sink` is a path (written as JSONL, `.gz` compressed) or an EventSink. `tensors` is the level:
    `digest`, `sketch`, `values`, `values=N` or `full`. `clock` gives nanoseconds; a sink that keeps
    times gets the time of each event. Threads may share a recorder: each event is whole, and
    follows the one recorded before it, by whichever thread, unless it names its `parent`.
    """

    def __init__(
        self,
        sink: EventSink | str | Path,
        *,
        kind: str = "generic",
        trace_id: str | None = None,
        tensors: str | TensorLevel = "sketch",
        tolerances: Tolerances | None = None,
        event_prefix: str = "e",
        header: Mapping[str, Any] | None = None,
        clock: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        if kind not in KINDS:
            raise UsageError(f"unknown kind of trace {kind!r}; known are {', '.join(KINDS)}")
        self._level = parse_level(tensors) if isinstance(tensors, str) else tensors
        self._sink = _open_file(sink) if isinstance(sink, str | Path) else sink
        self._trace_id = trace_id or f"trace-{kind}"
        self._prefix = event_prefix
        self._header = {"format": FORMAT, "kind": kind, **(header or {})}
        self._header["tensors"] = str(self._level)
        if tolerances is not None and tolerances.rules:
            self._header["tolerances"] = tolerances_to_json(tolerances)
        self._clock = clock
        self._count = 0
        self._tensors = TensorRecorder(self._level, self._sink)
        self._pending = PendingEvents(self._tensors)
        self._last: Event | None = None
        self._last_at = 0
        self._closed = False
        self._lock = threading.RLock()
        self._sources: list[Callable[[], None]] = []

    def add_source(self, flush: Callable[[], None]) -> None:
        """Have `flush` called before anything else is recorded and before the end.

        It records what a source of events has held back; called again meanwhile, it does nothing.
        """
        self._sources.append(flush)

    def remove_source(self, flush: Callable[[], None]) -> None:
        """Take back what `add_source` was given, after one last call of it."""
        flush()
        self._sources.remove(flush)

    def use_kernels(self, kernels: Kernels | None) -> None:
        """Have tensors summarised by these compiled loops: the same summaries, sooner.

        `kernels.load_kernels()` gives them, or None where numba is not installed; then, as without
        this call, numpy makes the summaries.
        """
        self._tensors.use_kernels(kernels)

    @property
    def level(self) -> TensorLevel:
        """How much of each tensor is kept."""
        return self._level

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._closed:
            return
        if kind is None:
            self.close()
        else:
            self.abandon()

    def event(
        self,
        component: str,
        event_type: str,
        *,
        logical_step: int = 0,
        parent: str | None = None,
        joins: Sequence[str] = (),
        lane: Mapping[str, str | int] | None = None,
        artifacts: Mapping[str, str] | None = None,
        state: Mapping[str, Any] | None = None,
        settings: Mapping[str, Any] | None = None,
        inputs: Mapping[str, ArrayLike | Recordable] | None = None,
        rng: Sequence[Draw] | None = None,
        outputs: Mapping[str, ArrayLike | Recordable] | None = None,
        choice: Mapping[str, Any] | None = None,
        commit: Mapping[str, Any] | None = None,
        ids: Mapping[str, Any] | None = None,
        context: Mapping[str, Any] | None = None,
        note: Any = None,
        private: Mapping[str, Any] | None = None,
    ) -> str:
        """Record one event and return its id.

        `parent` is the id of the event that caused this one, the previous event if not given; the
        remaining arguments are the payload's sections (`private` holds `x-…` keys). Tensors are
        summarised at once, so that changing an array afterwards does not alter the record; only
        a `Snapshot`, which nobody changes, may wait for others like it.
        Raises UsageError for values that a trace cannot hold, IllegalState after `close`.
        """
        self._flush_sources()
        payload = plain_sections(
            {
                "lane": lane,
                "joins": list(joins) or None,
                "artifacts": artifacts,
                "state": state,
                "settings": settings,
                "rng": rng,
                "choice": choice,
                "commit": commit,
                "ids": ids,
                "context": context,
                "note": note,
            },
            private,
        )
        tensors = {
            section: self._tensors.record_all(section, found)
            for section, found in zip(TENSOR_SECTIONS, (inputs, outputs), strict=True)
            if found is not None
        }
        step = plain_json(logical_step, "logical_step")
        with self._lock:
            return self._record(payload, tensors, parent, joins, component, event_type, step)

    def _record(
        self,
        payload: dict[str, Any],
        tensors: dict[str, Any],
        parent: str | None,
        joins: Sequence[str],
        component: str,
        event_type: str,
        logical_step: int,
    ) -> str:
        if self._closed:
            raise IllegalState("the recording is closed; no event can follow")
        if self._count == 0:
            payload = {"trace": plain_json(self._header, "trace"), **payload}
        event = Event(
            self._trace_id,
            f"{self._prefix}{self._count:02d}",
            self._parent(parent, joins),
            component,
            event_type,
            logical_step,
            payload,
        )
        try:
            # Tensor records are right as they are made, and long: only the rest is examined.
            check_event(event)
        except InvalidField as error:
            raise UsageError(f"cannot record {component} {event_type}: {error}") from None
        payload.update(tensors)
        self._count += 1
        self._pending.add(event, self._clock())
        if self._pending.is_due:
            self._write_pending()
        return event.event_id

    def close(self) -> None:
        """Write the last event with the event count and make the trace final."""
        if not self._closed:
            self._flush_sources()
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._closed:
            raise IllegalState("the recording is closed already")
        if self._count == 0:
            self.abandon()
            raise IllegalState("nothing was recorded; a trace has at least one event")
        try:
            self._write_pending()
            self._closed = True
            last = self._last
            assert last is not None
            payload = {**last.payload, "end": {"events": self._count}}
            self._sink.write(replace(last, payload=payload), at=self._last_at)
            self._sink.finish()
        except BaseException:
            self._closed = True
            self._sink.abandon()
            raise

    def abandon(self) -> None:
        """Stop recording; what was recorded stays recognisably incomplete."""
        try:
            if not self._closed:
                self._flush_sources()
        finally:
            with self._lock:
                self._abandon()

    def _flush_sources(self) -> None:
        for flush in self._sources:
            flush()

    def _abandon(self) -> None:
        if self._closed:
            return
        self._closed = True
        try:
            self._write_pending()
            if self._last is not None:
                self._sink.write(self._last, at=self._last_at)
        finally:
            self._sink.abandon()

    def _parent(self, parent: str | None, joins: Sequence[str]) -> str | None:
        """Return the parent's id; raise UsageError for ids that no event of this recording has."""
        if self._count and parent is None and not joins:  # the usual case
            return f"{self._prefix}{self._count - 1:02d}"
        if self._count == 0 and (parent is not None or joins):
            raise UsageError(f"the first event is the root and follows none, not {parent or joins}")
        for known in (*([] if parent is None else [parent]), *joins):
            if not self._has(known):
                raise UsageError(
                    f"no event {known!r} was recorded before; `event` returns the id to give here"
                )
        if parent is not None or self._count == 0:
            return parent
        return f"{self._prefix}{self._count - 1:02d}"

    def _has(self, event_id: object) -> bool:
        """Whether an event of this id was recorded: ids are numbers in order behind the prefix."""
        if not isinstance(event_id, str) or not event_id.startswith(self._prefix):
            return False
        number = event_id.removeprefix(self._prefix)
        if not number.isascii() or not number.isdecimal() or len(number) > 20:
            return False
        return int(number) < self._count and f"{int(number):02d}" == number

    def _write_pending(self) -> None:
        # One event is held back: only when the next arrives, or on close, is it known whether
        # it is the last, which carries the count.
        for event, at in self._pending.take():
            if self._last is not None:
                self._sink.write(self._last, at=self._last_at)
            self._last, self._last_at = event, at


def _open_file(path: str | Path) -> EventSink:
    # Files are opened only for those who ask for one: an execution recorded into memory must not
    # pay for the storage layer.
    from tracediff.storage import TraceWriter

    return TraceWriter(Path(path))
