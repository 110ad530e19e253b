"""The parser loses nothing, or refuses."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracediff.events.validity import InvalidField
from tracediff.storage.exact_json import MAX_DEPTH, JsonSyntaxError, parse_json


@pytest.mark.parametrize(
    ("content", "value"),
    [
        pytest.param(b"18446744073709551615", 2**64 - 1, id="largest integer"),
        pytest.param(b"-9223372036854775808", -(2**63), id="least integer"),
        pytest.param(b"6687881544318117707", 6687881544318117707, id="F085: a seed"),
        pytest.param(b"9007199254740993", 2**53 + 1, id="F085: beyond float"),
        pytest.param(b"-0", 0, id="minus zero is an integer"),
        pytest.param(b"-0.0", -0.0, id="minus zero as a float"),
        pytest.param(b"1E2", 100.0, id="an exponent makes a float"),
        pytest.param(b"1e16", 1e16, id="an exponent without sign"),
        pytest.param(b"4.20", 4.2, id="trailing zero"),
        pytest.param(b" [ 1 ,\t2 ]\r", [1, 2], id="white space"),
        pytest.param(b'"\\u00e9\\/"', "é/", id="escapes that were not needed"),
        pytest.param(b'"\\ud83d\\ude42"', "\U0001f642", id="F086: escaped pair"),
        pytest.param('"\U0001f642"'.encode(), "\U0001f642", id="F086: raw pair"),
        pytest.param(b'"\\ud83d"', "\ud83d", id="F086: lone surrogate"),
        pytest.param(b'"\\udc00\\ud83d"', "\udc00\ud83d", id="surrogates in the wrong order"),
        pytest.param(b'"a\xe2\x80\xa8b\xc2\x85c"', "a\u2028b\u0085c", id="F081: raw separators"),
        pytest.param(b'"a\\u2028b\\u0085c"', "a\u2028b\u0085c", id="F081: escaped separators"),
        pytest.param(
            b'{"a":{"b":1},"b":{"b":2}}', {"a": {"b": 1}, "b": {"b": 2}}, id="one key each"
        ),
        pytest.param(b'{"__class__":1}', {"__class__": 1}, id="any key"),
    ],
)
def test_what_is_said_is_read(content: bytes, value: Any) -> None:
    """Value and type are those of the document."""
    assert repr(parse_json(content)) == repr(value)


@pytest.mark.parametrize(
    ("content", "field", "reason"),
    [
        pytest.param(b'{"a":1,"a":1}', "line", "'a' occurs twice", id="a key twice"),
        pytest.param(
            b'{"a":[0,{"b":1,"b":2}]}', "a[1]", "'b' occurs twice", id="a key twice inside"
        ),
        pytest.param(b'{"\\u0061":1,"a":1}', "line", "'a' occurs twice", id="a key twice, escaped"),
        pytest.param(b'{"a":18446744073709551616}', "a", "beyond 64 bits", id="2^64"),
        pytest.param(b'{"a":-9223372036854775809}', "a", "beyond 64 bits", id="below -2^63"),
        pytest.param(b'{"a":' + b"9" * 100_000 + b"}", "a", "beyond 64 bits", id="endless integer"),
        pytest.param(b'{"a":{"b":1e400}}', "a.b", "beyond float64", id="float overflow"),
        pytest.param(b"-1e400", "line", "beyond float64", id="negative float overflow"),
        pytest.param(b'{"a":NaN}', "a", 'the string "NaN"', id="bare NaN"),
        pytest.param(b'{"a":[-Infinity]}', "a[0]", "-Infinity", id="bare infinity"),
        pytest.param(b'{"a":1e400,"a":1}', "line", "occurs twice", id="refused twice over"),
    ],
)
def test_what_is_not_exact_is_refused(content: bytes, field: str, reason: str) -> None:
    """JSON that other parsers smooth over is invalid, and the place is named."""
    with pytest.raises(InvalidField) as refusal:
        parse_json(content)
    assert refusal.value.field == field
    assert reason in refusal.value.reason
    assert len(refusal.value.reason) < 200


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"{", id="cut off"),
        pytest.param(b'{"a":1}x', id="more after the end"),
        pytest.param(b'{"a":1}{"a":1}', id="two documents"),
        pytest.param(b"{'a':1}", id="single quotes"),
        pytest.param(b'{"a":1,}', id="trailing comma"),
        pytest.param(b"[01]", id="leading zero"),
        pytest.param(b"[+1]", id="plus"),
        pytest.param(b"[.5]", id="no integer part"),
        pytest.param(b'"\x00"', id="raw control character"),
        pytest.param(b'"\xff"', id="no UTF-8"),
        pytest.param(b'"\xed\xa0\xbd"', id="a surrogate as if it were UTF-8"),
        pytest.param(b'"\\x41"', id="unknown escape"),
        pytest.param(b"\xef\xbb\xbf1", id="byte order mark"),
        pytest.param(b"nan", id="bare word"),
        pytest.param(b"\x80\x04", id="a pickle"),
    ],
)
def test_what_is_no_json_is_said_to_be_none(content: bytes) -> None:
    """Damage is told apart from JSON that breaks a rule."""
    with pytest.raises(JsonSyntaxError):
        parse_json(content)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"[" * 65 + b"]" * 65, id="lists"),
        pytest.param(b'{"a":' * 65 + b"1" + b"}" * 65, id="objects"),
        pytest.param(b'[{"a":' * 33 + b"1" + b"}]" * 33, id="both"),
        pytest.param(b"[" * 1_000_000, id="depth bomb"),
        pytest.param(b'{"a":' * 1_000_000, id="depth bomb of objects"),
        pytest.param(b'["]",' * 65 + b'"["' + b"]" * 65, id="brackets in strings as cover"),
        pytest.param(b'["\\"]",' * 65 + b"1" + b"]" * 65, id="escaped quotes as cover"),
    ],
)
def test_depth_is_bounded(content: bytes) -> None:
    """Too deep is refused before anything recurses."""
    with pytest.raises(InvalidField, match=f"at most {MAX_DEPTH}"):
        parse_json(content)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"[" * 64 + b"]" * 64, id="the deepest allowed"),
        pytest.param(b"[" + b"[1]," * 1000 + b"[]]", id="wide"),
        pytest.param(b'["' + b"[{" * 1000 + b'"]', id="brackets in a string"),
        pytest.param(b'["\\"' + b"[{" * 1000 + b'\\\\"]', id="brackets between escapes"),
    ],
)
def test_many_brackets_are_not_depth(content: bytes) -> None:
    """Only nesting counts."""
    assert parse_json(content) == json.loads(content)


def test_brackets_in_a_string_that_is_cut_off_are_not_depth() -> None:
    """A torn line is damage, not a depth bomb."""
    with pytest.raises(JsonSyntaxError):
        parse_json(b'{"text":"' + b"[" * 1000)


documents = st.recursive(
    st.one_of(
        st.sampled_from(
            [b"null", b"true", b"-0", b"1.50", b"1e5", b"1e400", b"NaN", b"18446744073709551616"]
        ),
        st.integers().map(lambda n: b"%d" % n),
        st.floats(allow_nan=False, allow_infinity=False).map(lambda x: repr(x).encode()),
        st.text(max_size=5).map(lambda t: json.dumps(t).encode()),
        st.text(max_size=5).map(orjson.dumps),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: b"[" + b", ".join(items) + b"]"),
        st.lists(st.tuples(st.sampled_from([b'"a"', b'"b"']), inner), max_size=3).map(
            lambda pairs: b"{" + b",".join(key + b":" + item for key, item in pairs) + b"}"
        ),
    ),
    max_leaves=8,
)


def strictly(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise InvalidField("", "twice")
    return dict(pairs)


def in_range(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**64:
        raise InvalidField("", "range")
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidField("", "range")
    for item in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        in_range(item)
    return value


@settings(max_examples=400, deadline=None)
@given(documents)
def test_the_fast_path_hides_nothing(document: bytes) -> None:
    """Every document is read as the standard library reads it, or refused as a rule demands."""
    try:
        expected = repr(in_range(json.loads(document, object_pairs_hook=strictly)))
    except InvalidField:
        expected = "refused"
    try:
        found = repr(parse_json(document))
    except InvalidField:
        found = "refused"
    assert found == expected


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=40) | st.text(max_size=40).map(str.encode))
def test_arbitrary_bytes_never_crash(content: bytes) -> None:
    """Any bytes are a value, no JSON, or refused."""
    with suppress(JsonSyntaxError, InvalidField):
        parse_json(content)
