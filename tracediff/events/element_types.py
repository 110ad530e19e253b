"""The element types that a trace can hold: their names, their bits, and their way to float64.

Knows numpy, and the bit layouts of types that numpy lacks; must not know what is computed from
the numbers. Types of the package ml_dtypes are recognised by name, so it is never imported.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Float64Array: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FloatLayout:
    """How the bits of a binary floating-point number are read.

    `signed` and `unsigned` are integers of its width. Without the sign bit, bits from
    `nonfinite_from` on are no finite number: the first of them is infinity where `has_infinity`,
    all others are NaN. Finite ones order as the integers do.
    """

    signed: np.dtype[Any]
    unsigned: np.dtype[Any]
    nonfinite_from: int
    has_infinity: bool

    @property
    def sign_bit(self) -> int:
        """The bits of -0.0."""
        return 1 << (8 * self.unsigned.itemsize - 1)


@dataclass(frozen=True, slots=True)
class ElementType:
    """One element type.

    `storage` is the native numpy dtype of an element in memory (an unsigned integer where numpy
    lacks the type); `component` that of one real number, half a complex element; `layout` is None
    for integers and booleans.
    """

    name: str
    storage: np.dtype[Any]
    component: np.dtype[Any]
    layout: FloatLayout | None = None

    @property
    def components(self) -> int:
        """Real numbers an element: 2 for complex types, else 1."""
        return self.storage.itemsize // self.component.itemsize


def _layout(bits: int, nonfinite_from: int, has_infinity: bool = True) -> FloatLayout:
    return FloatLayout(
        np.dtype(f"i{bits // 8}"), np.dtype(f"u{bits // 8}"), nonfinite_from, has_infinity
    )


_FLOAT32 = _layout(32, 0x7F800000)
_FLOAT64 = _layout(64, 0x7FF0000000000000)


def _element_types() -> dict[str, ElementType]:
    found = [
        ElementType("float16", np.dtype("f2"), np.dtype("f2"), _layout(16, 0x7C00)),
        ElementType("float32", np.dtype("f4"), np.dtype("f4"), _FLOAT32),
        ElementType("float64", np.dtype("f8"), np.dtype("f8"), _FLOAT64),
        ElementType("bfloat16", np.dtype("u2"), np.dtype("u2"), _layout(16, 0x7F80)),
        # OCP 8-bit floating point specification 1.0: E4M3 has no infinities and one NaN a sign.
        ElementType("float8_e4m3fn", np.dtype("u1"), np.dtype("u1"), _layout(8, 0x7F, False)),
        ElementType("float8_e5m2", np.dtype("u1"), np.dtype("u1"), _layout(8, 0x7C)),
        ElementType("bool", np.dtype("?"), np.dtype("?")),
        ElementType("complex64", np.dtype("c8"), np.dtype("f4"), _FLOAT32),
        ElementType("complex128", np.dtype("c16"), np.dtype("f8"), _FLOAT64),
    ]
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        found.append(ElementType(name, np.dtype(name), np.dtype(name)))
    return {element.name: element for element in found}


ELEMENT_TYPES: Mapping[str, ElementType] = MappingProxyType(_element_types())
RAW_BIT_TYPES = ("bfloat16", "float8_e4m3fn", "float8_e5m2")
"""Types that numpy lacks; their arrays hold unsigned integers, or are ml_dtypes arrays."""

_BYTE_ORDERS: tuple[Literal["<", ">"], ...] = ("<", ">")
_BY_DTYPE: Mapping[np.dtype[Any], ElementType] = MappingProxyType(
    {
        element.storage.newbyteorder(order): element
        for element in ELEMENT_TYPES.values()
        if element.name not in RAW_BIT_TYPES
        for order in _BYTE_ORDERS
    }
)


def resolve_element_type(array: Array, dtype: str | None = None) -> tuple[ElementType, Array]:
    """Return the element type of `array`, and the array as its storage type, in any byte order.

    `dtype` names the type where the array cannot: raw bits (uint16 of bfloat16, uint8 of float8).
    Raises TypeError for a type that a trace cannot hold, or a `dtype` that contradicts the array.
    """
    known = _BY_DTYPE.get(array.dtype)  # a dtype's name is slow to ask for
    if known is not None and dtype is None:
        return known, array
    own = array.dtype.name
    element = ELEMENT_TYPES.get(own if dtype is None else dtype)
    if element is None:
        raise TypeError(
            f"a tensor of dtype {dtype or own} cannot be recorded; allowed are "
            f"{', '.join(ELEMENT_TYPES)}"
        )
    if element.name == own:
        # Types of ml_dtypes have the name, and bits that numpy can read as integers only.
        foreign = element.name in RAW_BIT_TYPES
        return element, array.view(element.storage) if foreign else array
    if element.name in RAW_BIT_TYPES and element.storage.name == own:
        return element, array
    raise TypeError(
        f"an array of dtype {own} was called {dtype}; allowed are its own name, or the name of "
        "raw bits: bfloat16 of uint16, float8_e4m3fn and float8_e5m2 of uint8"
    )


def decode(element: ElementType, numbers: Array, out: Float64Array) -> None:
    """Write `numbers`, of the element's component dtype, to `out` as float64.

    Exact except for integers beyond 2^53, which round to nearest even.
    """
    with np.errstate(invalid="ignore"):  # a signalling NaN is a NaN
        if element.name == "bfloat16":
            # A bfloat16 is the upper half of a float32.
            upper = np.left_shift(numbers.astype(np.uint32), np.uint32(16))
            out[...] = upper.view(np.float32)
        elif element.name in RAW_BIT_TYPES:
            np.take(float8_values(element.name), numbers, out=out, mode="clip")
        else:
            out[...] = numbers


@functools.cache
def float8_values(name: str) -> Float64Array:
    """Return the 256 numbers of an 8-bit floating-point type, indexed by their bits.

    Source: OCP 8-bit floating point specification 1.0, section 5.
    """
    layout = ELEMENT_TYPES[name].layout
    assert layout is not None
    mantissa_bits, bias = (2, 15) if name == "float8_e5m2" else (3, 7)
    values = np.empty(256)
    for bits in range(128):
        exponent, mantissa = bits >> mantissa_bits, bits & ((1 << mantissa_bits) - 1)
        if bits >= layout.nonfinite_from:
            infinite = layout.has_infinity and bits == layout.nonfinite_from
            value = math.inf if infinite else math.nan
        elif exponent == 0:
            value = math.ldexp(mantissa, 1 - bias - mantissa_bits)
        else:
            value = math.ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits)
        values[bits], values[bits | 128] = value, -value
    values.setflags(write=False)
    return values


def decode_elements(stored: Array, name: str) -> Array:
    """Return stored elements of type `name` as a flat array of numbers in C order.

    Integers and booleans keep their type, everything else becomes float64; a complex element is
    two numbers. `stored` has the type's storage dtype.
    """
    element = ELEMENT_TYPES[name]
    flat = np.ascontiguousarray(stored).reshape(-1)
    if element.layout is None:
        return flat
    numbers = flat.view(element.component)
    out = np.empty(numbers.shape)
    decode(element, numbers, out)
    return out


def read_decimals(decimals: Float64Array, name: str) -> Float64Array:
    """Return the numbers of type `name` that printed decimals stand for: the nearest ones.

    `decimals` are float64, complex elements as two of them; so is the result.
    """
    element = ELEMENT_TYPES[name]
    if name == "bfloat16":
        return _nearest_bfloat16(decimals)
    if name in RAW_BIT_TYPES:
        return _nearest_of(decimals, float8_values(name))
    with np.errstate(over="ignore"):
        return decimals.astype(element.component).astype(np.float64)


def _nearest_bfloat16(decimals: Float64Array) -> Float64Array:
    with np.errstate(over="ignore"):
        single = decimals.astype(np.float32)
    bits = single.view(np.uint32)
    upper = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    rounded = (upper & np.uint32(0xFFFF0000)).view(np.float32)
    return np.where(np.isfinite(single), rounded, single).astype(np.float64)


def _nearest_of(decimals: Float64Array, numbers: Float64Array) -> Float64Array:
    """Return the nearest of `numbers` for each decimal, of two equally near ones the even bits."""
    finite = np.isfinite(numbers)
    even_first = np.argsort(np.arange(numbers.size) % 2, kind="stable")
    candidates = numbers[even_first][finite[even_first]]
    nearest = candidates[np.abs(decimals[:, None] - candidates[None, :]).argmin(axis=1)]
    signed = np.copysign(nearest, decimals)
    return np.where(np.isfinite(decimals), signed, decimals)
