"""One trace file for a comparison that reads it as lines: ends, lines from an offset, whole.

Knows lines and how one becomes an event. Must not know the other file.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

from tracediff.events.consistency import check_tensors
from tracediff.events.event import Event
from tracediff.events.sketches import SketchPair
from tracediff.events.validity import event_from_json
from tracediff.storage.canonical import encode_json
from tracediff.storage.compression import read_chunks
from tracediff.storage.exact_json import parse_json
from tracediff.storage.lines import split_lines
from tracediff.storage.names import PARTIAL, compression_of, tensor_folder_path
from tracediff.storage.reader import read_events
from tracediff.storage.sources import open_source
from tracediff.storage.tensor_files import TensorFolder
from tracediff.storage.tensor_lines import SketchReader

_BLOCK: Final = 1 << 18
_LONGEST: Final = 1 << 26


class OddLine(ValueError):
    """A line that a reader with all checks has to look at."""


class StepParser:
    """Turns lines into events for a walk in step; whatever is odd about one is an `OddLine`."""

    def __init__(self) -> None:
        self._reader = SketchReader()

    def parse(self, line: bytes) -> Event:
        """Return the valid event of a line; raise ValueError for anything else."""
        if line.endswith(b"\r"):
            raise OddLine("the line ends in CR LF")
        event = event_from_json(parse_json(line))
        check_tensors(event)
        return event

    def sketch_pairs(self, left: bytes, right: bytes) -> list[SketchPair] | None:
        """Return the tensors in whose summaries alone two lines differ, else None."""
        return self._reader.pairs(left, right)

    def outline(self, line: bytes) -> tuple[Sequence[str], str, Mapping[str, Any]] | None:
        """Return parents, id and `ids` section of a line, None if it is odd.

        For lines that stand on both sides: what they say otherwise, both say.
        """
        try:
            found = parse_json(line)
            payload = found["payload"]
            parents = [found["parent_event_id"], *payload.get("joins", ())]
            return parents, found["event_id"], payload.get("ids", {})
        except (AttributeError, KeyError, TypeError, ValueError):
            return None


@dataclass(frozen=True)
class TraceFile:
    """A trace file whose first line is a root."""

    path: Path
    root: Event
    warnings: tuple[str, ...] = ()
    tensors: TensorFolder = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tensors", TensorFolder(tensor_folder_path(self.path)))

    @property
    def name(self) -> str:
        """What messages call the trace."""
        return str(self.path)

    @property
    def header(self) -> Mapping[str, Any]:
        """The root's `trace` section."""
        header: Mapping[str, Any] = self.root.payload["trace"]
        return header

    @property
    def kind(self) -> str:
        """The kind that the header states."""
        return str(self.header["kind"])

    def lines(self, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """Yield the lines from the byte offset `start` to `stop`, without line feeds.

        Both are starts of lines; without `stop` to the end. Of compressed files all are yielded.

        Raises StorageError, and CorruptTrace or IncompleteTrace of a compressed file.
        """
        with open_source(self.path) as stream:
            if compression_of(self.path):
                yield from _compressed_lines(stream, self.path)
                return
            stream.seek(start)
            yield from _plain_lines(stream, None if stop is None else stop - start)

    def is_ended(self) -> bool:
        """Whether the last line of a plain file ends the trace; raise ValueError if it is odd."""
        with open_source(self.path) as stream:
            return "end" in StepParser().parse(next(_lines_backwards(stream), b"")).payload

    def events(self) -> Iterator[Event]:
        """Yield all events in file order, reading the file again."""
        for located in read_events(self.path):
            yield located.event

    def line_of(self, event_id: str) -> int | None:
        """Return the line of an event, counted from 1; None where no line has it."""
        parser, mark = StepParser(), encode_json(event_id)
        for number, line in enumerate(self.lines(), start=1):
            outline = parser.outline(line) if mark in line else None
            if outline is not None and outline[1] == event_id:
                return number
        return None

    def last_choice(self, key: str) -> Any:
        """Return the last value of a `choice` entry, None where there is none."""
        if compression_of(self.path):
            choices = (event.payload.get("choice", {}) for event in self.events())
            found = deque((choice[key] for choice in choices if key in choice), maxlen=1)
            return found[0] if found else None
        parser = StepParser()
        with open_source(self.path) as stream:
            for line in _lines_backwards(stream):
                choice = parser.parse(line).payload.get("choice", {})
                if key in choice:
                    return choice[key]
        return None


def open_trace_file(path: Path) -> TraceFile:
    """Return the file after a look at its first line; raise ValueError if that is no root.

    Raises StorageError where the file cannot be read.
    """
    with open_source(path) as stream:
        lines = _compressed_lines(stream, path) if compression_of(path) else _plain_lines(stream)
        root = StepParser().parse(next(lines, b""))
    if path.name.endswith(PARTIAL) or "trace" not in root.payload:
        raise OddLine("the file is no whole trace")
    return TraceFile(path, root)


def _compressed_lines(stream: BinaryIO, path: Path) -> Iterator[bytes]:
    for line in split_lines(read_chunks(stream, path), str(path)):
        yield line.content


def _plain_lines(stream: BinaryIO, size: int | None = None) -> Iterator[bytes]:
    rest = b""
    while block := stream.read(_BLOCK if size is None else min(_BLOCK, size)):
        size = None if size is None else size - len(block)
        lines = block.split(b"\n")
        lines[0] = rest + lines[0]
        rest = lines.pop()
        if len(rest) > _LONGEST:
            raise OddLine("a line is longer than a trace's may be")
        yield from lines
    if rest:
        yield rest


def _lines_backwards(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a plain file from the last to the first, without line feeds."""
    end = stream.seek(0, 2)
    rest = b""
    while end > 0:
        start = max(0, end - _BLOCK)
        stream.seek(start)
        rest = stream.read(end - start) + rest
        if len(rest) > _LONGEST:
            raise OddLine("a line is longer than a trace's may be")
        end = start
        first, *lines = rest.removesuffix(b"\n").split(b"\n")
        yield from reversed(lines)
        rest = first + b"\n" if first else b""
    if rest:
        yield rest[:-1]
