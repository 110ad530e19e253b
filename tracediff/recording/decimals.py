"""Numbers of every element type as a trace prints them: the shortest decimal that reads back.

Knows element types and their bits; must not know JSON or what the numbers are for.
"""

from __future__ import annotations

import functools
import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tracediff.events.element_types import (
    ELEMENT_TYPES,
    RAW_BIT_TYPES,
    Array,
    ElementType,
    Float64Array,
    decode,
)

Number: TypeAlias = int | float | bool | str


def print_numbers(element: ElementType, numbers: Array) -> tuple[Number, ...]:
    """Return `numbers` as plain Python numbers whose text is the shortest one that reads back.

    `numbers` is one-dimensional, of the element's component dtype; float32 4.2 becomes the float
    4.2. Integers stay exact; NaN and the infinities become "NaN", "Infinity", "-Infinity".
    """
    if element.layout is None:
        return tuple(numbers.tolist())
    if element.name in RAW_BIT_TYPES:
        return tuple([_print_bits(element.name, bits) for bits in numbers.tolist()])
    if numbers.itemsize == 4 and numbers.size >= _WORTH_AN_ARRAY:
        with np.errstate(invalid="ignore"):  # a signalling NaN is a NaN
            sizes = np.abs(numbers.astype(np.float64))
        if np.minimum.reduce(sizes) >= POWERS[0] and np.maximum.reduce(sizes) < POWERS[-1]:
            return tuple(np.copysign(_shorten_float32(sizes, numbers), numbers).tolist())
    found = numbers.tolist() if numbers.itemsize == 8 else _shorten_one_by_one(numbers)
    return tuple([number if math.isfinite(number) else print_nonfinite(number) for number in found])


def print_nonfinite(value: float) -> str:
    """Return "NaN", "Infinity" or "-Infinity"."""
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _shorten_one_by_one(numbers: Array) -> list[float]:
    # str() is the faster one, but drops digits where a program asked for old print options.
    spell = np.format_float_scientific if np.get_printoptions()["legacy"] else str
    return [float(spell(number)) for number in numbers]


_WORTH_AN_ARRAY = 16
POWERS = np.array([float(f"1e{power}") for power in range(-14, 6)])
FACTORS = np.array([float(f"1e{power}") for power in range(23)])
MOST_DIGITS, FEWEST_DIGITS = 9, 6
"""Decimals of up to 6 digits survive a float32, and those of 9 tell all float32 numbers apart.
Source: Matula, "In-and-out conversions", CACM 11 (1968)."""


def _shorten_float32(sizes: Float64Array, numbers: Array) -> Float64Array:
    """Return the shortest decimals of absolute float32 numbers from 1e-14 to below 1e5.

    There the power of ten that makes an integer of up to 9 digits is exact in float64 (at most
    1e22), so that the product and the quotient by it round once, as reading the decimal does.
    `numbers` are the same as float32, of any sign.
    """
    places, next_powers = decimal_places()
    exponents = (numbers.view(np.uint32) >> 23) & 255
    # 10^(place - 14) is the largest power of ten up to the number.
    factor_places = 22 - places.take(exponents) - (sizes >= next_powers.take(exponents))
    shortest = np.empty_like(sizes)
    for _ in range(MOST_DIGITS, FEWEST_DIGITS - 1, -1):
        factors = FACTORS.take(factor_places)
        decimals = np.rint(sizes * factors)
        decimals /= factors
        np.copyto(shortest, decimals, where=decimals.astype(np.float32) == sizes)
        factor_places -= 1
    return shortest


@functools.cache
def decimal_places() -> tuple[npt.NDArray[np.int64], Float64Array]:
    """Return, by a float32's exponent bits, the place in `POWERS` of the largest power of ten up
    to the least such number, and the next power: between two powers of two lies one at most.
    """
    least = np.ldexp(1.0, np.arange(256) - 127)
    places = POWERS.searchsorted(least, "right") - 1
    return places, np.append(POWERS, np.inf)[places + 1]


@functools.cache
def _print_bits(element_name: str, bits: int) -> Number:
    """Print one number of a type that numpy cannot print."""
    layout = ELEMENT_TYPES[element_name].layout
    assert layout is not None
    magnitude = bits & (layout.sign_bit - 1)
    sign = -1.0 if bits & layout.sign_bit else 1.0
    value = _decode_bits(element_name, magnitude)
    if magnitude >= layout.nonfinite_from:
        return print_nonfinite(sign * value)
    if magnitude == 0:
        return sign * 0.0
    below, above = (_decode_bits(element_name, magnitude + step) for step in (-1, 1))
    if not math.isfinite(above):  # reading rounds as if there were a next number
        above = value + (value - below)
    return sign * _shorten(value, below, above, even=magnitude % 2 == 0)


def _shorten(value: float, below: float, above: float, even: bool) -> float:
    """Return the shortest decimal that reads back as `value`, which has these neighbours.

    A decimal reads back as the number it lies next to, one halfway between two as the even one.
    Sums of neighbours are exact in float64.
    """
    for digits in range(1, 17):
        decimal = float(f"{value:.{digits}g}")
        inside = below + value < 2.0 * decimal < value + above
        tied = even and 2.0 * decimal in (below + value, value + above)
        if inside or tied:
            return decimal
    return value


def _decode_bits(element_name: str, bits: int) -> float:
    element = ELEMENT_TYPES[element_name]
    value = np.empty(1)
    decode(element, np.array([bits], element.component), value)
    return float(value[0])
