"""Plain JSON of Python and numpy values: nothing is lost, and what has no form is refused."""

import json
import math
from collections import OrderedDict, deque
from enum import Enum, IntEnum, StrEnum
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracediff.errors import UsageError
from tracediff.recording.plain import plain_json


class Colour(StrEnum):
    RED = "red"


class Size(IntEnum):
    BIG = 3


class Ratio(Enum):
    HALF = 0.5


PLAIN = [
    pytest.param(None, None, id="none"),
    pytest.param(True, True, id="true"),
    pytest.param(0, 0, id="zero"),
    pytest.param("天空", "天空", id="text"),
    pytest.param(0.1, 0.1, id="float"),
    pytest.param(-0.0, -0.0, id="negative-zero"),
    pytest.param(math.nan, "NaN", id="nan"),
    pytest.param(math.inf, "Infinity", id="inf"),
    pytest.param(-math.inf, "-Infinity", id="negative-inf"),
    pytest.param(2**64 - 1, 2**64 - 1, id="largest-integer"),
    pytest.param(2**64, "18446744073709551616", id="too-large-an-integer"),
    pytest.param(-(2**63), -(2**63), id="smallest-integer"),
    pytest.param(-(2**63) - 1, "-9223372036854775809", id="too-small-an-integer"),
    pytest.param(b"ab", "ab", id="bytes-of-text"),
    pytest.param(b"\xe5\xa4", {"b64": "5aQ="}, id="bytes-of-half-a-character"),
    pytest.param("a\ud800", {"b64": "Ye2ggA=="}, id="lone-surrogate"),
    pytest.param((1, (2, [3])), [1, [2, [3]]], id="tuples"),
    pytest.param(range(3), [0, 1, 2], id="range"),
    pytest.param(deque([1, 2]), [1, 2], id="deque"),
    pytest.param({"b": {"a": (1,)}}, {"b": {"a": [1]}}, id="nested-mapping"),
    pytest.param(OrderedDict(x=1), {"x": 1}, id="ordered-dict"),
    pytest.param(MappingProxyType({"x": 1}), {"x": 1}, id="mapping-proxy"),
    pytest.param(Colour.RED, "red", id="text-enum"),
    pytest.param(Size.BIG, 3, id="integer-enum"),
    pytest.param(Ratio.HALF, 0.5, id="other-enum"),
    pytest.param({Colour.RED: 1}, {"red": 1}, id="enum-key"),
    pytest.param({np.str_("x"): 1}, {"x": 1}, id="numpy-key"),
    # float32 4.2 is 4.19999980926513671875; the shortest decimal that gives it back is 4.2.
    pytest.param(np.float32(4.2), 4.2, id="float32"),
    pytest.param(np.float32(1e-45), 1e-45, id="float32-subnormal"),
    pytest.param(np.float32(3.4028235e38), 3.4028235e38, id="float32-largest"),
    pytest.param(np.float32(-0.0), -0.0, id="float32-negative-zero"),
    pytest.param(np.float32(math.nan), "NaN", id="float32-nan"),
    pytest.param(np.float16(0.1), 0.1, id="float16"),
    pytest.param(np.float64(0.1), 0.1, id="float64"),
    pytest.param(np.float64(-math.inf), "-Infinity", id="float64-inf"),
    pytest.param(np.int64(-5), -5, id="int64"),
    pytest.param(np.uint64(2**64 - 1), 2**64 - 1, id="uint64"),
    pytest.param(np.bool_(True), True, id="numpy-bool"),
    pytest.param(np.str_("x"), "x", id="numpy-text"),
    pytest.param(np.bytes_(b"x"), "x", id="numpy-bytes"),
    pytest.param(np.array([[4.2, 0.1]], np.float32), [[4.2, 0.1]], id="float32-array"),
    pytest.param(np.array([4.2], ">f4"), [4.2], id="big-endian-array"),
    pytest.param(np.array(4.2, np.float32), 4.2, id="scalar-array"),
    pytest.param(np.array([], np.int32), [], id="empty-array"),
    pytest.param(np.array([True, False]), [True, False], id="bool-array"),
    pytest.param(np.array([math.nan, 1.0]), ["NaN", 1.0], id="array-with-nan"),
]


def spell(value: Any) -> str:
    """Return JSON in which 1, 1.0, True and -0.0 differ, and to which plain types are enough."""
    return json.dumps(value, allow_nan=False, ensure_ascii=False)


@pytest.mark.parametrize(("value", "expected"), PLAIN)
def test_plain(value: Any, expected: Any) -> None:
    """A value becomes plain JSON of exact types."""
    found = plain_json(value, "field")
    assert type(found) is type(expected)
    assert spell(found) == spell(expected)


@pytest.mark.parametrize(
    ("value", "field", "name"),
    [
        pytest.param(object(), "f", "object", id="object"),
        pytest.param({1, 2}, "f", "set", id="set"),
        pytest.param(1j, "f", "complex", id="complex"),
        pytest.param([1, {"a": (2, object())}], "f[1].a[1]", "object", id="nested"),
        pytest.param(np.complex64(1), "f", "complex64", id="numpy-complex"),
        pytest.param(np.array(["x"]), "f", "<U1", id="array-of-text"),
        pytest.param(np.array([object()]), "f", "object", id="array-of-objects"),
        pytest.param(np.datetime64("2026-01-01"), "f", "datetime64", id="date"),
        pytest.param(np.longdouble(1), "f", str(np.dtype(np.longdouble)), id="long-double"),
    ],
)
def test_refused(value: Any, field: str, name: str) -> None:
    """What has no plain form is an error that names the field and the type."""
    if isinstance(value, np.longdouble) and value.dtype.itemsize == 8:
        pytest.skip("a long double is a float64 on this machine")
    with pytest.raises(UsageError) as caught:
        plain_json(value, "f")
    assert str(caught.value).startswith(f"{field}: cannot record")
    assert name in str(caught.value)


@pytest.mark.parametrize(
    ("value", "field"), [({1: 2}, "f"), ({None: 2}, "f"), ([{"a": {b"k": 1}}], r"f\[0\].a")]
)
def test_keys_are_strings(value: Any, field: str) -> None:
    """A key that is no string is an error that names where."""
    with pytest.raises(UsageError, match=f"^{field}: the key .* is no string$"):
        plain_json(value, "f")


@pytest.mark.parametrize("key", [Colour.RED, np.str_("red")], ids=["enum", "numpy"])
def test_keys_become_plain_strings(key: str) -> None:
    """A key of a string's subclass becomes a plain string, which any writer of JSON takes."""
    assert [type(found) for found in plain_json({key: 1}, "f")] == [str]


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_float32_gives_back_its_bits(value: float) -> None:
    """The decimal of a float32 gives back its bits, and none with fewer digits does."""
    number = np.float32(value)
    found = plain_json(number, "f")
    assert type(found) is float
    assert np.float32(found).tobytes() == number.tobytes()
    assert len(repr(found)) <= len(repr(float(number)))


@given(st.integers(-(2**70), 2**70))
def test_integers_give_back_their_value(value: int) -> None:
    """An integer of any size comes back, as a number where it fits 64 bits."""
    found = plain_json(value, "f")
    assert int(found) == value
    assert isinstance(found, int) == (-(2**63) <= value < 2**64)


def test_result_shares_nothing() -> None:
    """The plain form is a copy: changing the value afterwards does not change it."""
    inner, array = [1], np.array([1.5])
    found = plain_json({"a": inner, "b": array}, "f")
    inner.append(2)
    array[0] = 9
    assert found == {"a": [1], "b": [1.5]}
