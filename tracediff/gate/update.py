"""Rewrites goldens: finds out first what would change, then writes all of it or nothing.

Knows goldens and new traces as files. The only place that writes goldens.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tracediff.comparison.listing import refuse_odd_file
from tracediff.contracts import check_trace
from tracediff.diff import Outcome, TraceDiff
from tracediff.errors import StorageError, TracediffError, TraceError, UsageError
from tracediff.events import Event, Trace
from tracediff.events.event import TENSOR_SECTIONS
from tracediff.events.tensors import tensor_from_json
from tracediff.gate.gated import Gated
from tracediff.gate.nan import find_undeclared_nan, unused_nan_globs
from tracediff.storage import (
    TensorFolder,
    encode_event,
    read_trace,
    tensor_folder_path,
    timing_path,
)
from tracediff.storage.compression import read_chunks
from tracediff.storage.names import partial_path
from tracediff.storage.partial import PartialFile, storage_errors


class ChangeKind(StrEnum):
    """What happens to a golden; one that is kept has no new trace."""

    UNCHANGED = "unchanged"
    REWRITTEN = "rewritten"
    CREATED = "created"
    KEPT = "kept"


@dataclass(frozen=True, slots=True)
class Change:
    """What happens to one golden.

    `diff` compares the old golden with the new trace; `trace` is what will be written, None where
    nothing is.
    """

    kind: ChangeKind
    golden: Path
    diff: TraceDiff
    trace: Trace | None = None


def plan_update(results: Iterable[Gated], nan_tensors: Sequence[str] = ()) -> list[Change]:
    """Return what an update does to each golden; nothing is written yet.

    Raises UsageError, naming the first reason, where a fixture could not be run, and where a new
    trace is no whole trace, breaks its contract or holds NaN that nothing declares: such a trace
    is no golden. Raises it too for a glob of `nan_tensors` that fits nothing in any new trace.
    """
    results = list(results)
    changes: list[Change] = []
    refused: list[str] = []
    for result in results:
        try:
            changes.append(_plan(result, nan_tensors))
        except TracediffError as error:
            refused.append(str(error))
    new = (read_trace(result.new) for result in results if result.new is not None)
    if not refused:
        unused = unused_nan_globs(new, nan_tensors)
        refused += [f"{glob!r} of --allow-nan fits no tensor and no number" for glob in unused]
    if refused:
        others = f" (and {len(refused) - 1} more)" if len(refused) > 1 else ""
        raise UsageError(f"no golden was written: {refused[0]}{others}")
    return changes


def write_changes(changes: Iterable[Change]) -> None:
    """Write the goldens that change; where one cannot be written, all stay as they were.

    Timing sidecars of goldens that are rewritten go: they belong to the traces that were there.
    Raises StorageError.
    """
    files: list[PartialFile] = []
    try:
        for change in changes:
            if change.trace is not None:
                with storage_errors(change.golden):
                    change.golden.parent.mkdir(parents=True, exist_ok=True)
                files.append(PartialFile(change.golden))
                _write(change.trace, files[-1])
                files[-1].seal()
        for file in files:
            with storage_errors(timing_path(file.path)):
                timing_path(file.path).unlink(missing_ok=True)
            file.publish()
    except BaseException:
        for file in files:
            file.abandon()
            partial_path(file.path).unlink(missing_ok=True)
        raise


def _plan(result: Gated, nan_tensors: Sequence[str]) -> Change:
    golden, diff = result.golden, result.diff
    if result.new is None:
        # Only a golden that lacks its new trace diverges without one.
        if diff.outcome is Outcome.DIVERGED:
            return Change(ChangeKind.KEPT, golden, diff)
        raise UsageError(diff.message)
    refuse_odd_file(result.new)
    trace = read_trace(result.new)
    exists = golden.exists()
    if exists and _holds(golden, trace):
        return Change(ChangeKind.UNCHANGED, golden, diff)
    _check(trace, golden, nan_tensors)
    return Change(ChangeKind.REWRITTEN if exists else ChangeKind.CREATED, golden, diff, trace)


def _holds(golden: Path, trace: Trace) -> bool:
    """Whether a golden is this trace, byte for byte."""
    try:
        refuse_odd_file(golden)
        with golden.open("rb") as stream:
            content = b"".join(read_chunks(stream, golden))
    except (OSError, StorageError, TraceError):
        return False
    return content == b"".join(encode_event(event) for event in trace.events)


def _check(trace: Trace, golden: Path, nan_tensors: Sequence[str]) -> None:
    """Raise UsageError where a new trace does not do as a golden."""
    nan = find_undeclared_nan(trace, nan_tensors)
    if nan is not None:
        raise UsageError(f"the new trace for {golden}: {nan}")
    violations = check_trace(trace).violations
    if violations:
        first = violations[0]
        raise UsageError(
            f"the new trace for {golden} breaks its contract: {first.rule} at "
            f"{first.event_id or 'no one event'}: {first.reason}"
        )


def _write(trace: Trace, file: PartialFile) -> None:
    tensors = TensorFolder(tensor_folder_path(file.path))
    for event in trace.events:
        _copy_tensors(event, trace, tensors)
        file.write(encode_event(event))


def _copy_tensors(event: Event, trace: Trace, tensors: TensorFolder) -> None:
    """Keep the full tensors of an event beside its golden, where the trace has them."""
    for section in TENSOR_SECTIONS if trace.tensors is not None else ():
        for found in event.payload.get(section, ()):
            record = tensor_from_json(found)
            array = trace.tensors.load(record) if trace.tensors is not None else None
            if array is not None:
                tensors.save(record.digest, array)
