"""Canonical JSON: spelling, key order, and what cannot be written."""

from __future__ import annotations

import enum
import json
import math
import struct
import uuid
from collections import OrderedDict
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracediff.events.event import Event
from tracediff.events.validity import InvalidField
from tracediff.storage.canonical import decode_json, encode_event, encode_json
from tracediff.storage.exact_json import MAX_DEPTH
from tracediff.storage.spelling import spell


def event(payload: Any) -> Event:
    return Event("t", "e", None, "loop", "step", 0, payload)


FLOATS = [
    (0.0, b"0.0"),
    (-0.0, b"-0.0"),
    (1.0, b"1.0"),
    (0.1, b"0.1"),
    (-2.5, b"-2.5"),
    (4.2, b"4.2"),
    (0.001, b"0.001"),
    (1e-4, b"0.0001"),
    (1e-5, b"0.00001"),
    (1.234e-5, b"0.00001234"),
    (9.99e-6, b"9.99e-6"),
    (1e-6, b"1e-6"),
    (1e-7, b"1e-7"),
    (2.5e-7, b"2.5e-7"),
    (5e-324, b"5e-324"),
    (2.2250738585072014e-308, b"2.2250738585072014e-308"),
    (1e15, b"1000000000000000.0"),
    (2.0**53, b"9007199254740992.0"),
    (9999999999999998.0, b"9999999999999998.0"),
    (1e16, b"1e+16"),
    (-1.5e16, b"-1.5e+16"),
    (123456789012345680.0, b"1.2345678901234568e+17"),
    (2.0**63, b"9.223372036854776e+18"),
    (1e22, b"1e+22"),
    (1.7976931348623157e308, b"1.7976931348623157e+308"),
    (-1e300, b"-1e+300"),
]
"""Digits: the shortest that round-trip (David M. Gay's dtoa, mode 0). Thresholds: 1e-5 and 1e16."""


@pytest.mark.parametrize(("value", "spelled"), FLOATS, ids=[s.decode() for _, s in FLOATS])
def test_floats_have_one_spelling(value: float, spelled: bytes) -> None:
    """Both writers spell a float as the table says, whatever the version of orjson."""
    assert encode_json(value) == spelled
    assert spell(value, depth=1) == spelled
    assert encode_json({"a": [value, "e"]}) == b'{"a":[' + spelled + b',"e"]}'
    assert struct.pack("<d", json.loads(spelled)) == struct.pack("<d", value)


@pytest.mark.parametrize(
    ("value", "spelled"),
    [
        pytest.param(None, b"null", id="null"),
        pytest.param(True, b"true", id="true"),
        pytest.param(2**64 - 1, b"18446744073709551615", id="largest integer"),
        pytest.param(-(2**63), b"-9223372036854775808", id="least integer"),
        pytest.param(2**53 + 1, b"9007199254740993", id="beyond float"),
        pytest.param("", b'""', id="empty string"),
        pytest.param('"\\\b\f\n\r\t', b'"\\"\\\\\\b\\f\\n\\r\\t"', id="short escapes"),
        pytest.param("\0\x1f", b'"\\u0000\\u001f"', id="control characters"),
        pytest.param("\x7f/é\u2028\U0001f642", '"\x7f/é\u2028\U0001f642"'.encode(), id="raw UTF-8"),
        pytest.param("\ud83d", b'"\\ud83d"', id="lone high surrogate"),
        pytest.param("é\udc00\n", '"é\\udc00\\n"'.encode(), id="lone low surrogate"),
        pytest.param("\ud83d\ud83d", b'"\\ud83d\\ud83d"', id="two high surrogates"),
        pytest.param({"\udfff": 1.0}, b'{"\\udfff":1.0}', id="surrogate in a key"),
        pytest.param([], b"[]", id="empty list"),
        pytest.param({}, b"{}", id="empty object"),
        pytest.param({"b": [1, {"a": []}]}, b'{"b":[1,{"a":[]}]}', id="given order, no spaces"),
    ],
)
def test_values_have_one_spelling(value: object, spelled: bytes) -> None:
    """Both writers agree, and what they write reads back as it was."""
    assert encode_json(value) == spelled
    assert spell(value, depth=9) == spelled
    assert decode_json(spelled) == value


class Word(str):
    __slots__ = ()


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Point:
    x: int = 1


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        pytest.param(math.nan, 'as "NaN"', id="NaN"),
        pytest.param(math.inf, 'as "NaN", "Infinity"', id="infinity"),
        pytest.param(-math.inf, '"-Infinity"', id="negative infinity"),
        pytest.param(2**64, "travels as a string", id="2^64"),
        pytest.param(-(2**63) - 1, "travels as a string", id="below -2^63"),
        pytest.param({1: 2}, "the key 1 is no string", id="numeric key"),
        pytest.param({None: 2}, "the key None is no string", id="null key"),
        pytest.param((1, 2), "builtins.tuple", id="tuple"),
        pytest.param({1}, "builtins.set", id="set"),
        pytest.param(b"x", "builtins.bytes", id="bytes"),
        pytest.param(Word("x"), "Word", id="subclass of str"),
        pytest.param(OrderedDict(a=1), "OrderedDict", id="subclass of dict"),
        pytest.param(Colour.RED, "Colour", id="enumeration"),
        pytest.param(Point(), "Point", id="dataclass"),
        pytest.param(date(2000, 1, 1), "datetime.date", id="date"),
        pytest.param(uuid.UUID(int=0), "uuid.UUID", id="UUID"),
        pytest.param(np.float32(1), "numpy.float32", id="numpy scalar"),
        pytest.param(np.float64(1), "numpy.float64", id="numpy double"),
        pytest.param(np.zeros(2), "numpy.ndarray", id="numpy array"),
    ],
)
def test_what_json_cannot_hold_is_refused(value: object, reason: str) -> None:
    """The field is named, and nothing is written in its place."""
    with pytest.raises(InvalidField) as refusal:
        encode_event(event({"state": {"a": [0, value]}, "x-own": {"b": None}}))
    assert refusal.value.field == "payload.state.a[1]"
    assert reason in refusal.value.reason


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def test_a_line_has_bounded_depth() -> None:
    """The deepest line that is written is the deepest that is read; one level more is refused."""
    around = 3  # the line, its payload, the state
    line = encode_event(event({"state": {"a": nested(MAX_DEPTH - around)}}))
    assert decode_json(line)["payload"]["state"]["a"] == nested(MAX_DEPTH - around)
    with pytest.raises(InvalidField, match="nested too deeply") as refusal:
        encode_event(event({"state": {"a": nested(MAX_DEPTH - around + 1)}}))
    assert refusal.value.field.startswith("payload.state.a[0]")


def test_many_brackets_are_not_depth() -> None:
    """A wide line is no deep one."""
    state = {"pairs": [[number, {}] for number in range(1000)], "text": "[{" * 1000}
    assert decode_json(encode_event(event({"state": state})))["payload"]["state"] == state


def test_other_json_may_be_deeper() -> None:
    """A report around an event has room for both."""
    assert decode_json(encode_json("x")) == "x"
    assert encode_json(nested(200)) == b"[" * 200 + b"1" + b"]" * 200
    with pytest.raises(InvalidField, match="nested too deeply"):
        encode_json(nested(100_000))


TENSOR = {
    "x-own": 1,
    "values": [1.0],
    "stats": {"max": 1.0, "min": 0.5, "finite": 1},
    "digest": "b3:0",
    "logical": {"z": 1, "a": 2},
    "shape": [1],
    "dtype": "float64",
    "name": "n",
}


@pytest.mark.parametrize(
    ("payload", "written"),
    [
        pytest.param(
            {"end": {"events": 1}, "x-b": 1, "note": "n", "x-a": 2, "state": {"z": 1, "a": 2}},
            b'{"state":{"z":1,"a":2},"note":"n","end":{"events":1},"x-b":1,"x-a":2}',
            id="sections in causal order, private ones last, free objects as given",
        ),
        pytest.param(
            {"outputs": [TENSOR]},
            b'{"outputs":[{"name":"n","dtype":"float64","shape":[1],"logical":{"z":1,"a":2},'
            b'"digest":"b3:0","stats":{"finite":1,"min":0.5,"max":1.0},"values":[1.0],"x-own":1}]}',
            id="tensor records",
        ),
        pytest.param(
            {
                "rng": [
                    {
                        "draws": {"shape": [1], "count": 1},
                        "counter_after": 1,
                        "counter_before": 0,
                        "algorithm": "a",
                        "generator": "g",
                    }
                ]
            },
            b'{"rng":[{"generator":"g","algorithm":"a","counter_before":0,"counter_after":1,'
            b'"draws":{"count":1,"shape":[1]}}]}',
            id="draws",
        ),
        pytest.param(
            {
                "trace": {
                    "tolerances": [{"atol": 1.0, "mode": "allclose", "match": "*"}],
                    "x-own": 1,
                    "kind": "loop",
                    "format": "tracediff-trace/1",
                }
            },
            b'{"trace":{"format":"tracediff-trace/1","kind":"loop","tolerances":[{"match":"*",'
            b'"mode":"allclose","atol":1.0}],"x-own":1}}',
            id="root",
        ),
    ],
)
def test_keys_stand_in_the_schema_order(payload: dict[str, Any], written: bytes) -> None:
    """Whatever order a payload has in memory, a line has the schema's."""
    before = json.dumps(payload)
    prefix = (
        b'{"trace_id":"t","event_id":"e","parent_event_id":null,"component":"loop",'
        b'"event_type":"step","logical_step":0,"payload":'
    )
    assert encode_event(event(payload)) == prefix + written + b"}\n"
    assert json.dumps(payload) == before, "the event itself must not change"


@pytest.mark.parametrize(
    ("payload", "field"),
    [
        pytest.param({"output": []}, "payload.output", id="misspelt section"),
        pytest.param({5: []}, "payload.5", id="numeric section"),
        pytest.param(
            {"outputs": [{**TENSOR, "size": 1}]}, "payload.outputs[0].size", id="tensor key"
        ),
    ],
)
def test_an_unknown_key_is_refused(payload: dict[Any, Any], field: str) -> None:
    """What has no place in the order is not written, so that it cannot go uncompared."""
    with pytest.raises(InvalidField, match="unknown") as refusal:
        encode_event(event(payload))
    assert refusal.value.field == field


json_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**63), 2**64 - 1),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(st.characters(exclude_categories=())),
    ),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(json_values)
def test_the_slow_writer_is_the_fast_one(value: Any) -> None:
    """Where orjson can write a value, both writers give the same bytes; all read back alike."""
    written = spell(value, depth=99)
    assert encode_json(value) == written
    assert repr(decode_json(written)) == repr(value)  # repr tells 1 from 1.0 and 0.0 from -0.0
    assert encode_json(value, indent=True) == spell(value, depth=99, indent=True)


def test_indented_json_is_for_people() -> None:
    """Two spaces a level, also where the slow writer writes."""
    expected = b'{\n  "a": [\n    1,\n    "%s"\n  ],\n  "b": {}\n}'
    assert encode_json({"a": [1, "x"], "b": {}}, indent=True) == expected % b"x"
    assert encode_json({"a": [1, "\ud83d"], "b": {}}, indent=True) == expected % b"\\ud83d"


def test_an_orjson_without_the_plus_sign_makes_no_difference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Some versions write 1e16: their output is not used where it holds an exponent."""
    plain = orjson.dumps

    def dumps(value: Any, option: int = 0) -> bytes:
        return plain(value, option=option).replace(b"e+", b"e")

    monkeypatch.setattr(orjson, "dumps", dumps)
    monkeypatch.setattr("tracediff.storage.canonical._SPELLS_PLUS", False)
    assert encode_json([1e16, 1e-7, 0.5]) == b"[1e+16,1e-7,0.5]"
    assert encode_event(event({"state": {"a": 1e22}})).endswith(b'{"a":1e+22}}}\n')
