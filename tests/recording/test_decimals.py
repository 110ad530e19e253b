"""Shortest decimals of every element type."""

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from tracediff.events.element_types import ELEMENT_TYPES, decode
from tracediff.recording.decimals import print_numbers

FLOAT32 = ELEMENT_TYPES["float32"]


def finite_bits(name: str) -> np.ndarray:
    """Return all finite numbers of a type of up to 16 bits, in its component dtype."""
    element = ELEMENT_TYPES[name]
    layout = element.layout
    assert layout is not None
    bits = np.arange(2 * layout.sign_bit).astype(layout.unsigned)
    return bits[bits % layout.sign_bit < layout.nonfinite_from].view(element.component)


def decoded(name: str, numbers: np.ndarray) -> np.ndarray:
    values = np.empty(numbers.size)
    decode(ELEMENT_TYPES[name], numbers, values)
    return values


@pytest.mark.parametrize(
    ("name", "numbers", "printed"),
    [
        pytest.param("float32", np.float32([4.2, -1e-7, 3e38]), (4.2, -1e-7, 3e38), id="float32"),
        pytest.param("float32", np.float32([4.2] * 20), (4.2,) * 20, id="float32-many"),
        pytest.param("float16", np.float16([4.2, 65504]), (4.2, 65500.0), id="float16"),
        pytest.param("float64", np.float64([0.1 + 0.2]), (0.30000000000000004,), id="float64"),
        # 4.1875, 0.333984375, the largest, the least
        pytest.param(
            "bfloat16",
            np.uint16([0x4086, 0x3EAB, 0x7F7F, 0x0001]),
            (4.2, 0.334, 3.39e38, 9e-41),
            id="bfloat16",
        ),
        pytest.param(
            "float8_e4m3fn", np.uint8([0x7E, 0x01, 0x80]), (450.0, 0.002, -0.0), id="float8_e4m3fn"
        ),
        pytest.param("float8_e5m2", np.uint8([0x7B, 0xFC]), (6e4, "-Infinity"), id="float8_e5m2"),
        pytest.param("uint64", np.uint64([2**64 - 1]), (2**64 - 1,), id="uint64"),
        pytest.param("bool", np.array([True, False]), (True, False), id="bool"),
        pytest.param(
            "float32",
            np.float32([np.nan, np.inf, -np.inf, -0.0]),
            ("NaN", "Infinity", "-Infinity", -0.0),
            id="non-finite",
        ),
    ],
)
def test_printed_numbers(name: str, numbers: np.ndarray, printed: tuple[object, ...]) -> None:
    """Types and values are exactly these, negative zeros included."""
    found = print_numbers(ELEMENT_TYPES[name], numbers)
    assert found == printed
    assert [str(number) for number in found] == [str(number) for number in printed]


def fewer_digits(value: float, decimal: float) -> float:
    """Round `value` to one significant digit less than `decimal` has, but at least one."""
    digits = len(Decimal(repr(decimal)).normalize().as_tuple().digits)
    return float(f"{value:.{max(digits - 1, 1)}g}")


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_raw_bit_decimals_read_back_and_are_short(name: str) -> None:
    """For every number, its decimal is nearest to it; with one digit less, another number is."""
    numbers = finite_bits(name)
    values = decoded(name, numbers)
    found = np.array(print_numbers(ELEMENT_TYPES[name], numbers))
    shorter = np.array(list(map(fewer_digits, values.tolist(), found.tolist())))
    order = np.unique(values)
    step = order[-1] - order[-2]  # reading rounds as if the numbers went on
    order = np.concatenate([order[:1] - step, order, order[-1:] + step])
    middles = order[:-1] + np.diff(order) / 2

    def nearest(decimals: np.ndarray, side: str) -> np.ndarray:
        return order[np.searchsorted(middles, decimals, side=side)]

    assert ((nearest(found, "left") == values) | (nearest(found, "right") == values)).all()
    too_long = (nearest(shorter, "left") == values) & (nearest(shorter, "right") == values)
    assert not (too_long & (shorter != found)).any()
    assert np.array_equal(np.signbit(found), np.signbit(values))


def test_float16_decimals_are_numpys() -> None:
    """For every float16, the decimal is that of numpy's own shortest printing."""
    numbers = finite_bits("float16")
    expected = [float(np.format_float_scientific(number)) for number in numbers]
    assert list(print_numbers(ELEMENT_TYPES["float16"], numbers)) == expected


@given(
    npst.arrays(
        np.float32,
        st.integers(16, 40),
        elements=st.one_of(
            st.floats(2.0**-46, 65536, width=32),
            st.floats(-65536, -(2.0**-46), width=32),
            st.floats(width=32),
            st.integers(-16, 16).map(lambda power: float(np.float32(10.0**power))),
            st.integers(-46, 16).map(lambda power: 2.0**power),
            st.decimals(-1000, 1000, places=4).map(lambda text: float(np.float32(text))),
        ),
    )
)
def test_float32_decimals_are_numpys(numbers: np.ndarray) -> None:
    """Whichever way is taken, the decimal is that of numpy's own shortest printing."""
    for number, found in zip(numbers, print_numbers(FLOAT32, numbers), strict=True):
        if math.isfinite(number):
            assert found == float(np.format_float_scientific(number))
        else:
            assert isinstance(found, str)


def test_print_options_change_nothing() -> None:
    """Numpy's old print mode, which drops digits, has no influence."""
    numbers = np.float32([1 / 3, 2 / 3])
    usual = print_numbers(FLOAT32, numbers)
    with np.printoptions(legacy="1.13", precision=2):
        assert print_numbers(FLOAT32, numbers) == usual
