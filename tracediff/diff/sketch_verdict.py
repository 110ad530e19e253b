"""What sketches and statistics of two tensors say about a tolerance, and when they say nothing.

Knows summaries and numbers. Must not know records, rules or events. A sketch estimates one number,
the L2 distance of all elements together; so that a few large elements do not hide all others, the
extremes have to agree too, and nothing is decided where the tolerated distance is larger than
everything on one side of zero, or, where all elements have one sign, than the mean without the
largest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from tracediff.events.sketches import RESOLUTION, confidence_interval, estimate_distance

EXTREME_SLACK = 4.0
"""The smallest and largest element may differ by so many times the bound, relative to themselves:
single elements scatter more than all of them together."""

EXTREMES = frozenset({"min", "max"})
RECORD_MORE = "record both with --tensors values or full"


class Decision(StrEnum):
    """What the summaries show."""

    WITHIN = "within"
    DIFFERS = "differs"
    UNDECIDABLE = "undecidable"


class SketchVerdict(NamedTuple):
    """A decision, the estimated relative L2 distance, what decided, and why."""

    decision: Decision
    relative: float
    evidence: str
    reason: str


def judge_sketches(
    left: Sequence[Any],
    left_stats: Mapping[str, Any],
    right: Sequence[Any],
    right_stats: Mapping[str, Any],
    bound: float,
    atol: float,
) -> SketchVerdict:
    """Return whether two tensors of one shape lie within a relative L2 distance `bound`.

    Both have non-finite elements at the same places. `atol` is what the rule tolerates of each
    element by itself, whatever its size. Within, or beyond, is said only with the confidence of
    `events.sketches.CONFIDENCE`.
    """
    norm = max(float(left_stats.get("l2", math.nan)), float(right_stats.get("l2", math.nan)))
    distance = estimate_distance(left, right)
    if not math.isfinite(distance) or not math.isfinite(norm):
        reason = f"the sketches overflow or have no norm; {RECORD_MORE}"
        return SketchVerdict(Decision.UNDECIDABLE, math.inf, "sketch", reason)
    if norm == 0.0:
        return SketchVerdict(Decision.WITHIN, 0.0, "statistics", "")
    relative = distance / norm
    if not (left_stats.keys() >= EXTREMES and right_stats.keys() >= EXTREMES):
        reason = f"the smallest and largest elements are not recorded; {RECORD_MORE}"
        return SketchVerdict(Decision.UNDECIDABLE, relative, "sketch", reason)
    low, high = float(left_stats["min"]), float(left_stats["max"])
    other_low, other_high = float(right_stats["min"]), float(right_stats["max"])
    if max(-low, high) + max(-other_low, other_high) <= atol:
        return SketchVerdict(Decision.WITHIN, relative, "statistics", "")
    share = EXTREME_SLACK * bound
    if abs(low - other_low) > atol + share * max(abs(low), abs(other_low)):
        return _extremes_differ("smallest", low, other_low, relative)
    if abs(high - other_high) > atol + share * max(abs(high), abs(other_high)):
        return _extremes_differ("largest", high, other_high, relative)
    if bound * norm > atol:
        count, mean = left_stats["finite"], float(left_stats.get("mean", 0.0))
        others = (
            min(max(-low, -other_low), max(high, other_high))
            if low < 0 < high
            else (abs(mean) * count - max(-low, high)) / count
        )
        if bound * norm / math.sqrt(count) >= others:
            reason = (
                "a few large elements make the tolerated distance larger than the others, so the "
                f"sketch says nothing about those; {RECORD_MORE}"
            )
            return SketchVerdict(Decision.UNDECIDABLE, relative, "sketch", reason)
    return _by_distance(distance, relative, norm, bound)


def _by_distance(distance: float, relative: float, norm: float, bound: float) -> SketchVerdict:
    lowest, highest = confidence_interval(distance, RESOLUTION * norm)
    if highest <= bound * norm:
        return SketchVerdict(Decision.WITHIN, relative, "sketch", "")
    if lowest > bound * norm:
        reason = f"relative L2 distance above {bound:g}"
        return SketchVerdict(Decision.DIFFERS, relative, "sketch", reason)
    reason = (
        f"the estimated relative L2 distance {relative:.3g} is too near the bound {bound:g} for a "
        f"sketch to be sure; {RECORD_MORE}"
    )
    return SketchVerdict(Decision.UNDECIDABLE, relative, "sketch", reason)


def _extremes_differ(word: str, mine: float, other: float, relative: float) -> SketchVerdict:
    reason = f"the {word} elements differ: {mine:g} against {other:g}"
    return SketchVerdict(Decision.DIFFERS, relative, "statistics", reason)
