"""Rules on the statistics of tensors whose numbers are not kept: are there such numbers at all?

Knows what minimum, maximum, mean and norm have to do with each other, and that one digest means
one tensor. Must not know what a tensor is for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from tracediff.contracts.rule import Finding, Rule
from tracediff.contracts.tensor_records import (
    COUNTS,
    RELATIVE_ERROR,
    SMALLEST,
    has_records,
    list_records,
    round_decimal,
)
from tracediff.events import Trace
from tracediff.events.digest import DIGEST_PREFIX


def _statistics_are_possible(trace: Trace) -> Iterator[Finding]:
    for event, record in list_records(trace):
        # Kept values decide by themselves, and more strictly.
        if "values" not in record:
            for reason in _contradictions(record):
                yield event.event_id, f"{record['name']}: {reason}"


def _contradictions(record: Mapping[str, Any]) -> Iterator[str]:
    stats, count = record["stats"], record["stats"].get("finite", 0)
    # Extremes are decimals that stand for numbers of the type; means and norms are float64.
    low, high = (_extreme(record, key) for key in ("min", "max"))
    if low is None or high is None:
        return
    if low > high:
        yield f"min {stats['min']} is above max {stats['max']}"
        return
    largest = max(abs(low), abs(high))
    slack = RELATIVE_ERROR * largest + SMALLEST
    mean, norm = _finite(stats.get("mean")), _finite(stats.get("l2"))
    if mean is not None and not low - slack <= mean <= high + slack:
        yield f"mean {mean} is outside of {stats['min']} … {stats['max']}"
    if norm is None:
        return
    if norm < largest - slack:
        yield f"l2 {norm} is less than the largest magnitude {largest}"
    if norm > math.sqrt(count) * (largest + slack):
        yield f"l2 {norm} is more than {count} numbers up to {largest} give"


def _extreme(record: Mapping[str, Any], key: str) -> float | None:
    decimal = _finite(record["stats"].get(key))
    rounded = None if decimal is None else round_decimal(record["dtype"], record["stats"][key])
    return _finite(rounded)


def _finite(value: Any) -> float | None:
    is_number = type(value) in (int, float) and math.isfinite(value)
    return float(value) if is_number else None


def _one_digest_is_one_tensor(trace: Trace) -> Iterator[Finding]:
    first: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for event, record in list_records(trace):
        if not record["digest"].startswith(DIGEST_PREFIX):
            continue
        origin, earlier = first.setdefault(record["digest"], (event.event_id, record))
        for key in ("dtype", "shape"):
            if record[key] != earlier[key]:
                yield (
                    event.event_id,
                    f"{record['name']}: {key} is {record[key]!r:.60}, in {origin} the same digest "
                    f"has {earlier[key]!r:.60}",
                )
        for key in _different_statistics(record["stats"], earlier["stats"]):
            yield (
                event.event_id,
                f"{record['name']}: {key} is not what {origin} says of the same digest",
            )


def _different_statistics(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    """Yield the statistics in which two records differ; one that a record lacks says nothing."""
    yield from (key for key in COUNTS if one.get(key, 0) != other.get(key, 0))
    shared = [key for key in ("finite", "nonfinite", "min", "max") if key in one and key in other]
    yield from (key for key in shared if one[key] != other[key])
    scale = max((abs(_finite(one.get(key)) or 0.0) for key in ("min", "max")), default=0.0)
    for key in ("mean", "l2"):
        mine, theirs = _finite(one.get(key)), _finite(other.get(key))
        if mine is None or theirs is None:
            continue
        allowed = RELATIVE_ERROR * max(scale, abs(theirs)) + SMALLEST
        if abs(mine - theirs) > allowed:
            yield key


TENSOR_STATISTICS_RULES = (
    Rule(
        "statistics-are-possible",
        "minimum, maximum, mean and norm of a tensor are those of some numbers",
        has_records,
        _statistics_are_possible,
    ),
    Rule(
        "one-digest-is-one-tensor",
        "records of one digest have one type, one shape and the same statistics",
        has_records,
        _one_digest_is_one_tensor,
    ),
)
