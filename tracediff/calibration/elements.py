"""What two flat arrays need of an allclose rule, and how large they are.

Knows arrays and one rule. The only module of the calibration that needs numpy.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracediff.events import ToleranceRule


def largest_share(
    left: np.ndarray[Any, Any], right: np.ndarray[Any, Any], rule: ToleranceRule
) -> float:
    """Return max |l - r| / (atol + rtol * max(|l|, |r|)) over the finite elements of flat arrays.

    NaN and infinities stand at the same places. Infinite where the rule allows nothing and the
    elements differ.
    """
    mine, other = left.astype(np.float64), right.astype(np.float64)
    finite = np.isfinite(mine) & np.isfinite(other)
    mine, other = mine[finite], other[finite]
    with np.errstate(over="ignore"):
        error = np.abs(mine - other)
        allowed = rule.atol + rule.rtol * np.maximum(np.abs(mine), np.abs(other))
    if np.any((allowed == 0) & (error > 0)):
        return math.inf
    shares = np.divide(error, allowed, out=np.zeros_like(error), where=allowed > 0)
    return float(shares.max(initial=0.0))


def root_mean_square(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> float:
    """Return the larger root mean square of the finite elements of two flat arrays, 0 for none."""
    sizes = [0.0]
    for side in (left, right):
        finite = side.astype(np.float64)
        finite = finite[np.isfinite(finite)]
        scale = float(np.abs(finite).max(initial=0.0))
        if scale > 0:
            sizes.append(scale * math.sqrt(float(np.mean(np.square(finite / scale)))))
    return max(sizes)
