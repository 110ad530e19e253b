"""Pairs of lines that need no look: the same bytes, or sketches alone that are within tolerance.

Knows lines, sketches and limits. Must not know what happens to pairs that do need a look. A scan
of one part of two files knows nothing of the other parts, so several can run at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from tracediff.diff.sketch_verdict import Decision, judge_sketches
from tracediff.diff.tensors import TensorJudge
from tracediff.events.sketches import SketchPair
from tracediff.events.validity import SKETCH_LENGTH

IDS_MARK = b'"ids":'
"""Stands in every line with local ids, which are followed from event to event."""

Lines = Iterable[tuple[bytes | None, bytes | None]]


@dataclass(slots=True)
class Scanned:
    """What a scan took: lines of the same bytes, pairs within tolerance and their sketches.

    `worst` is the largest relative distance, `worst_pair` the lines in which it stands; `last` the
    last pair of lines.
    """

    same: int = 0
    within: int = 0
    sketches: int = 0
    worst: float = 0.0
    worst_pair: tuple[bytes, bytes] | None = None
    last: tuple[bytes, bytes] | None = None


class SketchFinder(Protocol):
    """What a scan needs to know about lines."""

    def sketch_pairs(self, left: bytes, right: bytes) -> list[SketchPair] | None:
        """Return the tensors in whose summaries alone two lines differ, else None."""


class QuickScan:
    """Takes pairs of lines as long as they need no look."""

    def __init__(self, judge: TensorJudge, parser: SketchFinder) -> None:
        self.scanned = Scanned()
        self._judge = judge
        self._sketch_pairs = parser.sketch_pairs
        self._limits: dict[tuple[str, str], tuple[float, float]] = {}

    def run(self, lines: Lines) -> Scanned | None:
        """Return what all pairs of lines amount to, None where one of them needs a look."""
        for left, right in lines:
            if left is None or right is None or not self.take(left, right):
                return None
        return self.scanned

    def take(self, left: bytes, right: bytes) -> bool:
        """Take one pair of lines; return False, having taken nothing, if it needs a look."""
        if left == right:
            if IDS_MARK in left:
                return False
            self.scanned.same += 1
        elif not self._take_sketches(left, right):
            return False
        self.scanned.last = left, right
        return True

    def _take_sketches(self, left: bytes, right: bytes) -> bool:
        pairs = self._sketch_pairs(left, right)
        if pairs is None:
            return False
        worst = 0.0
        for name, dtype, mine, stats, other, other_stats in pairs:
            bound, atol = self._limits.get((name, dtype)) or self._look_up_limits(name, dtype)
            if bound < 0 or len(mine) != SKETCH_LENGTH:
                return False
            found = judge_sketches(mine, stats, other, other_stats, bound, atol)
            if found.decision is not Decision.WITHIN or found.evidence != "sketch":
                return False
            worst = max(worst, found.relative)
        scanned = self.scanned
        if worst > scanned.worst:
            scanned.worst, scanned.worst_pair = worst, (left, right)
        scanned.sketches += len(pairs)
        scanned.within += 1
        return True

    def _look_up_limits(self, name: str, dtype: str) -> tuple[float, float]:
        """Return the relative and the absolute limit for sketches; -1 where they do not decide."""
        bound, (rule, _) = self._judge.sketch_bound(name, dtype), self._judge.rule_for(name, dtype)
        atol = rule.atol if rule.mode == "allclose" else 0.0
        limits = -1.0 if bound is None else bound, atol
        self._limits[name, dtype] = limits
        return limits
