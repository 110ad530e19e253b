"""How far corresponding tensors lie apart along the walk, and where that grows suddenly.

Knows records of aligned events. Must not know tolerances: a fault that stays within every one of
them shows here as a jump, while the noise of another machine grows evenly.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tracediff.diff.align import Alignment
from tracediff.diff.result import DriftPoint, DriftProfile
from tracediff.diff.sections import place_of
from tracediff.events import Event
from tracediff.events.digest import is_proof
from tracediff.events.event import TENSOR_SECTIONS
from tracediff.events.sketches import estimate_distance

INTEGERS = ("int", "uint", "bool")
FLOOR = 1e-7
"""Drift below this is the rounding of float32 and starts no jump."""


def measure_drift(alignment: Alignment) -> DriftProfile:
    """Return the drift of every tensor that both sides keep, in recorded order.

    Drift is the L2 distance over the larger L2 norm, from values or sketches. The jump of a tensor
    is its drift over the largest drift among its event's inputs and all tensors recorded before
    it, and at least over `FLOOR`.
    """
    points: list[DriftPoint] = []
    largest = 0.0
    for left, right in _matched(alignment):
        for section in TENSOR_SECTIONS:
            for record, counterpart in _pairs(left, right, section):
                drift = relative_distance(record, counterpart)
                if drift is None:
                    continue
                # Rounding to integers makes steps of noise: that is no jump of its own.
                is_rounded = record["dtype"].startswith(INTEGERS)
                jump = 0.0 if is_rounded else drift / max(largest, FLOOR)
                points.append(DriftPoint(place_of(left), section, record["name"], drift, jump))
                largest = largest if is_rounded else max(largest, drift)
    drifting = [point for point in points if point.jump > 0]
    if not drifting:
        return DriftProfile(tuple(points))
    median = statistics.median(point.jump for point in drifting)
    largest_jump = max(drifting, key=lambda point: point.jump)
    return DriftProfile(tuple(points), largest_jump, largest_jump.jump / median)


def relative_distance(left: Mapping[str, Any], right: Mapping[str, Any]) -> float | None:
    """Return the relative L2 distance of two records, None where they do not keep enough."""
    if left["digest"] == right["digest"] and is_proof(left["digest"]):
        return 0.0
    if left["dtype"] != right["dtype"] or left["shape"] != right["shape"]:
        return None
    if "values" in left and "values" in right:
        mine, other = _finite(left["values"]), _finite(right["values"])
        norm = max(math.hypot(*mine), math.hypot(*other))
        return math.dist(mine, other) / norm if norm > 0 else 0.0
    if "sketch" in left and "sketch" in right:
        distance = estimate_distance(left["sketch"], right["sketch"])
        norm = max(_norm(left), _norm(right))
        return distance / norm if norm > 0 and math.isfinite(distance) else None
    return None


def _matched(alignment: Alignment) -> Iterator[tuple[Event, Event]]:
    for pair in alignment.pairs:
        if pair.left >= 0 and pair.right >= 0:
            yield alignment.left.events[pair.left], alignment.right.events[pair.right]


def _pairs(left: Event, right: Event, section: str) -> Iterator[tuple[Any, Any]]:
    counterparts = {record["name"]: record for record in right.payload.get(section, ())}
    for record in left.payload.get(section, ()):
        if record["name"] in counterparts:
            yield record, counterparts[record["name"]]


def _finite(values: Sequence[Any]) -> list[float]:
    """Return values as numbers, what is not finite as 0, as sketches do."""
    numbers = [float(value) for value in values]
    return [number if math.isfinite(number) else 0.0 for number in numbers]


def _norm(record: Mapping[str, Any]) -> float:
    return float(record["stats"].get("l2", math.nan))
