"""How wide a rule has to be for what one tensor needed, and how wide it may be.

Knows one need and its rule. Must not know names or other tensors. A rule that tolerates as much as
the tensor is large absorbs every fault, so there none is made.
"""

from __future__ import annotations

import math
from dataclasses import replace

from tracediff.calibration.measure import SKETCH, Need
from tracediff.diff.tensors import EPSILONS
from tracediff.events import ToleranceRule
from tracediff.events.tolerances import DTYPE_DEFAULTS, EXACT

WIDEST = 0.5
"""Share of a tensor's size beyond which two tensors do not differ by noise: nothing is absorbed."""

DIGITS = 2


def unwidened(need: Need, dtype: str) -> ToleranceRule:
    """Return the rule that holds without calibration, with the bound that stands in for sketches.

    It fits every name: which one it is for is not what makes two rules alike.
    """
    stand_in = need.base.rel_l2 or DTYPE_DEFAULTS.get(dtype, EXACT).rel_l2
    return replace(need.base, match="*", rel_l2=stand_in)


def widen(need: Need, dtype: str, margin: float) -> ToleranceRule:
    """Return a rule as wide as the need times `margin`, rounded up; at least as wide as it is.

    Elements and sketches measure unlike things. Elements widen rtol, atol and ulps by one factor,
    and `rel_l2` up to their distance. Sketches widen `rel_l2` and rtol by one factor, and atol by
    no more than that distance amounts to for an element of the tensor's size.
    """
    base = unwidened(need, dtype)
    by_sketch = need.factors.get(SKETCH, 0.0) * margin
    by_elements = margin * max(
        (factor for word, factor in need.factors.items() if word != SKETCH), default=0.0
    )
    factor = max(by_sketch, by_elements)
    rel_l2 = max(base.rel_l2 * by_sketch, need.distance * margin)
    return replace(
        base,
        rtol=_at_least(base.rtol, base.rtol * factor),
        atol=_at_least(
            base.atol, max(base.atol * by_elements, min(base.atol * by_sketch, rel_l2 * need.size))
        ),
        ulps=max(base.ulps, math.ceil(base.ulps * factor)),
        rel_l2=_at_least(base.rel_l2, rel_l2),
    )


def is_noise(need: Need, dtype: str, margin: float) -> bool:
    """Whether the widened rule is narrow against the tensor: relative, and in absolute size."""
    rule = widen(need, dtype, margin)
    relative = max(rule.rtol, rule.rel_l2, rule.ulps * EPSILONS.get(dtype, 0.0))
    return relative <= WIDEST and (rule.atol <= need.base.atol or rule.atol <= WIDEST * need.size)


def _at_least(value: float, wanted: float) -> float:
    return value if wanted <= value else _round_up(wanted)


def _round_up(value: float) -> float:
    """Return the value with two digits, not below it."""
    if value <= 0 or not math.isfinite(value):
        return value
    unit = 10.0 ** (math.floor(math.log10(value)) - DIGITS + 1)
    rounded = float(f"{math.ceil(value / unit) * unit:.{DIGITS}g}")
    return rounded if rounded >= value else float(f"{rounded + unit:.{DIGITS}g}")
