"""What can be counted exactly and in any order: extremes, non-finite numbers, negative zeros.

Knows the bits of numbers; must not know anything that rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from blake3 import blake3

from tracediff.events.digest import digest_text
from tracediff.events.element_types import Array, ElementType, FloatLayout
from tracediff.recording.decimals import Number, print_numbers

NAN, POSITIVE_INFINITY, NEGATIVE_INFINITY = 1, 2, 3
"""Kinds of non-finite numbers as the digest of their places sees them; 0 is a finite number."""


@dataclass(frozen=True, slots=True)
class Extremes:
    """The smallest and largest of some numbers as integers, and whether -0.0 is among them.

    A floating-point number stands as its bits without the sign, negated where it is negative:
    an integer that orders as the number does, with one value for both zeros, and NaN beyond the
    infinities.
    """

    low: int
    high: int
    negative_zero: bool = False

    @property
    def largest(self) -> int:
        """The largest absolute value."""
        return max(-self.low, self.high)


def find_extremes(element: ElementType, numbers: Array) -> Extremes:
    """Return the extremes of `numbers`: at least one, of the element's component dtype."""
    layout = element.layout
    if layout is None:
        return Extremes(int(np.minimum.reduce(numbers)), int(np.maximum.reduce(numbers)))
    # Of negative numbers, the larger bits belong to the smaller number. Integer minima and maxima
    # are the fastest reductions there are, and NaN does not disturb them.
    signed = numbers.view(layout.signed)
    least, most = int(np.minimum.reduce(signed)), int(np.maximum.reduce(signed))
    sign_bit = layout.sign_bit
    if least >= 0:
        return Extremes(least, most)
    most_negative = int(np.maximum.reduce(numbers.view(layout.unsigned)))
    high = most if most >= 0 else -(least + sign_bit)
    return Extremes(sign_bit - most_negative, high, least == -sign_bit)


def merge_extremes(left: Extremes | None, right: Extremes | None) -> Extremes | None:
    """Return the extremes of two groups of numbers together; None stands for no numbers."""
    if left is None or right is None:
        return left or right
    return Extremes(
        min(left.low, right.low),
        max(left.high, right.high),
        left.negative_zero or right.negative_zero,
    )


def is_finite(element: ElementType, extremes: Extremes) -> bool:
    """Whether numbers with these extremes are all finite."""
    return element.layout is None or extremes.largest < element.layout.nonfinite_from


class Census:
    """Counts the numbers of one tensor, block by block."""

    def __init__(self, element: ElementType) -> None:
        self._element = element
        self._extremes: Extremes | None = None
        self._kinds = [0, 0, 0, 0]
        self._negative_zeros = 0
        self._places = blake3()

    @property
    def nonfinite(self) -> int:
        """How many of the numbers counted so far are not finite."""
        return sum(self._kinds)

    def add_finite(self, extremes: Extremes, negative_zeros: int = 0) -> None:
        """Count numbers without a non-finite one, by their extremes and number of -0.0."""
        self._extremes = merge_extremes(self._extremes, extremes)
        self._negative_zeros += negative_zeros

    def add_block(
        self, index: int, numbers: Array
    ) -> tuple[Extremes | None, npt.NDArray[np.bool_] | None]:
        """Count the numbers of block `index`; blocks come in ascending order.

        Returns the extremes of the finite numbers (None without any), and where the others are
        (None without any).
        """
        extremes: Extremes | None = find_extremes(self._element, numbers)
        assert extremes is not None
        layout, places = self._element.layout, None
        if layout is not None and extremes.negative_zero:
            zeros = numbers.view(layout.unsigned) == layout.sign_bit
            self._negative_zeros += int(np.count_nonzero(zeros))
        if layout is not None and not is_finite(self._element, extremes):
            kinds = _find_kinds(layout, numbers)
            self._add_kinds(index, kinds)
            places = kinds != 0
            finite = numbers[~places]
            extremes = find_extremes(self._element, finite) if finite.size else None
        self._extremes = merge_extremes(self._extremes, extremes)
        return extremes, places

    def _add_kinds(self, index: int, kinds: npt.NDArray[np.uint8]) -> None:
        for kind in (NAN, POSITIVE_INFINITY, NEGATIVE_INFINITY):
            self._kinds[kind] += int(np.count_nonzero(kinds == kind))
        # Hashing block by block keeps memory bounded when everything is NaN.
        self._places.update(index.to_bytes(8, "little") + blake3(kinds.data).digest())

    def counts(self, size: int) -> dict[str, Number]:
        """Return the counts of `size` numbers, those of 0 left out, and the digest of places."""
        found: dict[str, Number] = {"finite": size - self.nonfinite}
        named = {
            "nan": self._kinds[NAN],
            "pos_inf": self._kinds[POSITIVE_INFINITY],
            "neg_inf": self._kinds[NEGATIVE_INFINITY],
            "neg_zero": self._negative_zeros,
        }
        found.update({name: count for name, count in named.items() if count})
        if self.nonfinite:
            found["nonfinite"] = digest_text(self._places)
        return found

    def bounds(self) -> dict[str, Number]:
        """Return `min` and `max` of the finite numbers; nothing without any. Zero is 0.0."""
        if self._extremes is None:
            return {}
        keys = (self._extremes.low, self._extremes.high)
        layout = self._element.layout
        if layout is None:
            return dict(zip(("min", "max"), keys, strict=True))
        bits = [key if key >= 0 else layout.sign_bit - key for key in keys]
        numbers: Array = np.array(bits, layout.unsigned).view(self._element.component)
        printed = print_numbers(self._element, numbers)
        return dict(zip(("min", "max"), printed, strict=True))


def _find_kinds(layout: FloatLayout, numbers: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return the kind of each number: 0 for a finite one."""
    bits = numbers.view(layout.unsigned)
    magnitudes = bits & (layout.sign_bit - 1)
    kinds = np.zeros(bits.size, np.uint8)
    kinds[magnitudes >= layout.nonfinite_from] = NAN
    if layout.has_infinity:
        kinds[bits == layout.nonfinite_from] = POSITIVE_INFINITY
        kinds[bits == layout.nonfinite_from + layout.sign_bit] = NEGATIVE_INFINITY
    return kinds
