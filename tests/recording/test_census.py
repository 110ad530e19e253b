"""Counts, extremes and the digest of where non-finite numbers are."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from tracediff.events.element_types import ELEMENT_TYPES
from tracediff.recording.flat_tensor import BLOCK
from tracediff.recording.summary import summarise_tensor

NAN, INF = math.nan, math.inf


def stats(array: Any, dtype: str | None = None) -> dict[str, Any]:
    return summarise_tensor(array, dtype=dtype, level="digest").stats


@pytest.mark.parametrize(
    ("array", "dtype", "expected"),
    [
        pytest.param(
            np.float32([1, NAN, INF, -INF, -0.0, NAN]),
            None,
            {"finite": 2, "nan": 2, "pos_inf": 1, "neg_inf": 1, "neg_zero": 1, "min": 0, "max": 1},
            id="all-kinds",
        ),
        pytest.param(np.float64([]), None, {"finite": 0}, id="empty"),
        pytest.param(np.zeros((3, 0, 2)), None, {"finite": 0}, id="empty-3-d"),
        pytest.param(
            np.float16([NAN, INF]), None, {"finite": 0, "nan": 1, "pos_inf": 1}, id="none"
        ),
        pytest.param(np.float32(4.2), None, {"finite": 1, "min": 4.2, "max": 4.2}, id="0-d"),
        pytest.param(
            np.float64([-3, -7, -5]), None, {"finite": 3, "min": -7, "max": -3}, id="negative"
        ),
        pytest.param(
            np.float64([-3, -0.0]),
            None,
            {"finite": 2, "neg_zero": 1, "min": -3, "max": 0},
            id="zero",
        ),
        pytest.param(
            np.uint64([2**64 - 1, 2**63 + 1]),
            None,
            {"finite": 2, "min": 2**63 + 1, "max": 2**64 - 1},
            id="uint64",
        ),
        pytest.param(
            np.int64([-(2**63), 2**63 - 1]),
            None,
            {"finite": 2, "min": -(2**63), "max": 2**63 - 1},
            id="int64",
        ),
        pytest.param(np.array([True, True]), None, {"finite": 2, "min": 1, "max": 1}, id="bool"),
        pytest.param(
            np.complex64([1 + 2j, complex(NAN, -0.0)]),
            None,
            {"finite": 3, "nan": 1, "neg_zero": 1, "min": 0, "max": 2},
            id="complex-by-components",
        ),
        pytest.param(
            np.uint16([0x7F80, 0xFF80, 0x7FC0, 0x8000, 0x4086]),
            "bfloat16",
            {
                "finite": 2,
                "nan": 1,
                "pos_inf": 1,
                "neg_inf": 1,
                "neg_zero": 1,
                "min": 0,
                "max": 4.2,
            },
            id="bfloat16",
        ),
        pytest.param(
            np.uint8([0x7F, 0xFF, 0x7E, 0xFE]),
            "float8_e4m3fn",
            {"finite": 2, "nan": 2, "min": -450.0, "max": 450.0},
            id="float8_e4m3fn",
        ),
        pytest.param(
            np.uint8([0x7C, 0xFC, 0x7F, 0xFD, 0x3C]),
            "float8_e5m2",
            {"finite": 1, "nan": 2, "pos_inf": 1, "neg_inf": 1, "min": 1.0, "max": 1.0},
            id="float8_e5m2",
        ),
    ],
)
def test_counts_and_bounds(array: Any, dtype: str | None, expected: dict[str, Any]) -> None:
    """Counts of 0 and bounds of nothing are left out; keys come in the trace's order."""
    found = stats(array, dtype)
    counted = {key: found[key] for key in found if key not in ("nonfinite", "mean", "l2")}
    assert list(counted.items()) == list(expected.items())
    nonfinite = {"nan", "pos_inf", "neg_inf"} & set(found)
    assert ("nonfinite" in found) == bool(nonfinite)
    assert "-0.0" not in (str(found.get("min")), str(found.get("max")))


def test_bounds_keep_their_types() -> None:
    """Integers and booleans have integer bounds, floats have floats."""
    assert type(stats(np.int8([1]))["min"]) is int
    assert type(stats(np.array([True]))["max"]) is int
    assert type(stats(np.float16([1]))["min"]) is float


FLOATS = [name for name in ELEMENT_TYPES if name in ("float16", "float32", "float64")]


@pytest.mark.parametrize("name", FLOATS)
@given(data=st.data())
def test_counts_agree_with_numpy(name: str, data: st.DataObject) -> None:
    """For any numbers, counts and bounds are those that numpy finds."""
    width: Any = np.dtype(name).itemsize * 8
    special = st.sampled_from([NAN, INF, -INF, 0.0, -0.0])
    array = data.draw(
        npst.arrays(name, st.integers(1, 30), elements=st.floats(width=width) | special)
    )
    found = stats(array)
    finite = array[np.isfinite(array)]
    assert found["finite"] == finite.size
    assert found.get("nan", 0) == np.count_nonzero(np.isnan(array))
    assert found.get("pos_inf", 0) == np.count_nonzero(np.isposinf(array))
    assert found.get("neg_inf", 0) == np.count_nonzero(np.isneginf(array))
    assert found.get("neg_zero", 0) == np.count_nonzero((array == 0) & np.signbit(array))
    if finite.size:
        assert np.dtype(name).type(found["min"]) == finite.min()
        assert np.dtype(name).type(found["max"]) == finite.max()


def test_places_and_kinds_tell_apart() -> None:
    """All arrangements of NaN, +inf, -inf and a number in two places have digests of their own."""
    seen = {
        stats(np.array(pair)).get("nonfinite")
        for pair in itertools.product([1.0, NAN, INF, -INF], repeat=2)
    }
    assert len(seen) == 16


@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param([NAN, 1.0], [NAN, 2.0], id="finite-numbers"),
        pytest.param([NAN, 1.0], [-NAN, 1.0], id="sign-of-nan"),
        pytest.param([INF, 0.0], [INF, -0.0], id="sign-of-zero"),
    ],
)
def test_places_ignore_the_rest(left: list[float], right: list[float]) -> None:
    """The digest of places depends on nothing else, unlike that of the tensor."""
    assert stats(np.array(left))["nonfinite"] == stats(np.array(right))["nonfinite"]


@pytest.mark.parametrize("other", [2, BLOCK - 1, BLOCK, 3 * BLOCK - 1, 3 * BLOCK])
def test_places_in_many_blocks(other: int) -> None:
    """Moving one of two infinities changes the digest, also to another block."""
    digests = []
    for place in (1, other):
        array = np.zeros(3 * BLOCK + 1, np.float32)
        array[0], array[place] = -INF, INF
        found = stats(array)
        assert (found["finite"], found["pos_inf"], found["neg_inf"]) == (3 * BLOCK - 1, 1, 1)
        digests.append(found["nonfinite"])
    assert digests[0] != digests[1]


def test_everything_nan_in_many_blocks() -> None:
    """Nothing finite is left in any block."""
    found = stats(np.full(2 * BLOCK + 1, NAN, np.float16))
    assert set(found) == {"finite", "nan", "nonfinite", "l2"}
    assert (found["finite"], found["nan"], found["l2"]) == (0, 2 * BLOCK + 1, 0.0)
