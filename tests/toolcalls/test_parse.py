"""Parsing of proposed arguments: what is read, and what is refused by name."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracediff.events.canonical_json import canonical_json
from tracediff.toolcalls.parse import DEEPEST, MOST_BYTES, parse_arguments
from tracediff.toolcalls.rejection import Rejection


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


READ: dict[str, tuple[bytes, Any]] = {
    "object": (b'{"a":1,"b":[true,null]}', {"a": 1, "b": [True, None]}),
    "whole-number-as-float": (b'{"n":10.0}', {"n": 10.0}),
    "escaped-text": (rb'{"t":"\u5e26\n"}', {"t": "带\n"}),
    "surrogate-pair": (rb'{"t":"\ud83d\ude00"}', {"t": "\U0001f600"}),
    "same-key-in-two-objects": (b'{"a":{"k":1},"b":{"k":2}}', {"a": {"k": 1}, "b": {"k": 2}}),
    "brackets-in-text": (b'{"t":"' + b"[" * 100 + b'"}', {"t": "[" * 100}),
    "escaped-quote-in-text": (rb'{"t":"\"[[[["}', {"t": '"[[[['}),
    "deepest": (nested(DEEPEST), parse_arguments(nested(DEEPEST))),
    "largest-exact-integer": (b"9007199254740992", 2**53),
}


@pytest.mark.parametrize(("content", "value"), READ.values(), ids=READ)
def test_arguments_are_read(content: bytes, value: Any) -> None:
    """JSON is read as it stands."""
    assert not isinstance(value, Rejection)
    assert parse_arguments(content) == value


REFUSED: dict[str, tuple[bytes, str, dict[str, Any]]] = {
    "ten-megabytes": (
        b'{"a":"' + b"x" * 10_000_000 + b'"}',
        "too-large",
        {"bytes": 10_000_008, "limit": MOST_BYTES},
    ),
    "nested-arrays": (nested(10_000), "too-deep", {"limit": DEEPEST}),
    "nested-objects": (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "too-deep", {"limit": DEEPEST}),
    "one-too-deep": (nested(DEEPEST + 1), "too-deep", {"limit": DEEPEST}),
    "duplicate-key": (b'{"title":"a","title":"b"}', "duplicate-key", {"key": "title"}),
    "duplicate-inside": (b'{"a":{"k":1,"k":1}}', "duplicate-key", {"key": "k"}),
    "duplicate-by-escape": (rb'{"k":1,"\u006b":2}', "duplicate-key", {"key": "k"}),
    "nan": (b'{"n":NaN}', "not-a-number", {"value": "NaN"}),
    "infinity": (b'{"n":-Infinity}', "not-a-number", {"value": "-Infinity"}),
    "number-without-end": (b'{"n":1e999}', "number-out-of-range", {"value": "1e999"}),
    "integer-that-rounds": (
        b'{"n":9007199254740993}',
        "number-out-of-range",
        {"value": "9007199254740993"},
    ),
    "many-digits": (b"1" * 5000, "number-out-of-range", {"value": "1" * 40}),
    "lone-surrogate": (rb'{"t":"a\ud83d"}', "lone-surrogate", {"path": "$.t"}),
    "lone-surrogate-in-a-list": (rb'{"t":["\udc00"]}', "lone-surrogate", {"path": "$.t[0]"}),
    "lone-surrogate-in-a-key": (rb'{"\ud83d":1}', "lone-surrogate", {"path": "a key of $"}),
    "surrogate-as-bytes": (b'{"t":"\xed\xa0\xbd"}', "not-utf-8", {"byte": 6}),
    "latin-1": (b'{"t":"\xe9"}', "not-utf-8", {"byte": 6}),
    "cut-off": (b'{"a":1,', "malformed", {"character": 7}),
    "empty": (b"", "malformed", {"character": 0}),
    "text-after-it": (b"{} x", "malformed", {"character": 3}),
    "two-values": (b"{}{}", "malformed", {"character": 2}),
    "single-quotes": (b"{'a':1}", "malformed", {"character": 1}),
    "byte-order-mark": (b"\xef\xbb\xbf{}", "malformed", {"character": 0}),
    "line-feed-in-text": (b'{"t":"a\nb"}', "malformed", {"character": 7}),
}


@pytest.mark.parametrize(("content", "reason", "evidence"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(content: bytes, reason: str, evidence: dict[str, Any]) -> None:
    """Bytes that readers take differently are refused, by name and place."""
    found = parse_arguments(content)
    assert isinstance(found, Rejection)
    assert (found.reason, found.evidence) == (reason, evidence)
    assert found.message.isprintable()


@given(st.binary(max_size=60) | st.text('{}[]":,0e\\ud8', max_size=30).map(str.encode))
def test_any_bytes_have_an_answer(content: bytes) -> None:
    """Whatever comes is a value with a canonical form or a rejection, never an exception."""
    found = parse_arguments(content)
    if not isinstance(found, Rejection):
        assert canonical_json(found)
