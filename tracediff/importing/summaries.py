"""Summaries of tensors whose elements nobody kept: a foreign hash, a few statistics, or nothing.

Knows what each of these proves. A hash that differing tensors may share, and the absence of one,
are weak digests (`events.digest`): equal ones never read as equal tensors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tracediff.events.consistency import COMPLEX_DTYPES, MOST_ELEMENTS
from tracediff.events.digest import WEAK_PREFIX
from tracediff.recording.recordable import Summarised
from tracediff.recording.summary import TensorSummary

NOTHING = f"{WEAK_PREFIX}none"
WEAK_HEADER = {"x-weak-digests": True}
"""In the root of a trace in which equal lines do not prove equal tensors."""

STATISTICS = ("min", "max", "mean", "l2")


def summarise_elsewhere(
    dtype: str, shape: Sequence[int], digest: str, statistics: Mapping[str, float | int | None]
) -> Summarised:
    """Return the record of a tensor of which only a digest and statistics are known.

    `statistics` may hold `min`, `max`, `mean` and `l2`; those that are not finite are left out, and
    count as at least one NaN or infinity. Raises ValueError for a shape that no tensor has.
    """
    count = 2 if dtype in COMPLEX_DTYPES else 1
    for extent in shape:
        if isinstance(extent, bool) or not isinstance(extent, int) or extent < 0:
            raise ValueError(f"{list(shape)} is no shape")
        count *= extent
        if count > MOST_ELEMENTS:
            raise ValueError(f"the shape {list(shape)} has more than 2^63 elements")
    stats = _counts(count, statistics)
    for key in STATISTICS:
        value = statistics.get(key)
        if stats["finite"] and value is not None and math.isfinite(value):
            stats[key] = value
    return Summarised(TensorSummary(dtype, tuple(shape), digest, stats))


def weak_digest(**known: Any) -> str:
    """Return the digest of values that unequal tensors may share, `~none` where all are None."""
    given = {key: str(value).replace(";", ",") for key, value in known.items() if value is not None}
    pairs = ";".join(f"{key}={value}" for key, value in given.items())
    return f"{WEAK_PREFIX}{pairs}" if pairs else NOTHING


def _counts(count: int, statistics: Mapping[str, float | int | None]) -> dict[str, Any]:
    """Return the least counts of numbers that are not finite which the statistics imply."""
    values = [value for value in statistics.values() if value is not None]
    found: dict[str, int] = {}
    if any(math.isnan(value) for value in values):
        found["nan"] = 1
    else:
        if statistics.get("max") == math.inf:
            found["pos_inf"] = 1
        if statistics.get("min") == -math.inf:
            found["neg_inf"] = 1
    if sum(found.values()) > count:
        found = {}
    return {"finite": count - sum(found.values()), **found}
