"""Measured values outside tensors: the `[id, value]` pairs of lists called `top`.

Knows events. Where both sides list the same ids in the same order, the values are measured and
then taken for equal; another order is a difference that is not absorbed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tracediff.calibration.measure import Measured
from tracediff.diff.fields import TOP, same_scalar
from tracediff.events import Event, ToleranceRule

Take = Callable[[Measured], None]

VALUES = "values"


def level_tops(left: Event, right: Event, rule: ToleranceRule, take: Take) -> Event:
    """Return the right event with left's values in its `top` lists; `take` is told each need."""
    mine, other = left.payload.get("choice"), right.payload.get("choice")
    if rule.mode != "allclose" or not isinstance(mine, Mapping) or mine == other:
        return right
    levelled = _levelled(mine, other, rule, take)
    return replace(right, payload={**right.payload, "choice": levelled})


def _levelled(left: Any, right: Any, rule: ToleranceRule, take: Take) -> Any:
    """Return a choice, or a list that holds choices, as `diff.fields` looks for `top` in them."""
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        return [_levelled(*pair, rule, take) for pair in zip(left, right, strict=True)]
    if not isinstance(left, Mapping) or not isinstance(right, Mapping):
        return right
    found = dict(right)
    for key, value in right.items():
        mine = left.get(key)
        if key == TOP and _same_ids(mine, value):
            if value:
                take(_measured([pair[1] for pair in mine or ()], [pair[1] for pair in value], rule))
            found[key] = mine
        elif isinstance(value, list):
            found[key] = _levelled(mine, value, rule, take)
    return found


def _same_ids(left: Any, right: Any) -> bool:
    if not isinstance(left, list) or not isinstance(right, list) or len(left) != len(right):
        return False
    pairs = (*left, *right)
    if not all(isinstance(p, list) and len(p) == 2 and type(p[1]) is float for p in pairs):
        return False
    return all(same_scalar(p[0], q[0]) for p, q in zip(left, right, strict=True))


def _measured(left: Sequence[float], right: Sequence[float], rule: ToleranceRule) -> Measured:
    """Return what one list needs; it is a small tensor whose elements are all there."""
    shares = (_share(*pair, rule) for pair in zip(left, right, strict=True))
    norm = max(math.hypot(*left), math.hypot(*right))
    distance = math.dist(left, right) / norm if norm > 0 else 0.0
    return Measured(max(shares), VALUES, distance, norm / math.sqrt(len(left)))


def _share(left: float, right: float, rule: ToleranceRule) -> float:
    error = abs(left - right)
    allowed = rule.atol + rule.rtol * max(abs(left), abs(right))
    return error / allowed if allowed > 0 else 0.0
