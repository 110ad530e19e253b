"""Mean and norm against exact arithmetic."""

import math
import sys
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from tracediff.events.element_types import ELEMENT_TYPES, resolve_element_type
from tracediff.recording.flat_tensor import BLOCK
from tracediff.recording.summary import summarise_tensor

LEAST = 5e-324
LARGEST = sys.float_info.max


def stats(array: Any) -> dict[str, Any]:
    return summarise_tensor(array, level="digest").stats


def exact_norm(array: np.ndarray) -> Any:
    """Return the L2 norm to 40 digits: the root of an exact sum of squares."""
    total = sum((Fraction(value) ** 2 for value in array.tolist()), Fraction(0))
    with mpmath.workdps(40):
        return mpmath.sqrt(mpmath.mpf(total.numerator) / total.denominator)


def assert_agrees(array: np.ndarray) -> None:
    """Mean and norm are within 1e-12 of exact ones, the mean relative to that of absolutes."""
    found = stats(array)
    values = [Fraction(value) for value in array.tolist()]
    mean = sum(values, Fraction(0)) / len(values)
    scale = sum(map(abs, values), Fraction(0)) / len(values)
    assert abs(Fraction(found["mean"]) - mean) <= scale / 10**12 + Fraction(LEAST)
    norm = exact_norm(array)
    if found["l2"] == "Infinity":
        assert norm > LARGEST * (1 - 1e-12)
    else:
        assert abs(found["l2"] - norm) <= norm * 1e-12 + LEAST


@given(
    npst.arrays(
        np.float64,
        st.integers(1, 80),
        elements=st.floats(allow_nan=False, allow_infinity=False, width=64),
    )
)
def test_any_float64(array: np.ndarray) -> None:
    """Huge, tiny, subnormal and ordinary numbers in any mixture."""
    assert_agrees(array)


@given(
    npst.arrays(
        np.float32,
        st.integers(1, 80),
        elements=st.floats(allow_nan=False, allow_infinity=False, width=32),
    )
)
def test_any_float32(array: np.ndarray) -> None:
    """Squares of float32 numbers neither overflow nor vanish in float64."""
    assert_agrees(array)


@pytest.mark.parametrize(
    ("array", "mean", "norm"),
    [
        pytest.param(np.full(4, 1e300), 1e300, 2e300, id="large"),
        pytest.param(np.full(9, LARGEST), LARGEST, "Infinity", id="largest"),
        pytest.param(np.array([LARGEST, -LARGEST]), 0.0, "Infinity", id="largest-cancel"),
        pytest.param(np.full(4, LEAST), LEAST, 2 * LEAST, id="least"),
        pytest.param(np.array([3e-310, 4e-310]), 3.5e-310, 5e-310, id="subnormal"),
        pytest.param(np.array([1e300, 1e-300]), 5e299, 1e300, id="large-and-small"),
        pytest.param(np.array([3.0, 4e-200]), 1.5, 3.0, id="ordinary-and-small"),
        pytest.param(np.array([-0.0, -0.0]), 0.0, 0.0, id="negative-zeros"),
        pytest.param(np.array([1.0, np.nan, 3.0, np.inf]), 2.0, math.sqrt(10), id="finite-part"),
        pytest.param(np.uint64([2**63, 2**63]), 2.0**63, 2.0**63 * math.sqrt(2), id="uint64"),
        pytest.param(np.array([True, False, True, True]), 0.75, math.sqrt(3), id="bool"),
        pytest.param(np.array([3 + 4j]), 3.5, 5.0, id="complex"),
    ],
)
def test_landmarks(array: np.ndarray, mean: float, norm: float | str) -> None:
    """Results at the ends of the range, the mean to its last bit or the one before."""
    found = stats(array)
    assert found["mean"] == pytest.approx(mean, rel=2**-52, abs=LEAST)
    assert found["l2"] == norm
    assert math.copysign(1.0, found["mean"]) == 1.0


@pytest.mark.parametrize(
    "size", [64, 65, 1000, BLOCK // 8 + 1, BLOCK - 1, BLOCK, BLOCK + 1, 4 * BLOCK + 17]
)
@pytest.mark.parametrize("name", ["float16", "float32", "float64", "int16", "int64", "uint8"])
def test_many_numbers(name: str, size: int) -> None:
    """Whatever number of lanes and blocks, each number counts once."""
    generator = np.random.default_rng(size)
    array = (generator.standard_normal(size) * 100).astype(np.int64).astype(name)
    values = array.astype(np.float64)
    found = stats(array)
    assert found["mean"] == pytest.approx(math.fsum(values) / size, rel=1e-12, abs=1e-12)
    assert found["l2"] == pytest.approx(math.sqrt(math.fsum(values * values)), rel=1e-12)


@pytest.mark.parametrize(
    ("blocks", "norm"),
    [
        pytest.param([1e300, 1.0, 1e-300], 1e300, id="all-scales"),
        pytest.param([1e-300, 1e-290], 1e-290, id="small"),
        pytest.param([2.0, 1e-300], 2.0, id="ordinary-and-small"),
    ],
)
def test_blocks_of_different_scale(blocks: list[float], norm: float) -> None:
    """Blocks that are added up by different scales come together at the end."""
    array = np.repeat(blocks, BLOCK)
    found = stats(array)
    assert found["l2"] == pytest.approx(norm * math.sqrt(BLOCK), rel=1e-12)
    assert found["mean"] == pytest.approx(math.fsum(blocks) / len(blocks), rel=1e-12)


@pytest.mark.parametrize("name", sorted(ELEMENT_TYPES))
def test_every_type_has_statistics(name: str) -> None:
    """Zeros of every type have a mean and a norm of 0."""
    element = ELEMENT_TYPES[name]
    held = resolve_element_type(np.zeros(5, element.storage), name)[1]
    found = summarise_tensor(held, dtype=name, level="digest").stats
    assert (found["finite"], found["mean"], found["l2"]) == (5 * element.components, 0.0, 0.0)
