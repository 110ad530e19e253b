"""Kept values as the bytes that a digest covers, and back: without numpy, which is slow to load.

Knows element types by name and their bytes. Must not know records.
"""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

Number = int | float

_CODES: Mapping[str, str] = MappingProxyType(
    {
        **{"float16": "e", "float32": "f", "float64": "d", "complex64": "f", "complex128": "d"},
        **{"int8": "b", "int16": "h", "int32": "i", "int64": "q"},
        **{"uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q", "bool": "?"},
    }
)
"""The `struct` code of one number of a type; a complex element is two numbers."""

_FLOAT_CODES = "efd"
_LACKING: Mapping[str, str] = MappingProxyType(
    {"bfloat16": "H", "float8_e4m3fn": "B", "float8_e5m2": "B"}
)
"""Types that `struct` lacks, with the code of their bits."""


def encode_values(dtype: str, values: Sequence[Any]) -> bytes | None:
    """Return the little-endian bytes of numbers as a record's `values` hold them.

    A decimal stands for the nearest number of the type, "NaN" for the quiet one. None for an
    unknown type. Raises ValueError where a value is no number of the type.
    """
    if dtype in _LACKING:
        return _encode_lacking(dtype, values)
    code = _CODES.get(dtype)
    if code is None:
        return None
    numbers = values
    if code not in _FLOAT_CODES:
        numbers = [_as_integer(value, dtype) for value in values]
    elif str in map(type, values):
        numbers = [float(value) for value in values]
    try:
        return struct.pack(f"<{len(numbers)}{code}", *numbers)
    except (struct.error, OverflowError) as error:
        raise ValueError(f"a value is no {dtype} ({error})") from error


def decode_bytes(dtype: str, stored: bytes) -> Sequence[Number]:
    """Return the numbers of a known type that little-endian bytes hold, floats as float64."""
    if dtype == "bfloat16":
        halves = struct.unpack(f"<{len(stored) // 2}H", stored)
        # A bfloat16 is the upper half of a float32.
        return struct.unpack(f"<{len(halves)}f", struct.pack(f"<{2 * len(halves)}H", *_low(halves)))
    if dtype in _LACKING:
        numbers = _float8_numbers(dtype)
        return [numbers[bits] for bits in stored]
    code = _CODES[dtype]
    return struct.unpack(f"<{len(stored) // struct.calcsize(code)}{code}", stored)


def _low(halves: Sequence[int]) -> list[int]:
    return [half for upper in halves for half in (0, upper)]


def _as_integer(value: Any, dtype: str) -> int:
    is_name = isinstance(value, str)
    if is_name or value != math.floor(value) or (dtype == "bool" and value not in (0, 1)):
        raise ValueError(f"{value!r:.40} is no {dtype}")
    return int(value)


def _encode_lacking(dtype: str, values: Sequence[Any]) -> bytes:
    # Traces with these types are rare, so they may pay for numpy.
    import numpy as np

    from tracediff.events.element_types import read_decimals

    decimals = np.array([float(value) for value in values], np.float64)
    numbers = read_decimals(decimals, dtype)
    if dtype == "bfloat16":
        single = struct.pack(f"<{numbers.size}f", *numbers.tolist())
        halves = struct.unpack(f"<{2 * numbers.size}H", single)[1::2]
        return struct.pack(f"<{len(halves)}H", *halves)
    bits = _float8_bits(dtype)
    try:
        return bytes([bits[_key(number)] for number in numbers.tolist()])
    except KeyError:
        raise ValueError(f"a value is no {dtype}, which has no infinities") from None


def _key(number: float) -> bytes:
    """Return what tells two numbers apart, and the signs of zeros, and no two NaN."""
    return b"nan" if math.isnan(number) else struct.pack("<d", number)


@functools.cache
def _float8_numbers(dtype: str) -> tuple[float, ...]:
    from tracediff.events.element_types import float8_values

    return tuple(float8_values(dtype).tolist())


@functools.cache
def _float8_bits(dtype: str) -> Mapping[bytes, int]:
    return {_key(number): bits for bits, number in enumerate(_float8_numbers(dtype))}
