"""Compares a fresh trace with its golden, and writes goldens.

Loads the comparator, numpy and rich: imported when a test first asserts a trace. Must not know
pytest.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from tracediff.cli.tolerance_option import parse_tolerances
from tracediff.diff import DiffOptions, Outcome, TraceDiff, diff_traces
from tracediff.errors import StorageError, TraceError, UsageError
from tracediff.events import Tolerances, Trace
from tracediff.gate.nan import find_undeclared_nan, unused_nan_globs
from tracediff.pytest_plugin.memory_recorder import MemoryRecorder
from tracediff.render.escape import LONGEST_MESSAGE, visible
from tracediff.render.pairs import describe_unused
from tracediff.render.plain_text import diff_to_text
from tracediff.render.rows import LABEL_WIDTH
from tracediff.storage import encode_event, read_trace, write_trace
from tracediff.storage.partial import storage_errors

SAME: Final = (Outcome.EQUAL, Outcome.WITHIN_TOLERANCE)

REPORT_WIDTH: Final = 72
"""Columns of a report: pytest puts eight in front of every line of a message."""


def read_fresh(source: object, golden: Path) -> Trace:
    """Return the trace that a test gave: a Trace, the recorder of its fixture, or a path.

    Raises UsageError for anything else and for the golden itself, and what `read_trace` raises.
    """
    if isinstance(source, Trace):
        return source
    if isinstance(source, MemoryRecorder):
        return source.trace()
    if isinstance(source, str | Path):
        if golden.exists() and Path(source).exists() and golden.samefile(source):
            raise UsageError(f"{source} is the golden itself; give the trace of a fresh run")
        return read_trace(source)
    raise UsageError(
        "assert_trace takes a tracediff.Trace, the trace_recorder of this test or the path of a "
        f"trace, not a {type(source).__name__}; of another Recorder give the path it wrote"
    )


def build_options(options: DiffOptions | None, tolerance: str | Iterable[str]) -> DiffOptions:
    """Return the options with the rules of `tolerance` before theirs."""
    given = options or DiffOptions()
    rules = parse_tolerances([tolerance] if isinstance(tolerance, str) else tolerance).rules
    return replace(given, tolerances=Tolerances((*rules, *given.tolerances.rules)))


def compare(golden: Path, shown: str, fresh: Trace, options: DiffOptions) -> TraceDiff:
    """Compare with the golden, called `shown` in the report; one that cannot be read is a result.

    A glob of the options that fits nothing raises UsageError.
    """
    try:
        left = replace(read_trace(golden), name=shown)
    except (TraceError, StorageError) as error:
        return unreadable(error, shown, fresh.name)
    diff = diff_traces(left, fresh, options)
    _refuse_unused(diff)
    return diff


def unreadable(error: TraceError | StorageError, golden: str, fresh: str) -> TraceDiff:
    """Return the result for a side that is no whole trace."""
    outcome = Outcome(error.outcome) if isinstance(error, TraceError) else Outcome.UNREADABLE
    return TraceDiff(outcome, golden, fresh, message=str(error))


def refuse_nan(trace: Trace, allowed: str | Iterable[str]) -> None:
    """Raise UsageError where a trace holds NaN that neither its fixture nor a glob declares.

    NaN equals NaN, so a golden with NaN would go on passing whatever else breaks. A glob that fits
    nothing is an error too.
    """
    globs = (allowed,) if isinstance(allowed, str) else tuple(allowed)
    unused = unused_nan_globs([trace], globs)
    if unused:
        raise UsageError(f"allow_nan={visible(unused[0])!r} fits no tensor and no number")
    found = find_undeclared_nan(trace, globs)
    if found is not None:
        shown = visible(found, LONGEST_MESSAGE)
        raise UsageError(f"{shown}; in a test, allow_nan= of assert_trace does")


def refuse_as_golden(trace: Trace, options: DiffOptions, allowed: str | Iterable[str]) -> None:
    """Raise UsageError where a golden made of this trace could never be found the same.

    That is: undeclared NaN, globs that fit nothing, nothing that is compared.
    """
    refuse_nan(trace, allowed)
    found = diff_traces(trace, trace, options)
    _refuse_unused(found)
    if found.outcome not in SAME:
        reason = visible(found.message, LONGEST_MESSAGE) or "its own names or rules keep it from it"
        raise UsageError(f"{found.outcome.upper()}, even of the trace with itself: {reason}")


def _refuse_unused(diff: TraceDiff) -> None:
    if diff.unused_rules:
        raise UsageError(describe_unused(diff.unused_rules[0]))


def write_golden(golden: Path, fresh: Trace, before: TraceDiff) -> str:
    """Write the golden if it should change; return what was done and why, empty for nothing.

    A golden that a fresh trace still reproduces within tolerance is `kept`, so that small
    differences neither touch the file on every machine nor add up from update to update; a
    differing setting or condition is a reason to write it all the same. Raises StorageError.
    """
    exists = golden.exists()
    if exists and golden.read_bytes() == b"".join(map(encode_event, fresh.events)):
        return ""
    changed = before.triggers or before.context
    if before.outcome is Outcome.WITHIN_TOLERANCE and not changed:
        return "kept: equal within tolerance"
    with storage_errors(golden):
        golden.parent.mkdir(exist_ok=True)
    write_trace(fresh, golden)
    return f"updated: {_difference(before)}" if exists else "created"


def _difference(diff: TraceDiff) -> str:
    """Return in a few words why a golden was written anew."""
    if diff.outcome in SAME:
        return "settings or other parts that are not compared"
    if diff.first is None:
        return f"it was {diff.outcome}"
    place = diff.first.left or diff.first.right
    if place is None:
        return diff.first.check
    return visible(f"{diff.first.check} at {place.event_id} {place.component} {place.event_type}")


def describe_failure(diff: TraceDiff, fresh: Trace | None, kept: Path) -> str:
    """Return the terminal report, after writing the fresh trace to `kept` to be looked at.

    Below it stands the command that compares both once more, on one line, to be copied.
    """
    again = ""
    if fresh is not None:
        with suppress(StorageError):
            write_trace(fresh, kept)
            diff = replace(diff, right=str(kept))
            command = shlex.join(["tracediff", "diff", diff.left, diff.right])
            again = f"{'compare'.ljust(LABEL_WIDTH)}{command}\n"
    return diff_to_text(diff, REPORT_WIDTH) + again
