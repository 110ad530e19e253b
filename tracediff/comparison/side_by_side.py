"""Two trace files compared with every pair of events kept, for reports that show all of them.

Knows storage and the comparator. Must not know rendering.
"""

from __future__ import annotations

from dataclasses import dataclass

from tracediff.comparison.lines import with_line
from tracediff.diff import DiffOptions, Outcome, TraceDiff, diff_traces
from tracediff.diff.result import ComparedPair
from tracediff.errors import StorageError, TraceError
from tracediff.events import Trace
from tracediff.storage import read_trace
from tracediff.storage.sources import Source, source_name


@dataclass(frozen=True, slots=True)
class SideBySide:
    """A comparison with all its pairs in walking order, and both traces (None if unreadable).

    Where a trace could not be read there are no pairs, and `diff` says why.
    """

    diff: TraceDiff
    pairs: tuple[ComparedPair, ...] = ()
    left: Trace | None = None
    right: Trace | None = None


def compare_side_by_side(
    left: Source, right: Source, options: DiffOptions | None = None
) -> SideBySide:
    """Compare two trace files, or streams of bytes, and keep every pair of events.

    Both traces are held in memory. Files that are no whole traces are a result too, as with
    `diff_files`.
    """
    names = source_name(left), source_name(right)
    try:
        mine, other = read_trace(left), read_trace(right)
    except TraceError as error:
        return SideBySide(TraceDiff(Outcome(error.outcome), *names, message=str(error)))
    except StorageError as error:
        return SideBySide(TraceDiff(Outcome.UNREADABLE, *names, message=str(error)))
    return pair_up(mine, other, options)


def pair_up(left: Trace, right: Trace, options: DiffOptions | None = None) -> SideBySide:
    """Compare two traces that are in memory and keep every pair of events."""
    pairs: list[ComparedPair] = []
    diff = diff_traces(left, right, options, watch=pairs.append)
    return SideBySide(with_line(diff), tuple(pairs), left, right)
