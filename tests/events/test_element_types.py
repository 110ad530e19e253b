"""Element types: which arrays are which type, what is refused, and the numbers of raw bits."""

import math
from typing import Any

import numpy as np
import pytest

from tracediff.events.element_types import (
    ELEMENT_TYPES,
    RAW_BIT_TYPES,
    decode,
    decode_elements,
    float8_values,
    read_decimals,
    resolve_element_type,
)
from tracediff.recording.decimals import print_numbers

NUMPY_TYPES = [name for name in ELEMENT_TYPES if name not in RAW_BIT_TYPES]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("name", NUMPY_TYPES)
def test_numpy_types_are_known_in_both_byte_orders(name: str, order: Any) -> None:
    """An array's own dtype names the type; naming it again changes nothing."""
    array = np.zeros(3, np.dtype(name).newbyteorder(order))
    assert resolve_element_type(array)[0].name == name
    assert resolve_element_type(array, name)[0].name == name


@pytest.mark.parametrize("name", RAW_BIT_TYPES)
def test_raw_bits_are_known_by_name(name: str) -> None:
    """Unsigned integers of the right width are what `dtype` says."""
    storage = ELEMENT_TYPES[name].storage
    element, held = resolve_element_type(np.zeros(3, storage), name)
    assert (element.name, held.dtype) == (name, storage)


@pytest.mark.parametrize("name", RAW_BIT_TYPES)
def test_types_of_ml_dtypes_are_the_same_numbers(name: str) -> None:
    """All bit patterns decode as the package ml_dtypes decodes them."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    storage = ELEMENT_TYPES[name].storage
    bits = np.arange(2 ** (8 * storage.itemsize)).astype(storage)
    foreign = bits.view(getattr(ml_dtypes, name))
    element, held = resolve_element_type(foreign)
    assert element.name == name
    assert np.array_equal(held, bits)
    decoded = np.empty(bits.size)
    with np.errstate(invalid="ignore"):  # signalling NaN
        decode(element, bits, decoded)
        expected = foreign.astype(np.float64)
    assert np.array_equal(decoded, expected, equal_nan=True)
    assert np.array_equal(np.signbit(decoded), np.signbit(expected))


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        pytest.param(np.array([None]), None, id="object"),
        pytest.param(np.array(["a"]), None, id="text"),
        pytest.param(np.array([b"a"]), None, id="bytes"),
        pytest.param(np.array(["2024-01-01"], "M8[D]"), None, id="datetime"),
        pytest.param(np.zeros(1, [("a", "f4")]), None, id="structure"),
        pytest.param(np.zeros(1, np.uint8), "float8_e4m3", id="unknown-name"),
        pytest.param(np.zeros(1, np.float32), "float64", id="other-name"),
        pytest.param(np.zeros(1, np.int16), "bfloat16", id="signed-bits"),
        pytest.param(np.zeros(1, np.uint8), "bfloat16", id="narrow-bits"),
        pytest.param(np.zeros(1, np.uint16), "float16", id="bits-of-a-numpy-type"),
    ],
)
def test_other_types_are_refused(array: np.ndarray, dtype: str | None) -> None:
    """The error names the type and what is allowed."""
    with pytest.raises(TypeError, match=r"allowed are .*bfloat16") as caught:
        resolve_element_type(array, dtype)
    assert (dtype or array.dtype.name) in str(caught.value)


@pytest.mark.skipif(np.dtype("longdouble").itemsize == 8, reason="long double is float64 here")
@pytest.mark.parametrize("name", ["longdouble", "clongdouble"])
def test_long_doubles_are_refused(name: str) -> None:
    """Their bytes differ from machine to machine."""
    with pytest.raises(TypeError, match="cannot be recorded"):
        resolve_element_type(np.zeros(1, name))


@pytest.mark.parametrize(
    ("name", "bits", "value"),
    [
        # OCP 8-bit floating point specification 1.0, tables 1 and 2.
        pytest.param("float8_e4m3fn", 0x7E, 448.0, id="e4m3-largest"),
        pytest.param("float8_e4m3fn", 0x08, 2.0**-6, id="e4m3-least-normal"),
        pytest.param("float8_e4m3fn", 0x01, 2.0**-9, id="e4m3-least"),
        pytest.param("float8_e4m3fn", 0xFF, math.nan, id="e4m3-nan"),
        pytest.param("float8_e5m2", 0x7B, 57344.0, id="e5m2-largest"),
        pytest.param("float8_e5m2", 0x04, 2.0**-14, id="e5m2-least-normal"),
        pytest.param("float8_e5m2", 0x01, 2.0**-16, id="e5m2-least"),
        pytest.param("float8_e5m2", 0xFC, -math.inf, id="e5m2-infinity"),
        pytest.param("float8_e5m2", 0x7D, math.nan, id="e5m2-nan"),
    ],
)
def test_8_bit_numbers(name: str, bits: int, value: float) -> None:
    """Landmarks of the specification."""
    assert np.array_equal(float8_values(name)[bits], value, equal_nan=True)


@pytest.mark.parametrize("name", ["float16", "float32", *RAW_BIT_TYPES])
def test_printed_decimals_read_back(name: str) -> None:
    """Every pattern of 16 bits, every 65,537th of 32, prints to a decimal that stands for it."""
    element = ELEMENT_TYPES[name]
    width = 8 * element.component.itemsize
    bits = np.arange(2 ** min(width, 16), dtype=np.uint64) * (65_537 if width == 32 else 1)
    stored = bits.astype(f"u{width // 8}").view(element.component)
    numbers = decode_elements(stored, name)
    decimals = np.array([float(number) for number in print_numbers(element, stored)])
    assert np.array_equal(read_decimals(decimals, name), numbers, equal_nan=True)
