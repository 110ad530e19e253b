"""The largest share of an allclose rule's tolerance that any element of two tensors uses.

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
