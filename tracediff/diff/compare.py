"""Compares two traces that are in memory: aligned as graphs, walked in topological order.

Knows the steps of a comparison and their order. Must not know files or rendering.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from tracediff.diff.align import Alignment, Pair, align
from tracediff.diff.collect import Collector, Side, Watch
from tracediff.diff.drift import measure_drift
from tracediff.diff.lineage import Lineage
from tracediff.diff.name_map import NameMap
from tracediff.diff.options import LEVELS, DiffOptions
from tracediff.diff.renaming import read_renamed
from tracediff.diff.result import Outcome, TraceDiff
from tracediff.diff.structure import structural_difference
from tracediff.diff.unknown_facts import hide_unknown
from tracediff.diff.views import TENSOR_PREFIX, apply_views
from tracediff.events import Event, Trace
from tracediff.events.arithmetic import usual_arithmetic
from tracediff.events.event import TENSOR_SECTIONS

PICTURE = "image.encoded"
"""The event whose traces are compared at several levels."""


@usual_arithmetic()
def diff_traces(
    left: Trace,
    right: Trace,
    options: DiffOptions | None = None,
    *,
    watch: Watch | None = None,
) -> TraceDiff:
    """Compare two structurally valid traces and return where they first part.

    The left trace's declared tolerances decide. `watch` is told of every pair of events, in
    walking order. Never raises for traces that differ; traces of different kinds are
    `incomparable`.
    """
    if left.kind != right.kind:
        return incomparable(left, right)
    options = options or DiffOptions()
    if options.name_map is not None:
        return _diff_renamed(left, right, options, options.name_map, watch)
    unused = _unused_rules(left, right, options)
    left, right = apply_views(left, options), apply_views(right, options)
    left, right, hidden = hide_unknown(left, right)
    collector = Collector(left, right, options, watch)
    alignment = align(left, right)
    lineage = Lineage(alignment)
    for pair in alignment.pairs:
        victim = lineage.is_victim(pair)
        diverged = _compare(pair, alignment, collector, victim=victim)
        lineage.add(pair, diverged=diverged)
    found = collector.verdict(_InMemory(left), _InMemory(right))
    found = replace(found, unused_rules=unused, normalisers=(*hidden, *found.normalisers))
    if found.outcome is Outcome.EQUAL:
        return found
    is_picture = any(event.event_type == PICTURE for event in left.events)
    levels = _levels(left, right, options) if is_picture and options.level is None else {}
    return replace(found, drift=measure_drift(alignment), levels=levels)


def _diff_renamed(
    left: Trace, right: Trace, options: DiffOptions, name_map: NameMap, watch: Watch | None
) -> TraceDiff:
    """Compare with the right trace read under left's names; raise UsageError for a bad map."""
    renamed = read_renamed(left, right, name_map)
    found = diff_traces(left, renamed.right, replace(options, name_map=None), watch=watch)
    return replace(
        found,
        normalisers=(*renamed.normalisers, *found.normalisers),
        warnings=(*found.warnings, *renamed.warnings),
        unused_rules=(*found.unused_rules, *renamed.unused_rules),
    )


def _levels(left: Trace, right: Trace, options: DiffOptions) -> dict[str, Outcome]:
    """Return the outcome of image traces at each level of comparison."""
    return {
        level: diff_traces(left, right, replace(options, level=level)).outcome for level in LEVELS
    }


def _unused_rules(left: Trace, right: Trace, options: DiffOptions) -> tuple[str, ...]:
    """Return the globs of the options that fit nothing in either trace."""
    events = [event for trace in (left, right) for event in trace.events]
    types = {event.event_type for event in events}
    tensors = {
        record["name"]
        for event in events
        for section in TENSOR_SECTIONS
        for record in event.payload.get(section, ())
    }
    given = [r.match for r in options.tolerances.rules if r.match not in options.tolerances.shared]
    unused = [match for match in given if not _fits_any(match, tensors)]
    for glob in (*options.only, *options.skip):
        is_tensor = glob.startswith(TENSOR_PREFIX)
        if not _fits_any(glob.removeprefix(TENSOR_PREFIX), tensors if is_tensor else types):
            unused.append(glob)
    return tuple(unused)


def _fits_any(glob: str, names: Iterable[str]) -> bool:
    return any(fnmatchcase(name, glob) for name in names)


def incomparable(left: Side, right: Side) -> TraceDiff:
    """Return the result for traces of different kinds."""
    return TraceDiff(
        Outcome.INCOMPARABLE,
        left.name,
        right.name,
        message=f"traces of kind {left.kind} and {right.kind} are not compared step by step",
    )


def _compare(pair: Pair, alignment: Alignment, collector: Collector, *, victim: bool) -> bool:
    left = alignment.left.events[pair.left] if pair.left >= 0 else None
    right = alignment.right.events[pair.right] if pair.right >= 0 else None
    if left is None or right is None:
        collector.lone(left, right, victim=victim)
        return True
    return collector.pair(left, right, structural_difference(pair, alignment), victim=victim)


@dataclass(frozen=True, slots=True)
class _InMemory:
    """A whole trace for causes to look into."""

    trace: Trace

    def events(self) -> Iterator[Event]:
        """Yield all events in file order."""
        return iter(self.trace.events)

    def last_choice(self, key: str) -> Any:
        """Return the last value of a `choice` entry, None where there is none."""
        for event in reversed(self.trace.events):
            choice = event.payload.get("choice", {})
            if key in choice:
                return choice[key]
        return None
