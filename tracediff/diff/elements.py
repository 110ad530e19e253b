"""Compares the elements of two tensors whose values are at hand, in float64.

Knows arrays and one tolerance rule. Must not know records, sketches or sections.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tracediff.diff.result import ErrorAt
from tracediff.events import TensorRecord, ToleranceRule
from tracediff.events.element_types import read_decimals

Array: TypeAlias = "np.ndarray[Any, Any]"

ULP_INTEGERS = {"float16": "i2", "float32": "i4", "float64": "i8", "bfloat16": "i4"}
"""Integer types whose order is that of the float type's values; bfloat16 is read as float32."""

BFLOAT16_STEP = 2**16
INTEGER_KINDS = ("int", "uint", "bool")


@dataclass(frozen=True, slots=True)
class ElementErrors:
    """What comparing all elements found; `reason` is empty where the rule allows everything."""

    reason: str
    kind: str
    out_of_tolerance: int
    first_index: tuple[int, ...] | None
    relative_l2: float
    worst_absolute: ErrorAt | None
    worst_relative: ErrorAt | None
    worst_ulp: ErrorAt | None
    nan_pairs: int


def decode_values(record: TensorRecord) -> Array:
    """Return recorded values as a flat array: integers as such, everything else as float64."""
    assert record.values is not None
    if record.dtype.startswith(INTEGER_KINDS):
        return np.array(record.values, dtype=record.dtype)
    decimals = np.array([float(value) for value in record.values], dtype=np.float64)
    return read_decimals(decimals, record.dtype)


def compare_elements(
    left: Array,
    right: Array,
    dtype: str,
    shape: Sequence[int],
    rule: ToleranceRule,
    *,
    nan_equal: bool,
) -> ElementErrors:
    """Return the errors of two arrays of values in C order (complex as pairs of components).

    `left` and `right` are flat float64 arrays, or integer arrays for integer types. NaN positions
    come first, then infinities by sign, then finite values under `rule`.
    """
    compared = _Comparison(left, right, dtype, shape)
    with np.errstate(all="ignore"):
        nan_left, nan_right = _is_nan(left), _is_nan(right)
        both_nan = nan_left & nan_right
        nan_out = (nan_left | nan_right) if not nan_equal else (nan_left != nan_right)
        infinite = (_is_infinite(left) | _is_infinite(right)) & ~(nan_left | nan_right)
        infinity_out = infinite & (left != right)
        finite = ~(nan_left | nan_right | infinite)
        value_out = finite & compared.beyond(rule, finite)
        if rule.mode == "rel_l2" and compared.relative_l2(finite) <= rule.rel_l2:
            value_out = np.zeros_like(value_out)
        return compared.errors(nan_out, infinity_out, value_out, finite, int(both_nan.sum()))


class _Comparison:
    """Two flat arrays and what is measured on them."""

    def __init__(self, left: Array, right: Array, dtype: str, shape: Sequence[int]) -> None:
        self.left = left
        self.right = right
        self.dtype = dtype
        self.shape = tuple(shape)
        self.components = 2 if dtype.startswith("complex") else 1
        self.wide_left = left.astype(np.float64)
        self.wide_right = right.astype(np.float64)
        with np.errstate(all="ignore"):
            self.error = np.abs(self.wide_left - self.wide_right)
            self.larger = np.maximum(np.abs(self.wide_left), np.abs(self.wide_right))

    def beyond(self, rule: ToleranceRule, finite: Array) -> Array:
        """Return where the finite values differ more than the rule allows."""
        if rule.mode == "allclose":
            outside: Array = self.error > rule.atol + rule.rtol * self.larger
            return outside
        if rule.mode == "ulp":
            steps = self.ulp_steps(finite)
            return self.different() if steps is None else steps > rule.ulps
        return self.different()

    def different(self) -> Array:
        """Return where the values are not the same, signed zeros told apart."""
        unequal: Array = self.left != self.right
        if self.left.dtype.kind == "f":
            unequal |= np.signbit(self.left) != np.signbit(self.right)
        return unequal

    def relative_l2(self, finite: Array) -> float:
        """Return ||l - r|| / max(||l||, ||r||) of the finite part; 0 for equal zeros."""
        scale = float(self.larger[finite].max(initial=0.0))
        if scale == 0.0:
            return 0.0
        distance = float(np.sqrt(np.sum(np.square(self.error[finite] / scale))))
        norms = [
            float(np.sqrt(np.sum(np.square(side[finite] / scale))))
            for side in (self.wide_left, self.wide_right)
        ]
        return distance / max(norms)

    def ulp_steps(self, finite: Array) -> Array | None:
        """Return how many representable values lie between, or None for types without a table."""
        kind = ULP_INTEGERS.get(self.dtype)
        if kind is None:
            return None
        element = "float32" if self.dtype == "bfloat16" else self.dtype
        ordinals = [
            _ordinals(np.where(finite, side, 0.0).astype(element), kind)
            for side in (self.wide_left, self.wide_right)
        ]
        # Python-free and exact below 2^63 steps; farther apart only matters as "very far".
        steps: Array = np.abs(ordinals[0].astype(np.float64) - ordinals[1].astype(np.float64))
        near = steps < 2.0**52
        steps[near] = np.abs(ordinals[0][near] - ordinals[1][near])
        return steps / BFLOAT16_STEP if self.dtype == "bfloat16" else steps

    def errors(
        self, nan_out: Array, infinity_out: Array, value_out: Array, finite: Array, nan_pairs: int
    ) -> ElementErrors:
        """Put together what was found, the first kind of failure deciding the reason."""
        reasons = (
            (nan_out, "nan", self.nan_reason()),
            (infinity_out, "infinity", "an infinity on one side only or of the other sign"),
            (value_out, "values", "values out of tolerance"),
        )
        out = nan_out | infinity_out | value_out
        kind, reason = next(((k, text) for mask, k, text in reasons if mask.any()), ("", ""))
        steps = self.ulp_steps(finite)
        relative = np.divide(self.error, self.larger, where=self.larger > 0, out=self.error * 0)
        first = int(np.flatnonzero(out)[0]) if kind else None
        return ElementErrors(
            reason=reason,
            kind=kind,
            out_of_tolerance=int(out.sum()),
            first_index=None if first is None else self.index(first),
            relative_l2=self.relative_l2(finite),
            worst_absolute=self.worst(self.error, finite),
            worst_relative=self.worst(relative, finite),
            worst_ulp=None if steps is None else self.worst(steps, finite),
            nan_pairs=nan_pairs,
        )

    def nan_reason(self) -> str:
        """Return why NaN is a difference."""
        one_sided = bool((_is_nan(self.left) != _is_nan(self.right)).any())
        where = "on one side only" if one_sided else "on both sides, which counts as different"
        return f"NaN {where}"

    def worst(self, measure: Array, finite: Array) -> ErrorAt | None:
        """Return the largest value of a measure and where it is."""
        if not finite.any():
            return None
        place = int(np.argmax(np.where(finite, measure, -1.0)))
        return ErrorAt(
            float(measure[place]),
            self.index(place),
            self.left[place].item(),
            self.right[place].item(),
        )

    def index(self, flat: int) -> tuple[int, ...]:
        """Return the multi-index of a flat position."""
        if not self.shape:
            return ()
        return tuple(int(i) for i in np.unravel_index(flat // self.components, self.shape))


def _is_nan(array: Array) -> Array:
    return np.isnan(array) if array.dtype.kind == "f" else np.zeros(array.shape, bool)


def _is_infinite(array: Array) -> Array:
    return np.isinf(array) if array.dtype.kind == "f" else np.zeros(array.shape, bool)


def _ordinals(array: Array, kind: str) -> Array:
    """Map floats to int64 so that neighbours differ by 1 and both zeros are 0."""
    bits = np.ascontiguousarray(array).view(kind).astype(np.int64)
    lowest = np.int64(np.iinfo(kind).min)
    return np.where(bits < 0, lowest - bits, bits)
