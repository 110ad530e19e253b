"""How sure the verdict of a sketch is.

Knows one probability distribution. What the estimate is worth is `events.sketches`' guarantee.
"""

from __future__ import annotations

import math

DEGREES_OF_FREEDOM = 64


def verdict_confidence(estimate: float, bound: float) -> float:
    """Return how sure it is that the true distance lies on the estimate's side of the bound.

    One minus the probability that a tensor pair whose true distance is the bound itself gives an
    estimate at least as far on this side. The squared estimate over the squared distance, times
    64, is chi-square distributed with 64 degrees of freedom; for an even number 2m of them
    P(X > x) = exp(-x/2) sum of (x/2)^i / i! for i < m (Abramowitz and Stegun 26.4.4).
    """
    if bound <= 0 or not math.isfinite(estimate):
        return 1.0
    half = DEGREES_OF_FREEDOM * (estimate / bound) ** 2 / 2
    if half > 700:
        return 1.0
    term = above = math.exp(-half)
    for i in range(1, DEGREES_OF_FREEDOM // 2):
        term *= half / i
        above += term
    return above if estimate <= bound else 1.0 - above
