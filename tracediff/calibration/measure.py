"""Measures how many times its rule's tolerance a pair of tensors needs, instead of judging it.

Knows records and rules. Must not know events. A need of 1 is a pair that just satisfies the rule;
what no tolerance could absorb (dtype, shape, NaN, integers) is judged as always.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from tracediff.diff.sketch_verdict import EXTREME_SLACK, EXTREMES
from tracediff.diff.tensors import Judgement, TensorJudge
from tracediff.events import TensorRecord, ToleranceRule
from tracediff.events.sketches import RESOLUTION, confidence_interval, estimate_distance

SAME = "digest"
EXACTLY = "exact"
SKETCH = "sketch"


class Measured(NamedTuple):
    """One pair: its need in multiples of the rule, what that was measured on, and two lengths.

    `distance` is the relative L2 distance of the elements, 0 where only sketches are there (their
    need says it); `size` the root mean square of the larger side, infinite where it is not known.
    """

    factor: float
    evidence: str
    distance: float = 0.0
    size: float = math.inf


@dataclass(slots=True)
class Need:
    """What the tensors of one name and dtype needed so far.

    `base` is the rule that decides without calibration, `factors` the largest need in multiples of
    it by what was measured, `evidence` counts pairs by the same words; `digest` are those that were
    equal, `exact` those whose rule is. `distance` is the largest and `size` the smallest of
    `Measured`.
    """

    base: ToleranceRule
    factors: dict[str, float] = field(default_factory=dict)
    evidence: dict[str, int] = field(default_factory=dict)
    distance: float = 0.0
    size: float = math.inf

    @property
    def factor(self) -> float:
        """The largest need, whatever it was measured on."""
        return max(self.factors.values(), default=0.0)

    def add(self, found: Measured) -> None:
        """Take one more pair of tensors."""
        word = found.evidence
        self.factors[word] = max(self.factors.get(word, 0.0), found.factor)
        self.evidence[word] = self.evidence.get(word, 0) + 1
        self.distance = max(self.distance, found.distance)
        self.size = min(self.size, found.size)


Needs = dict[tuple[str, str], Need]
"""By name and dtype of the tensor."""


@dataclass(frozen=True, slots=True)
class MeasuringJudge(TensorJudge):
    """Takes down in `needs` what every pair needs, and lets pass what a tolerance can absorb."""

    needs: Needs = field(default_factory=dict)

    def judge(self, left: TensorRecord, right: TensorRecord, section: str) -> Judgement:
        """Return the judgement of two records; within where a wider tolerance would do."""
        found = TensorJudge.judge(self, left, right, section)
        rule, _ = self.rule_for(left.name, left.dtype)
        if rule.mode == "exact":
            self.take(left.name, left.dtype, Measured(0.0, EXACTLY))
        if rule.mode == "exact" or found.difference.evidence in ("attributes", "non-finite"):
            return found
        if found.within and found.difference.evidence == SAME:
            self.take(left.name, left.dtype, Measured(0.0, SAME))
            return found
        measured = self._measured(left, right, rule, found)
        if measured is None or not math.isfinite(measured.factor):
            return found
        self.take(left.name, left.dtype, measured)
        return Judgement(True, found.difference)

    def take(self, name: str, dtype: str, found: Measured) -> None:
        """Note the need of one pair of tensors."""
        need = self.needs.get((name, dtype))
        if need is None:
            rule, _ = self.rule_for(name, dtype)
            need = self.needs[name, dtype] = Need(rule)
        need.add(found)

    def _measured(
        self, left: TensorRecord, right: TensorRecord, rule: ToleranceRule, found: Judgement
    ) -> Measured | None:
        """Return the need and what it was measured on, None where too little was recorded."""
        values = self._values(left, right)
        if values is not None:
            from tracediff.calibration.elements import largest_share, root_mean_square

            difference = found.difference
            distance = difference.relative_l2 or 0.0
            if rule.mode == "allclose":
                factor = largest_share(values.left, values.right, rule)
            elif rule.mode == "ulp":
                worst = difference.worst_ulp
                factor = _ratio(worst.error, rule.ulps) if worst else math.inf
            else:
                factor = _ratio(distance, rule.rel_l2)
            size = root_mean_square(values.left, values.right)
            return Measured(factor, values.evidence, distance, size)
        bound = self.sketch_bound(left.name, left.dtype)
        if left.sketch is None or right.sketch is None or not bound:
            return None
        factor = _sketch_need(left, right, bound, rule.atol)
        return Measured(factor, SKETCH, size=_recorded_size(left, right))


def _recorded_size(left: TensorRecord, right: TensorRecord) -> float:
    """Return the root mean square of the larger side as the statistics give it."""
    norm = max(float(side.stats.get("l2", 0.0)) for side in (left, right))
    return norm / math.sqrt(max(int(left.stats.get("finite", 0)), 1))


def _sketch_need(left: TensorRecord, right: TensorRecord, bound: float, atol: float) -> float:
    """Return by how much `bound` must grow for a sketch to be sure that it is kept.

    The inverse of `judge_sketches`: distance with its confidence, and the extremes.
    """
    assert left.sketch is not None
    assert right.sketch is not None
    norm = max(float(side.stats.get("l2", math.nan)) for side in (left, right))
    distance = estimate_distance(left.sketch, right.sketch)
    if norm == 0.0:
        return 0.0
    if not math.isfinite(norm) or not all(s.stats.keys() >= EXTREMES for s in (left, right)):
        return math.inf
    _, highest = confidence_interval(distance, RESOLUTION * norm)
    needed = highest / norm
    for key in ("min", "max"):
        mine, other = float(left.stats[key]), float(right.stats[key])
        beyond = abs(mine - other) - atol
        if beyond > 0:
            needed = max(needed, beyond / max(abs(mine), abs(other)) / EXTREME_SLACK)
    return needed / bound


def _ratio(measured: float, allowed: float) -> float:
    if measured == 0.0:
        return 0.0
    return measured / allowed if allowed > 0 else math.inf
