"""Compares two traces that are in memory: aligned as graphs, walked in topological order.

Knows the steps of a comparison and their order. Must not know files or rendering.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tracediff.diff.align import Alignment, Pair, align
from tracediff.diff.collect import Collector, Side
from tracediff.diff.lineage import Lineage
from tracediff.diff.options import DiffOptions
from tracediff.diff.result import Outcome, TraceDiff
from tracediff.diff.structure import structural_difference
from tracediff.events import Event, Trace


def diff_traces(left: Trace, right: Trace, options: DiffOptions | None = None) -> TraceDiff:
    """Compare two structurally valid traces and return where they first part.

    The left trace's declared tolerances decide. Never raises for traces that differ; traces of
    different kinds are `incomparable`.
    """
    if left.kind != right.kind:
        return incomparable(left, right)
    collector = Collector(left, right, options or DiffOptions())
    alignment = align(left, right)
    lineage = Lineage(alignment)
    for pair in alignment.pairs:
        victim = lineage.is_victim(pair)
        diverged = _compare(pair, alignment, collector, victim=victim)
        lineage.add(pair, diverged=diverged)
    return collector.verdict(_InMemory(left), _InMemory(right))


def incomparable(left: Side, right: Side) -> TraceDiff:
    """Return the result for traces of different kinds."""
    return TraceDiff(
        Outcome.INCOMPARABLE,
        left.name,
        right.name,
        message=f"a {left.kind} trace and a {right.kind} trace are not compared step by step",
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
