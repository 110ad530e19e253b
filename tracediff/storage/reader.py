"""A trace file as events.

Knows how lines, compression and the rules across events come together. Must not know what events
mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from tracediff.errors import CorruptTrace, IncompleteTrace, Place, TraceError
from tracediff.events.boundaries import BoundaryRules
from tracediff.events.event import Event
from tracediff.events.ordered import NotOrdered, OrderedChecker
from tracediff.events.structure import StructureChecker
from tracediff.events.trace import Trace
from tracediff.storage.compression import read_chunks
from tracediff.storage.event_lines import LineParser, Warn
from tracediff.storage.lines import split_lines
from tracediff.storage.names import PARTIAL, tensor_folder_path
from tracediff.storage.sources import Source, can_be_read_again, open_source, source_name
from tracediff.storage.tensor_files import TensorFolder

_UNFINISHED: Final = f"a file whose name ends in {PARTIAL} is a recording that was not finished"


class LocatedEvent(NamedTuple):  # one is made for every event read: a dataclass costs thrice that
    """An event and where it was read.

    `line` counts from 1, `offset` is the byte offset of the line in the decompressed file, `raw`
    the line without its end and without a byte order mark.
    """

    event: Event
    line: int
    offset: int
    raw: bytes


def read_events(source: Source, *, warn: Warn = lambda warning: None) -> Iterator[LocatedEvent]:
    """Yield the events of a trace in file order, in constant memory.

    Checked are each line, one trace id, the root and the end; whether ids are unique and parents
    exist is not (`read_checked_events`). What is wrong is raised where it is met, after the
    events before it: StorageError, CorruptTrace, InvalidTrace, IncompleteTrace. `warn` is told of
    oddities that do not change the meaning.
    """
    return _read_events(source, BoundaryRules(source_name(source)), warn)


def read_checked_events(
    source: Source, *, warn: Warn = lambda warning: None
) -> Iterator[LocatedEvent]:
    """Yield the events of a trace in file order, copies dropped, with all rules checked.

    Keeps about 9 bytes an event while parents come before children and no id occurs twice. A
    file where that is not so is read again with all ids in memory, and so is a stream from the
    start. Errors and `warn` as those of `read_events`; missing parents and cycles are raised
    after the last event.
    """
    name = source_name(source)
    told: set[str] = set()
    seen = 0

    def warn_once(warning: str) -> None:
        if warning not in told:
            told.add(warning)
            warn(warning)

    if can_be_read_again(source):
        try:
            for located in _read_events(source, OrderedChecker(name), warn_once):
                seen += 1
                yield located
        except NotOrdered:
            pass
        else:
            return
    yield from islice(_read_events(source, StructureChecker(name), warn_once), seen, None)


def read_trace(source: Source) -> Trace:
    """Return the whole trace at `source`, all rules checked.

    Raises StorageError, CorruptTrace, InvalidTrace, IncompleteTrace.
    """
    warnings: list[str] = []
    events = [located.event for located in read_checked_events(source, warn=warnings.append)]
    tensors = None
    if isinstance(source, Path | str):
        tensors = TensorFolder(tensor_folder_path(Path(source)))
    return Trace(tuple(events), source_name(source), tuple(warnings), tensors)


class _Rules(Protocol):
    """The rules across events that are checked while reading."""

    def add(self, event: Event, content: object, line: int, offset: int) -> bool:
        """Take the next event; return False if it is a copy, to be dropped."""

    def finish(self) -> None:
        """Raise IncompleteTrace or InvalidTrace unless the events are one whole trace."""


def _read_events(source: Source, rules: _Rules, warn: Warn) -> Iterator[LocatedEvent]:
    name = source_name(source)
    try:
        yield from _read_lines(source, name, rules, warn)
    except TraceError as error:
        if not name.endswith(PARTIAL):
            raise
        raise IncompleteTrace(error.place, f"{error.reason}; {_UNFINISHED}") from None
    if name.endswith(PARTIAL):
        raise IncompleteTrace(Place(name), _UNFINISHED)


def _read_lines(source: Source, name: str, rules: _Rules, warn: Warn) -> Iterator[LocatedEvent]:
    parser = LineParser(name, warn)
    copies = 0
    with open_source(source) as stream:
        chunks = _locate_damage(read_chunks(stream, Path(name)), parser)
        for line in split_lines(chunks, name):
            event, content = parser.parse(line)
            if rules.add(event, content, line.number, line.offset):
                yield LocatedEvent(event, line.number, line.offset, content)
            else:
                copies += 1
    if copies:
        warn(f"duplicates: byte-identical copies of events were dropped ({copies})")
    rules.finish()


def _locate_damage(chunks: Iterable[bytes], parser: LineParser) -> Iterator[bytes]:
    """Add to errors of the compressed stream how far the file could be read."""
    try:
        yield from chunks
    except (CorruptTrace, IncompleteTrace) as error:
        raise type(error)(parser.next_place, f"{error.reason}; {parser.progress}") from None
