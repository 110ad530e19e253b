"""Where the traces of requests go: numbers, names, and a recorder for each.

Knows a folder and the recorder. Must not know what is recorded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from tracediff.errors import StorageError
from tracediff.events import Event
from tracediff.recording.levels import TensorLevel, parse_level
from tracediff.recording.recorder import Recorder
from tracediff.recording.sinks import EventSink
from tracediff.storage import TraceWriter

_NAME = re.compile(r"req-(\d{1,12})\.jsonl")


class Recordings:
    """Gives each request its number and its recorder.

    Numbers go on after the largest in `folder`, so that nothing is overwritten. Without a folder
    nothing is kept. Raises StorageError where the folder cannot be made.
    """

    def __init__(
        self, folder: Path | None, tensors: str, kernel: str, environment: Mapping[str, Any]
    ) -> None:
        self._folder = folder
        # What nobody keeps need not be summarised at length.
        self._level: TensorLevel = parse_level("digest" if folder is None else tensors)
        self._kernel = kernel
        self._environment = environment
        self._numbers = count(1 if folder is None else _largest(folder) + 1)

    def next_number(self) -> int:
        """Return the next request's number."""
        return next(self._numbers)

    def open(self, request_id: str, injection: str) -> Recorder:
        """Return the recorder of one request. Raises StorageError."""
        header: dict[str, Any] = {"fixture": "serve", "overrides": {}}
        if injection:
            header["injection"] = injection
        header["kernel"] = self._kernel
        return Recorder(
            self._sink(request_id),
            kind="text",
            trace_id="trace-serve",
            tensors=self._level,
            header=header,
        )

    def _sink(self, request_id: str) -> EventSink:
        if self._folder is None:
            return _Nowhere()
        started = datetime.now(UTC).isoformat(timespec="milliseconds")
        environment = {**self._environment, "started": started, "request_id": request_id}
        return TraceWriter(self._folder / f"{request_id}.jsonl", environment=environment)


class _Nowhere:
    """A sink that keeps nothing."""

    def write(self, event: Event, *, at: int | None = None) -> None:
        """Pass over an event."""

    def write_tensor(self, digest: str, array: Any) -> str:
        """Pass over a tensor."""
        return f"{digest.partition(':')[2]}.npy"

    def finish(self) -> None:
        """Keep nothing."""

    def abandon(self) -> None:
        """Keep nothing."""


def name_request(number: int) -> str:
    """Return a request's id."""
    return f"req-{number:06d}"


def _largest(folder: Path) -> int:
    """Make the folder; return the largest number that a trace in it has, 0 for none."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = [path.name for path in folder.iterdir()]
    except OSError as error:
        raise StorageError(
            f"cannot record into {folder}: {error.strerror}; name a folder that can be written"
        ) from error
    found = (_NAME.match(name) for name in names)
    return max((int(match[1]) for match in found if match), default=0)
