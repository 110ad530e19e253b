"""RFC 8785 (JCS): known answers from the RFC, and what has no canonical form."""

import hashlib
import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracediff.events.canonical_json import canonical_json, json_digest

# RFC 8785, appendix B: IEEE 754 bits and the JSON number.
NUMBERS = {
    "zero": ("0000000000000000", "0"),
    "minus-zero": ("8000000000000000", "0"),
    "smallest": ("0000000000000001", "5e-324"),
    "smallest-negative": ("8000000000000001", "-5e-324"),
    "largest": ("7fefffffffffffff", "1.7976931348623157e+308"),
    "largest-negative": ("ffefffffffffffff", "-1.7976931348623157e+308"),
    "largest-exact": ("4340000000000000", "9007199254740992"),
    "negative-exact": ("c340000000000000", "-9007199254740992"),
    "two-to-the-68": ("4430000000000000", "295147905179352830000"),
    "below-1e23": ("44b52d02c7e14af5", "9.999999999999997e+22"),
    "1e23": ("44b52d02c7e14af6", "1e+23"),
    "above-1e23": ("44b52d02c7e14af7", "1.0000000000000001e+23"),
    "below-1e21": ("444b1ae4d6e2ef4e", "999999999999999700000"),
    "next-below-1e21": ("444b1ae4d6e2ef4f", "999999999999999900000"),
    "1e21": ("444b1ae4d6e2ef50", "1e+21"),
    "below-1e-6": ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
    "1e-6": ("3eb0c6f7a0b5ed8d", "0.000001"),
    "thirds-2": ("41b3de4355555553", "333333333.3333332"),
    "thirds-25": ("41b3de4355555554", "333333333.33333325"),
    "thirds-3": ("41b3de4355555555", "333333333.3333333"),
    "thirds-34": ("41b3de4355555556", "333333333.3333334"),
    "thirds-343": ("41b3de4355555557", "333333333.33333343"),
    "small-negative": ("becbf647612f3696", "-0.0000033333333333333333"),
    "round-to-even": ("43143ff3c1cb0959", "1424953923781206.2"),
}


@pytest.mark.parametrize(("bits", "spelled"), NUMBERS.values(), ids=NUMBERS)
def test_numbers_are_spelled_as_ecmascript_does(bits: str, spelled: str) -> None:
    """Doubles of the RFC's appendix have the RFC's spelling."""
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical_json(number) == spelled.encode()


def test_sample_of_the_rfc() -> None:
    """The object of RFC 8785, 3.2.2, has the bytes that 3.2.4 gives."""
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"\u002f",
        "literals": [None, True, False],
    }
    expected = bytes.fromhex(
        "7b 22 6c 69 74 65 72 61 6c 73 22 3a 5b 6e 75 6c 6c 2c 74 72"
        "75 65 2c 66 61 6c 73 65 5d 2c 22 6e 75 6d 62 65 72 73 22 3a"
        "5b 33 33 33 33 33 33 33 33 33 2e 33 33 33 33 33 33 33 2c 31"
        "65 2b 33 30 2c 34 2e 35 2c 30 2e 30 30 32 2c 31 65 2d 32 37"
        "5d 2c 22 73 74 72 69 6e 67 22 3a 22 e2 82 ac 24 5c 75 30 30"
        "30 66 5c 6e 41 27 42 5c 22 5c 5c 5c 5c 5c 22 2f 22 7d"
    )
    assert canonical_json(value) == expected


def test_names_sort_by_utf16_units() -> None:
    """The names of RFC 8785, 3.2.3, come in the RFC's order."""
    names = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
    ordered = list(json.loads(canonical_json(dict.fromkeys(names, 0))))
    assert ordered == ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param(float("nan"), "no nan", id="nan"),
        pytest.param(float("inf"), "no inf", id="infinity"),
        pytest.param(2**53 + 1, "beyond 2\\^53", id="integer-that-rounds"),
        pytest.param("\ud83d", "lone surrogate", id="half-a-character"),
        pytest.param({"\ud83d": 1}, "lone surrogate", id="half-a-character-in-a-name"),
        pytest.param({1: 2}, "is no string", id="name-that-is-a-number"),
        pytest.param([b""], "no bytes", id="bytes"),
        pytest.param({1, 2}, "no set", id="set"),
    ],
)
def test_what_has_no_canonical_form_is_refused(value: Any, message: str) -> None:
    """What readers of JSON see differently has no digest."""
    with pytest.raises(ValueError, match=message):
        canonical_json(value)


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        pytest.param({"a": 1, "b": [1, 2]}, {"b": [1, 2], "a": 1}, True, id="key-order"),
        pytest.param({"a": 1}, {"a": 1.0}, True, id="one-and-1.0"),
        pytest.param([1, 2], [2, 1], False, id="array-order"),
        pytest.param({"a": 1}, {"a": "1"}, False, id="number-and-text"),
        pytest.param({"a": None}, {}, False, id="null-and-missing"),
    ],
)
def test_digests_are_those_of_the_value(left: Any, right: Any, equal: bool) -> None:
    """Spelling makes no other digest, meaning does."""
    assert (json_digest(left) == json_digest(right)) is equal


def test_digest_is_sha256_of_the_form() -> None:
    """A digest can be recomputed from the canonical bytes."""
    expected = hashlib.sha256(b'{"a":1,"b":"x"}').hexdigest()
    assert json_digest({"b": "x", "a": 1}) == f"sha256:{expected}"


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=10,
)


@given(JSON)
def test_the_form_reads_back_and_is_its_own_form(value: Any) -> None:
    """Reading the form gives the value, and the form of that is the same bytes."""
    form = canonical_json(value)
    read = json.loads(form, parse_int=float)
    assert read == value
    assert canonical_json(read) == form
