"""The timing sidecar: the environment of a run and the wall clock of each event.

Knows the file `NAME.timing.jsonl`. Kept apart from the trace so that two runs of the same work
give equal traces; never compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracediff.errors import CorruptTrace, Place
from tracediff.storage.canonical import encode_json
from tracediff.storage.compression import read_chunks
from tracediff.storage.exact_json import parse_json
from tracediff.storage.lines import split_lines
from tracediff.storage.names import timing_path
from tracediff.storage.partial import PartialFile
from tracediff.storage.sources import open_source


@dataclass(frozen=True, slots=True)
class Timing:
    """When the events of one run happened.

    `environment` is what the run was made with (library versions, device, host, start time);
    `nanoseconds` maps an event's id to the time since the start.
    """

    environment: Mapping[str, Any]
    nanoseconds: Mapping[str, int]


class TimingWriter:
    """Writes the sidecar of the trace at `path`; `file` is sealed and published by the caller."""

    def __init__(self, path: Path, environment: Mapping[str, Any]) -> None:
        content = encode_json(dict(environment)) + b"\n"
        self.file = PartialFile(timing_path(path))
        self.file.write(content)

    def write(self, event_id: str, nanoseconds: int) -> None:
        """Append one event's time since the start."""
        self.file.write(encode_json({"event_id": event_id, "ns": nanoseconds}) + b"\n")


def read_timing(path: Path) -> Timing | None:
    """Return the sidecar of the trace at `path`, None where there is none.

    Raises StorageError, and CorruptTrace for lines that are not as `TimingWriter` writes them.
    """
    sidecar = timing_path(path)
    if not sidecar.exists():
        return None
    environment: Mapping[str, Any] | None = None
    times: dict[str, int] = {}
    with open_source(sidecar) as stream:
        for line in split_lines(read_chunks(stream, sidecar), str(sidecar)):
            try:
                found = parse_json(line.content)
            except ValueError as error:
                raise _corrupt(sidecar, line.number, str(error)) from None
            match found:
                case dict() if environment is None:
                    environment = found
                case {"event_id": str(event_id), "ns": int(nanoseconds)}:
                    times[event_id] = nanoseconds
                case _:
                    raise _corrupt(sidecar, line.number, 'expected {"event_id": …, "ns": …}')
    if environment is None:
        raise _corrupt(sidecar, 1, "the file is empty; its first line is the environment")
    return Timing(environment, times)


def _corrupt(sidecar: Path, line: int, reason: str) -> CorruptTrace:
    return CorruptTrace(
        Place(str(sidecar), line), f"{reason}; delete the file, the trace does not need it"
    )
