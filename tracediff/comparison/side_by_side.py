"""Two trace files compared with every pair of events kept, for reports that show all of them.

Knows storage and the comparator. Must not know rendering.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tracediff.comparison.lines import with_line
from tracediff.diff import DiffOptions, Outcome, TraceDiff, diff_traces
from tracediff.diff.panels import TensorPanel, tensor_panels
from tracediff.diff.result import ComparedPair
from tracediff.errors import StorageError, TraceError
from tracediff.events import Trace
from tracediff.storage import TensorFolder, read_trace, tensor_folder_path
from tracediff.storage.sources import Source, source_name

MEASURED = ("values", "files", "non-finite")
"""Evidence that is there only where both sides keep all elements."""

MOST_SHOWN = 50
"""Comparisons of a folder whose pairs are kept."""


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


def show_pairs(
    results: Sequence[TraceDiff], options: DiffOptions | None = None
) -> list[SideBySide]:
    """Return results of `diff_folders` with the pairs of the first MOST_SHOWN that are not equal.

    Those files are read once more, all others stay results alone.
    """
    shown = 0
    found = []
    for diff in results:
        wanted = diff.first is not None and shown < MOST_SHOWN
        shown += wanted
        found.append(
            compare_side_by_side(diff.left, diff.right, options) if wanted else SideBySide(diff)
        )
    return found


def first_panel(diff: TraceDiff) -> TensorPanel | None:
    """Return what there is to see of the first divergent tensor, None where nothing is kept.

    Full tensors are looked for beside the two trace files.
    """
    if diff.first is None or diff.first.tensor is None:
        return None
    if diff.first.tensor.evidence not in MEASURED:
        return None
    pair = next((near for near in diff.neighbours if near.divergence == diff.first), None)
    if pair is None:
        return None
    folders = (TensorFolder(tensor_folder_path(Path(name))) for name in (diff.left, diff.right))
    return next(iter(tensor_panels(pair, *folders)), None)
