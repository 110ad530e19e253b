"""Measures how many times its rule's tolerance a pair of tensors needs, instead of judging it.

Knows records and rules. Must not know events. A need of 1 is a pair that just satisfies the rule;
what no tolerance could absorb (dtype, shape, NaN, integers) is judged as always.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from tracediff.diff.sketch_verdict import EXTREME_SLACK, EXTREMES
from tracediff.diff.tensors import Judgement, TensorJudge
from tracediff.events import TensorRecord, ToleranceRule
from tracediff.events.sketches import RESOLUTION, confidence_interval, estimate_distance

SAME = "digest"
EXACTLY = "exact"


@dataclass(slots=True)
class Need:
    """What the tensors of one name and dtype needed so far.

    `base` is the rule that decides without calibration, `factor` the largest need in multiples of
    it, `evidence` counts pairs by what was measured; `digest` are those that were equal,
    `exact` those whose rule is.
    """

    base: ToleranceRule
    factor: float = 0.0
    evidence: dict[str, int] = field(default_factory=dict)

    def add(self, factor: float, evidence: str) -> None:
        """Take one more pair of tensors."""
        self.factor = max(self.factor, factor)
        self.evidence[evidence] = self.evidence.get(evidence, 0) + 1


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
            self.take(left.name, left.dtype, 0.0, EXACTLY)
        if rule.mode == "exact" or found.difference.evidence in ("attributes", "non-finite"):
            return found
        if found.within and found.difference.evidence == SAME:
            self.take(left.name, left.dtype, 0.0, SAME)
            return found
        measured = self._measured(left, right, rule, found)
        if measured is None or not math.isfinite(measured[0]):
            return found
        self.take(left.name, left.dtype, *measured)
        return Judgement(True, found.difference)

    def take(self, name: str, dtype: str, factor: float, evidence: str) -> None:
        """Note the need of one pair of tensors."""
        need = self.needs.get((name, dtype))
        if need is None:
            rule, _ = self.rule_for(name, dtype)
            need = self.needs[name, dtype] = Need(rule)
        need.add(factor, evidence)

    def _measured(
        self, left: TensorRecord, right: TensorRecord, rule: ToleranceRule, found: Judgement
    ) -> tuple[float, str] | None:
        """Return the need and what it was measured on, None where too little was recorded."""
        values = self._values(left, right)
        if values is not None:
            if rule.mode == "allclose":
                from tracediff.calibration.elements import largest_share

                return largest_share(values.left, values.right, rule), values.evidence
            difference = found.difference
            if rule.mode == "ulp":
                worst = difference.worst_ulp
                return (_ratio(worst.error, rule.ulps) if worst else math.inf), values.evidence
            return _ratio(difference.relative_l2 or 0.0, rule.rel_l2), values.evidence
        bound = self.sketch_bound(left.name, left.dtype)
        if left.sketch is None or right.sketch is None or not bound:
            return None
        return _sketch_need(left, right, bound, rule.atol), "sketch"


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
