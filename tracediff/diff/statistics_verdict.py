"""What statistics and weak digests of two tensors show where nothing better was recorded.

Knows summaries and one rule. Must not know records or events. They can show that a rule is broken,
never that it is kept: the smallest and largest elements, the mean and the norms of tensors that
keep an allclose rule lie no farther apart than the rule allows a single element, or all together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tracediff.events import ToleranceRule
from tracediff.events.digest import L1, weak_parts

SLACK = 1.01
"""For the rounding of statistics that somebody else computed and printed."""

SUM_ROUNDING = 8.0
"""So many roundings of the tensor's type may lie between two ways to add up its elements."""

EXTREMES = ("min", "max")
COUNTS = ("nan", "pos_inf", "neg_inf")


def show_difference(
    left: tuple[str, Mapping[str, Any]],
    right: tuple[str, Mapping[str, Any]],
    shape: Sequence[int],
    rule: ToleranceRule,
    epsilon: float,
) -> str:
    """Return why two tensors cannot keep a rule, empty where their summaries do not show it.

    Each side is digest and statistics; `epsilon` is the relative distance of neighbouring numbers
    of their type.
    """
    mine, other = left[1], right[1]
    for key in COUNTS:
        if bool(mine.get(key)) != bool(other.get(key)):
            return "NaN or infinite elements on one side only"
    if rule.mode == "exact":
        unequal = [key for key in EXTREMES if mine.get(key) != other.get(key)]
        known = [key for key in unequal if key in mine and key in other]
        return f"the rule is exact, the {known[0]}ima differ" if known else ""
    rtol, atol = _bounds(rule, epsilon)
    sizes = [abs(float(side[key])) for side in (mine, other) for key in EXTREMES if key in side]
    largest = max(sizes, default=math.inf)
    for key in EXTREMES:
        if key in mine and key in other:
            low, high = sorted((float(mine[key]), float(other[key])))
            if high - low > SLACK * (atol + rtol * _scale(rule, low, high, mine, other)):
                return f"the {key}ima differ: {mine[key]:g} against {other[key]:g}"
    if rtol >= 1:
        return ""
    # An element's larger size, to which rtol is relative, is at most so much above either size.
    rtol, atol = rtol / (1 - rtol), atol / (1 - rtol)
    allowed = SLACK * (atol + (rtol + SUM_ROUNDING * epsilon) * largest)
    if rule.mode != "rel_l2" and _apart(mine.get("mean"), other.get("mean"), allowed):
        return f"the means differ: {mine['mean']:g} against {other['mean']:g}"
    count = math.prod(shape)
    norms = mine.get("l2"), other.get("l2")
    if _apart(*norms, _sum_bound(norms, math.sqrt(count) * atol, rtol, epsilon)):
        return f"the L2 norms differ: {norms[0]:g} against {norms[1]:g}"
    sums = _l1_norm(left[0]), _l1_norm(right[0])
    if rule.mode != "rel_l2" and _apart(*sums, _sum_bound(sums, count * atol, rtol, epsilon)):
        return f"the L1 norms differ: {sums[0]:g} against {sums[1]:g}"
    return ""


def _bounds(rule: ToleranceRule, epsilon: float) -> tuple[float, float]:
    """Return relative and absolute tolerance of an element that the rule amounts to."""
    if rule.mode == "ulp":
        return rule.ulps * epsilon, 0.0
    return (rule.rel_l2, 0.0) if rule.mode == "rel_l2" else (rule.rtol, rule.atol)


def _scale(
    rule: ToleranceRule, low: float, high: float, left: Mapping[str, Any], right: Mapping[str, Any]
) -> float:
    """Return what a relative tolerance of two extremes is relative to."""
    if rule.mode != "rel_l2":
        return max(abs(low), abs(high))
    return max(float(side.get("l2", math.inf)) for side in (left, right))


def _sum_bound(sums: Sequence[float | None], absolute: float, rtol: float, epsilon: float) -> float:
    largest = max((abs(float(value)) for value in sums if value is not None), default=0.0)
    return SLACK * (absolute + (rtol + SUM_ROUNDING * epsilon) * largest)


def _apart(left: float | None, right: float | None, allowed: float) -> bool:
    """Whether both are known, finite, and farther apart than allowed."""
    if left is None or right is None or not math.isfinite(float(left) - float(right)):
        return False
    return abs(float(left) - float(right)) > allowed


def _l1_norm(digest: str) -> float | None:
    try:
        return float(weak_parts(digest)[L1])
    except (KeyError, ValueError):
        return None
