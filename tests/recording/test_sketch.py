"""The sketch against its definition, number by number; linearity; ends of the range."""

import math
from typing import Any

import numpy as np
import pytest
from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from tracediff.recording.flat_tensor import BLOCK
from tracediff.recording.summary import summarise_tensor


def sketch(array: Any, seed: int = 0, dtype: str | None = None) -> np.ndarray:
    found = summarise_tensor(array, dtype=dtype, level="values=0", seed=seed).sketch
    assert found is not None
    assert len(found) == 64
    return np.array(found, dtype=np.float64)


def random_words(what: str, seed: int, count: int) -> list[int]:
    drawn = blake3(f"tracediff sketch 1: {what}, seed {seed}".encode()).digest(length=8 * count)
    return [int.from_bytes(drawn[8 * i : 8 * i + 8], "little") for i in range(count)]


def sketch_by_definition(numbers: list[float], seed: int) -> list[float]:
    """Follow each number to its bucket with integers alone, as the module's text describes."""
    drawn = blake3(f"tracediff sketch 1: signs, seed {seed}".encode()).digest(length=2 * BLOCK // 8)
    signs = [1 - 2 * (byte >> 7 - bit & 1) for byte in drawn for bit in range(8)]
    rows = [i + 64 * (word % 16) for i, word in enumerate(random_words("rows", seed, 64))]
    late = random_words("rotations", seed, 3)
    lanes = min(8192, 2 ** (len(numbers) - 1).bit_length())
    blocks = -(-len(numbers) // BLOCK)
    words = random_words("placements", seed, 5 * blocks)
    buckets = [0.0] * 1024
    for i, number in enumerate(numbers):
        block, place = divmod(i, BLOCK)
        if len(numbers) <= 1024:
            buckets[place] += signs[place] * number
            continue
        offset, first, second, lane, flip = words[5 * block : 5 * block + 5]
        sign = signs[8 * (offset % 4096) + place] * (-1) ** (flip % 2)
        in_block = min(BLOCK, len(numbers) - block * BLOCK)
        for half, rotation in ((16384, first), (8192, second)):
            if half < in_block and place >= half:
                place = (place - half + rotation) % half
        place = (place + lane) % lanes
        for half, rotation in ((4096, late[0]), (2048, late[1]), (1024, late[2])):
            if half < lanes and place >= half:
                place = (place - half + rotation) % half
        buckets[place] += sign * number
    return [
        sum(value * (-1) ** (row & place).bit_count() for place, value in enumerate(buckets)) / 8
        for row in rows
    ]


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize(
    "size",
    [1, 2, 63, 100, 1024, 1025, 2049, 4096, 9000, 20000, BLOCK, BLOCK + 1, 2 * BLOCK + 5000],
)
def test_definition(size: int, seed: int) -> None:
    """Every size takes its path to the same numbers."""
    numbers = np.random.default_rng(size).integers(-1000, 1000, size)
    expected = np.float32(sketch_by_definition(numbers.tolist(), seed))
    assert np.array_equal(sketch(numbers, seed).astype(np.float32), expected)


@pytest.mark.parametrize("size", [1, 64, 100, 5000])
@given(data=st.data())
def test_linearity(size: int, data: st.DataObject) -> None:
    """The difference of two sketches is the sketch of the difference, up to rounding."""
    elements = st.floats(-1e6, 1e6, width=32)
    left, right = (
        data.draw(npst.arrays(np.float64, size, elements=elements, fill=elements)) for _ in range(2)
    )
    scale = np.linalg.norm(left) + np.linalg.norm(right)
    error = np.linalg.norm(sketch(left) - sketch(right) - sketch(left - right))
    assert error <= 2.0**-23 * 2 * scale


def test_nonfinite_numbers_enter_as_zero() -> None:
    """NaN and infinities leave no trace in the sketch."""
    array = np.float32(np.random.default_rng(0).standard_normal(3000))
    array[[5, 70, 2999]] = 0.0
    expected = sketch(array)
    array[[5, 70, 2999]] = [np.nan, np.inf, -np.inf]
    assert np.array_equal(sketch(array), expected)


def test_shape_does_not_matter() -> None:
    """Only the place in C order does."""
    array = np.arange(6000.0)
    assert np.array_equal(sketch(array), sketch(array.reshape(3, 20, 100)))


def test_complex_numbers_are_their_parts_in_turn() -> None:
    """Real and imaginary parts follow each other."""
    array = np.arange(3000.0) - 1j * np.arange(3000.0) ** 2
    assert np.array_equal(sketch(array), sketch(array.view(np.float64)))


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        pytest.param(np.array([0, 1] * 40, bool), None, id="bool"),
        pytest.param(np.array([0, 1] * 40, np.uint64), None, id="uint64"),
        pytest.param(np.array([0, 1] * 40, np.float16), None, id="float16"),
        pytest.param(np.array([0, 0x3F80] * 40, np.uint16), "bfloat16", id="bfloat16"),
        pytest.param(np.array([0, 0x38] * 40, np.uint8), "float8_e4m3fn", id="float8_e4m3fn"),
    ],
)
def test_equal_numbers_of_every_type_have_equal_sketches(
    array: np.ndarray, dtype: str | None
) -> None:
    """What counts is the number, not how it is held."""
    assert np.array_equal(sketch(array, dtype=dtype), sketch(np.array([0.0, 1.0] * 40)))


def test_seeds_draw_other_signs() -> None:
    """Another seed gives other numbers, the same seed the same."""
    array = np.arange(100.0)
    assert np.array_equal(sketch(array, 3), sketch(array, 3))
    assert not np.array_equal(sketch(array, 3), sketch(array, 4))


@pytest.mark.parametrize("size", [65, 5000, BLOCK + 1])
def test_components_beyond_float32_are_named(size: int) -> None:
    """They become "Infinity" and "-Infinity", as opposite tensors show; nothing overflows."""
    array = np.full(size, 1e300)
    positive = summarise_tensor(array).sketch
    negative = summarise_tensor(-array).sketch
    assert positive is not None
    assert negative is not None
    opposite = {"Infinity": "-Infinity", "-Infinity": "Infinity", 0.0: 0.0}
    assert "Infinity" in positive
    assert list(negative) == [opposite[component] for component in positive]  # type: ignore[index]


def test_largest_and_least_numbers_have_sketches() -> None:
    """Sums that would overflow float64 are scaled; what float32 cannot hold from below is 0."""
    largest = summarise_tensor(np.full(3000, 1.7e308)).sketch
    assert largest is not None
    assert set(map(str, largest)) <= {"Infinity", "-Infinity", "0.0"}
    assert set(sketch(np.full(3000, 1e-60))) == {0.0}
    assert set(sketch(np.full(3000, 1e-310))) == {0.0}


def test_one_element_keeps_its_size() -> None:
    """Each component is its eighth, up or down."""
    array = np.zeros(3 * BLOCK)
    array[-1] = 4.0
    assert set(np.abs(sketch(array))) == {0.5}


def test_no_component_is_negative_zero() -> None:
    """Zero has one spelling."""
    found = summarise_tensor(np.full(100, -0.0)).sketch
    assert found is not None
    assert {math.copysign(1.0, float(component)) for component in found} == {1.0}
