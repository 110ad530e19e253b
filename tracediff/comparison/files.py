"""Two trace files: the cheapest way to compare them that says the same as comparing all of them.

Small files are read and checked whole. Larger ones are skipped as far as they are the same bytes,
then walked line by line, or paired by id where they hold the same events in another order. Where
that does not work out, because events are missing, moved or odd, they are read whole after all.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import Final

from tracediff.diff import DiffOptions, Outcome, TraceDiff, diff_traces
from tracediff.diff.collect import Collector
from tracediff.diff.compare import incomparable
from tracediff.diff.in_step import OutOfStep, StepWalk
from tracediff.diff.quick_scan import QuickScan, Scanned
from tracediff.diff.unknown_facts import knows_otherwise
from tracediff.diff.unordered import compare_by_id
from tracediff.errors import StorageError, TraceError
from tracediff.events.arithmetic import usual_arithmetic
from tracediff.storage import read_trace
from tracediff.storage.common_lines import split_common_lines
from tracediff.storage.halves import Halves, find_halves
from tracediff.storage.names import compression_of
from tracediff.storage.shared_prefix import find_shared_prefix
from tracediff.storage.sources import Source, source_name
from tracediff.storage.trace_file import StepParser, TraceFile, open_trace_file

SMALL: Final = 1 << 20
"""Bytes up to which files are always read and checked whole."""

WEAK_DIGESTS: Final = "x-weak-digests"
"""In the root's `trace` of a trace whose digests do not all prove equality."""

MOST_UNLIKE: Final = 100_000
"""Events that differ up to which pairing them by id is tried, all of them in memory."""


FIRST: Final = 32
"""Events of a recorded answer behind which its head stands no more."""


@usual_arithmetic()
def diff_files(left: Source, right: Source, options: DiffOptions | None = None) -> TraceDiff:
    """Compare two trace files, or streams of bytes.

    Stretches that are the same bytes are not validated in files above 1 MiB (`coverage` tells how
    many). A file that is no whole trace is a result too, with its own outcome and the reason as
    its message.
    """
    options = options or DiffOptions()
    names = source_name(left), source_name(right)
    try:
        return _diff_readable(left, right, options)
    except TraceError as error:
        return TraceDiff(Outcome(error.outcome), *names, message=str(error))
    except StorageError as error:
        return TraceDiff(Outcome.UNREADABLE, *names, message=str(error))


def _diff_readable(left: Source, right: Source, options: DiffOptions) -> TraceDiff:
    if not options.needs_whole_traces and _worth_streaming(left) and _worth_streaming(right):
        found = _diff_streams(Path(str(left)), Path(str(right)), options)
        if found is not None:
            return found
    return diff_traces(read_trace(left), read_trace(right), options)


def _worth_streaming(source: Source) -> bool:
    if not isinstance(source, str | Path):
        return False
    path = Path(source)
    return path.is_file() and path.stat().st_size > SMALL


def _diff_streams(left: Path, right: Path, options: DiffOptions) -> TraceDiff | None:
    """Return the result of the first way that works without holding both traces, else None."""
    for walk in (_walk_in_step, _walk_by_id):
        try:
            files = open_trace_file(left), open_trace_file(right)
            if files[0].kind != files[1].kind:
                return incomparable(files[0], files[1])
            if files[0].kind == "stream" and _knows_otherwise(files):
                return None
            if any(WEAK_DIGESTS in file.header for file in files):
                return None  # the same bytes do not stand for the same tensors
            collector = Collector(files[0], files[1], options)
            walk(files, collector)
        except (OutOfStep, ValueError):
            continue  # the next way says what is there, or what is wrong
        return collector.verdict(files[0], files[1])
    return None


def _knows_otherwise(files: tuple[TraceFile, TraceFile]) -> bool:
    """Whether one of two recorded answers knows more of its request or response than the other."""
    parser = StepParser()
    left, right = ([parser.parse(line) for line in islice(f.lines(), FIRST)] for f in files)
    return knows_otherwise(left, right)


def _walk_in_step(files: tuple[TraceFile, TraceFile], collector: Collector) -> None:
    """Walk files whose events stand in the same order, from where they are not the same bytes."""
    start = 0
    if not any(compression_of(file.path) for file in files):
        prefix = find_shared_prefix(files[0].path, files[1].path)
        start = prefix.size
        collector.identical(0, start)
        if prefix.identical:
            if not files[0].is_ended():
                raise OutOfStep
            return
    walk = StepWalk(collector, StepParser())
    _walk_lines(files, start, walk, collector.options)
    walk.finish()
    if start and collector.comparer.renaming.renamed:
        raise OutOfStep  # ids of the skipped part may contradict the renaming


def _walk_lines(
    files: tuple[TraceFile, TraceFile], start: int, walk: StepWalk, options: DiffOptions
) -> None:
    """Walk all lines from `start`; of much that is left, another process scans the second half."""
    halves = find_halves(files[0], files[1], start)
    if halves is None:
        walk.run(zip_longest(files[0].lines(start), files[1].lines(start)))
        return
    # Loaded for large files only.
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        second = processes.submit(_scan, files[0].path, files[1].path, halves, options)
        walk.run(
            zip_longest(files[0].lines(start, halves.left), files[1].lines(start, halves.right))
        )
        scanned = second.result() if walk.is_plain else None
    if scanned is not None:
        walk.add(scanned)
    else:
        walk.run(zip_longest(files[0].lines(halves.left), files[1].lines(halves.right)))


def _scan(left: Path, right: Path, halves: Halves, options: DiffOptions) -> Scanned | None:
    """Scan the second half of two files; None where a pair of lines needs a look."""
    try:
        files = open_trace_file(left), open_trace_file(right)
        judge = Collector(files[0], files[1], options).comparer.judge
        lines = zip_longest(files[0].lines(halves.left), files[1].lines(halves.right))
        return QuickScan(judge, StepParser()).run(lines)
    except (OutOfStep, ValueError):
        return None


def _walk_by_id(files: tuple[TraceFile, TraceFile], collector: Collector) -> None:
    """Walk files that hold the same events in another order, but for a few."""
    if any(compression_of(file.path) or not file.is_ended() for file in files):
        raise OutOfStep
    common = split_common_lines(files[0].path, files[0].lines(), files[1].lines())
    if common is None or len(common.only_left) > MOST_UNLIKE:
        raise OutOfStep
    collector.identical(common.shared)
    parser = StepParser()
    left = [parser.parse(line) for line in common.only_left]
    right = [parser.parse(line) for line in common.only_right]
    compare_by_id(collector, left, right, _Parents(files[0]))


class _Parents:
    """The parents of every event of a file, read when first asked for."""

    def __init__(self, file: TraceFile) -> None:
        self._file = file
        self._known: dict[str, Sequence[str]] = {}

    def __call__(self, event_id: str) -> Sequence[str]:
        if not self._known:
            parser = StepParser()
            for line in self._file.lines():
                outline = parser.outline(line)
                if outline is None:
                    raise OutOfStep
                parents, own, _ = outline
                self._known[own] = [parent for parent in parents if parent is not None]
        return self._known.get(event_id, ())
