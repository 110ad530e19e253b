"""Numbers that stand for tensors, and whether one tensor is a sum of multiples of others.

Knows recorded values and sketches, which are linear: what holds for tensors of one shape holds for
their sketches. Pure Python on short lists, so that nothing has to be imported.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

Vector = list[float]

RESIDUAL = 1e-5
"""How far (relative L2) a tensor may lie from a sum that explains it; sketches resolve 1e-7."""


def vectors(*records: Mapping[str, Any] | None) -> list[Vector] | None:
    """Return values of all records, or sketches of all; None unless they can be combined.

    They can be combined if all have one shape, and NaN and infinite elements, if any, at the same
    places: there they count as 0, as in a sketch.
    """
    found = [record for record in records if record is not None]
    if len(found) < len(records) or len({tuple(record["shape"]) for record in found}) > 1:
        return None
    if len({record["stats"].get("nonfinite") for record in found}) > 1:
        return None
    for key in ("values", "sketch"):
        if all(key in record for record in found):
            return [[_finite(x) for x in record[key]] for record in found]
    return None


def norm(vector: Vector) -> float:
    """Return the L2 norm."""
    return math.hypot(*vector)


def distance(left: Vector, right: Vector) -> float:
    """Return the L2 distance over the larger norm; 0 for two zeros."""
    largest = max(norm(left), norm(right))
    return math.dist(left, right) / largest if largest else 0.0


def combine(factors: Sequence[float], terms: Sequence[Vector]) -> Vector:
    """Return the sum of the terms, each times its factor."""
    return [
        math.fsum(factor * x for factor, x in zip(factors, column, strict=True))
        for column in zip(*terms, strict=True)
    ]


def fit_factor(target: Vector, term: Vector) -> float | None:
    """Return the factor with which `term` is `target`, None where there is none."""
    square = _dot(term, term)
    if square == 0:
        return None
    factor = _dot(term, target) / square
    return factor if distance(combine([factor], [term]), target) <= RESIDUAL else None


def fit_two_factors(target: Vector, first: Vector, second: Vector) -> tuple[float, float] | None:
    """Return the factors with which two terms sum up to `target`, None where there are none."""
    a, b, c = _dot(first, first), _dot(first, second), _dot(second, second)
    determinant = a * c - b * b
    if determinant <= 1e-12 * a * c:
        return None
    x, y = _dot(first, target), _dot(second, target)
    factors = (c * x - b * y) / determinant, (a * y - b * x) / determinant
    close = distance(combine(factors, [first, second]), target) <= RESIDUAL
    return factors if close else None


def _finite(value: Any) -> float:
    return 0.0 if isinstance(value, str) else float(value)


def _dot(left: Vector, right: Vector) -> float:
    return math.fsum(x * y for x, y in zip(left, right, strict=True))
