"""Summaries as a whole: levels, layouts, threads, memory, and bits that must never change."""

import hashlib
import json
import tracemalloc
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from tracediff.events.element_types import ELEMENT_TYPES, RAW_BIT_TYPES
from tracediff.recording.flat_tensor import BLOCK, SEGMENT
from tracediff.recording.levels import TensorLevel
from tracediff.recording.summary import summarise_tensor

NUMPY_TYPES = sorted(set(ELEMENT_TYPES) - set(RAW_BIT_TYPES))


@pytest.mark.parametrize(
    ("level", "size", "kept"),
    [
        pytest.param("digest", 3, None, id="digest"),
        pytest.param("sketch", 64, "values", id="sketch-small"),
        pytest.param("sketch", 65, "sketch", id="sketch-large"),
        pytest.param("values", 4096, "values", id="values-small"),
        pytest.param("values", 4097, "sketch", id="values-large"),
        pytest.param("values=2", 3, "sketch", id="values-limit"),
        pytest.param("full", 64, "values", id="full-small"),
        pytest.param(TensorLevel("full", 64), 65, "sketch", id="full-large"),
        pytest.param("sketch", 0, "values", id="empty"),
    ],
)
def test_levels(level: str | TensorLevel, size: int, kept: str | None) -> None:
    """Either values or a sketch or neither is kept, by level and size."""
    found = summarise_tensor(np.arange(size, dtype=np.float32), level=level)
    assert (found.values is not None, found.sketch is not None) == (
        kept == "values",
        kept == "sketch",
    )
    if found.values is not None:
        assert found.values == tuple(map(float, range(size)))


@pytest.mark.parametrize(
    ("array", "dtype", "values"),
    [
        pytest.param(np.float32([[4.2, np.nan]]), None, (4.2, "NaN"), id="float32"),
        pytest.param(np.array([1 - 2j]), None, (1.0, -2.0), id="complex"),
        pytest.param(np.array([[1, 2], [3, 4]]).T, None, (1, 3, 2, 4), id="transposed"),
        pytest.param(np.array([True, False]), None, (True, False), id="bool"),
        pytest.param(np.uint16([0x4086]), "bfloat16", (4.2,), id="bfloat16"),
        pytest.param(2.5, None, (2.5,), id="python-number"),
        pytest.param([[1, 2]], None, (1, 2), id="list"),
    ],
)
def test_values_are_plain_and_in_c_order(
    array: Any, dtype: str | None, values: tuple[Any, ...]
) -> None:
    """Everything in a summary is plain Python that JSON can hold."""
    found = summarise_tensor(array, dtype=dtype)
    assert found.values == values
    assert json.loads(json.dumps(asdict(found), allow_nan=False))["values"] == list(values)


@pytest.mark.parametrize("count", [1, 20, 70])
def test_signalling_nan_is_nan(count: int) -> None:
    """Bits that raise a floating-point exception when converted pass without a warning."""
    array = np.full(count, 0x7F800001, np.uint32).view(np.float32)
    found = summarise_tensor(array)
    assert found.stats["nan"] == count
    assert found.values in (("NaN",) * count, None)


@pytest.mark.parametrize("name", NUMPY_TYPES)
@given(data=st.data())
def test_layout_does_not_matter(name: str, data: st.DataObject) -> None:
    """Column-major, transposed, strided, reversed and big-endian arrays have equal summaries."""
    shape = npst.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=5)
    array = data.draw(npst.arrays(name, shape))
    axes = data.draw(st.permutations(range(array.ndim)))
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    wide[..., ::2] = array
    back = np.argsort(axes)
    variants = [
        np.asfortranarray(array),
        np.ascontiguousarray(array.transpose(axes)).transpose(back),
        wide[..., ::2],
        np.ascontiguousarray(array[::-1])[::-1],
        array.astype(array.dtype.newbyteorder(">")),
    ]
    level = data.draw(st.sampled_from(["sketch", "values=0"]))
    expected = summarise_tensor(array, level=level)
    for variant in variants:
        assert summarise_tensor(variant, level=level) == expected


@pytest.mark.parametrize("name", ["float16", "float32", "complex128", "uint8"])
def test_layout_does_not_matter_in_many_blocks(name: str) -> None:
    """A tensor read block by block is the same tensor."""
    array = (np.arange(3 * BLOCK) % 251).reshape(3, 64, -1).astype(name)
    expected = summarise_tensor(array)
    assert summarise_tensor(np.asfortranarray(array)) == expected
    assert summarise_tensor(array.astype(array.dtype.newbyteorder(">"))) == expected


@pytest.mark.parametrize("name", RAW_BIT_TYPES)
def test_types_of_ml_dtypes_are_their_bits(name: str) -> None:
    """An array of ml_dtypes and its bits have the same summary, in any layout."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    storage = ELEMENT_TYPES[name].storage
    bits = np.random.default_rng(0).integers(0, 256, 3000).astype(storage).reshape(30, 100)
    expected = summarise_tensor(bits, dtype=name)
    foreign = bits.view(getattr(ml_dtypes, name))
    assert summarise_tensor(foreign) == expected
    assert summarise_tensor(np.asfortranarray(foreign), dtype=name) == expected


def noisy(name: str, size: int) -> np.ndarray:
    """Return noise with some of everything: NaN, infinities, negative zeros."""
    array = np.random.default_rng(1).standard_normal(size, np.float32).astype(name)
    array[size // 3 :: 100_003] = np.nan
    array[size // 2 :: 200_003] = -np.inf
    array[::50_021] = -0.0
    return array


@pytest.mark.parametrize(
    "array",
    [
        pytest.param(np.arange(2 * SEGMENT + 5, dtype=np.float32), id="float32"),
        pytest.param(noisy("float32", 2 * SEGMENT + 5), id="non-finite"),
        pytest.param(noisy("float64", SEGMENT + 5) * 1e300, id="scaled"),
        pytest.param(np.ones((SEGMENT // 64 + 1, 64), np.int8).T, id="copied"),
    ],
)
def test_threads_change_no_bit(array: np.ndarray) -> None:
    """One thread and two give the same summary."""
    assert summarise_tensor(array, threads=1) == summarise_tensor(array, threads=2)


@pytest.mark.parametrize("layout", ["contiguous", "transposed"])
def test_memory_stays_bounded(layout: str) -> None:
    """Beside a tensor of 48 MB, less than 4 MB are in use at any time."""
    array = np.arange(3 * SEGMENT, dtype=np.float32).reshape(-1, 64)
    array = array.T if layout == "transposed" else array
    tracemalloc.start()
    try:
        summarise_tensor(array)
        assert tracemalloc.get_traced_memory()[1] < 4 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("name", "size", "fingerprint"),
    [
        # Printed by this very code when trace format 1 was fixed; equal with numpy 1.26 and 2.4,
        # with AVX-512, AVX2 and SSE. If one changes, old traces no longer compare with new ones.
        pytest.param("float32", 40, "e35d01193102182a", id="float32-values"),
        pytest.param("float32", 1000, "1d4ddae6b550dab6", id="float32-small"),
        pytest.param("float16", 5000, "47ef1c0b6e50de77", id="float16-rows"),
        pytest.param("float64", 100_003, "5d5aa143a48a56ba", id="float64-blocks"),
        pytest.param("int32", 70_000, "3ea6926bfe3df8da", id="int32-blocks"),
    ],
)
def test_bits_are_pinned(name: str, size: int, fingerprint: str) -> None:
    """The whole summary of a tensor made by exact arithmetic is the same on every machine."""
    numbers = (np.arange(size, dtype=np.int64) * 7919) % 10_007 - 5003
    array = (numbers / 63).astype(name)
    text = json.dumps(asdict(summarise_tensor(array)))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == fingerprint
