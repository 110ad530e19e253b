"""The line of a trace file at which a reader finds the first divergence.

Knows files. Must not know how it was found.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tracediff.diff import TraceDiff
from tracediff.errors import StorageError, TraceError
from tracediff.storage.trace_file import open_trace_file


def with_line(diff: TraceDiff) -> TraceDiff:
    """Return the comparison with its `line`, for which left's file is read once more.

    Of an event that left lacks it is the line of the pair before it. It stays None where left is
    no file, nothing diverges or the file has changed since.
    """
    event_id = _event_of_left(diff)
    path = Path(diff.left)
    if event_id is None or not path.is_file():
        return diff
    try:
        return replace(diff, line=open_trace_file(path).line_of(event_id))
    except (StorageError, TraceError, ValueError):
        return diff


def _event_of_left(diff: TraceDiff) -> str | None:
    if diff.first is None:
        return None
    if diff.first.left is not None:
        return diff.first.left.event_id
    before = [pair.left for pair in diff.neighbours if pair.divergence is None]
    return before[-1].event_id if before and before[-1] is not None else None
