"""The grammar mask: it keeps exactly the pieces that lead to JSON of the schema's shape."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tracediff.engine.json_grammar import JsonGrammar
from tracediff.errors import UsageError

SINGLE = {code - 32: chr(code) for code in range(32, 127)}
WHOLE = {**SINGLE, 95: '{"', 96: '":"', 97: "primary", 98: "true", 99: "ab", 100: '"}', 101: "1}"}
TOKENS = {piece: token for token, piece in WHOLE.items()}


def schema(properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
        "additionalProperties": False,
    }


def accepts(grammar: JsonGrammar, text: str) -> bool:
    """Whether a text is complete when it is spelled in single characters."""
    chosen: tuple[int, ...] = ()
    for character in text:
        token = TOKENS[character]
        if token not in grammar.allowed(chosen):
            return False
        chosen = (*chosen, token)
    return grammar.is_complete(chosen)


NESTED = schema({"o": schema({"x": {"type": "boolean"}})})
SEVERAL = schema({"a": {"type": "integer"}, "b": {"type": "null"}, "c": {"type": "null"}}, ["b"])
LISTS = schema({"l": {"type": "array", "items": {"type": "integer"}}})

SHAPES: dict[str, tuple[dict[str, Any], list[str], list[str]]] = {
    "empty": (schema({}), ["{}"], ["{ }", "", "[]", '{"a":1}']),
    "string": (
        schema({"s": {"type": "string"}}),
        ['{"s":""}', '{"s":"x y"}', r'{"s":"\""}', r'{"s":"\u00e9\n"}'],
        ['{"s":1}', r'{"s":"\x"}', r'{"s":"\u00g9"}', '{"s":"a"b"}', '{"s": ""}', "{s:1}"],
    ),
    "enumerated": (
        schema({"e": {"type": "string", "enum": ["on", "off"]}}),
        ['{"e":"on"}', '{"e":"off"}'],
        ['{"e":"o"}', '{"e":""}', '{"e":on}'],
    ),
    "enumerated-mixed": (
        schema({"e": {"enum": [1, None, "a"]}}),
        ['{"e":1}', '{"e":null}', '{"e":"a"}'],
        ['{"e":2}', '{"e":"b"}', '{"e":11}'],
    ),
    "constant": (schema({"k": {"const": {"a": 1}}}), ['{"k":{"a":1}}'], ['{"k":{}}']),
    "integer": (
        schema({"n": {"type": "integer"}}),
        ['{"n":0}', '{"n":-7}', '{"n":120}'],
        ['{"n":01}', '{"n":-}', '{"n":1.5}', '{"n":1e2}', '{"n":+1}', '{"n":}'],
    ),
    "number": (
        schema({"n": {"type": "number"}}),
        ['{"n":0.5}', '{"n":-1e-7}', '{"n":10}'],
        ['{"n":.5}', '{"n":1.}', '{"n":1e}'],
    ),
    "two-types": (
        schema({"v": {"type": ["integer", "null"]}}),
        ['{"v":3}', '{"v":null}'],
        ['{"v":"3"}'],
    ),
    "optional-ones": (
        SEVERAL,
        ['{"b":null}', '{"a":1,"b":null}', '{"b":null,"c":null}', '{"a":1,"b":null,"c":null}'],
        ["{}", '{"a":1}', '{"b":null,"a":1}', '{,"b":null}', '{"b":null,}', '{"a":1"b":null}'],
    ),
    "all-optional": (
        schema({"a": {"type": "null"}, "b": {"type": "null"}}, []),
        ["{}", '{"a":null}', '{"b":null}', '{"a":null,"b":null}'],
        ['{"b":null,"a":null}', '{"a":null,"a":null}'],
    ),
    "nested": (NESTED, ['{"o":{"x":true}}'], ['{"o":{}}', '{"o":{"x":1}}', '{"o":true}']),
    "list": (LISTS, ['{"l":[]}', '{"l":[1]}', '{"l":[1,-2,30]}'], ['{"l":[,]}', '{"l":[1,]}']),
}


@pytest.mark.parametrize(("shape", "fits", "differs"), SHAPES.values(), ids=SHAPES)
def test_shapes(shape: dict[str, Any], fits: list[str], differs: list[str]) -> None:
    """A text is complete exactly where it is compact JSON of the shape."""
    grammar = JsonGrammar(shape, WHOLE)
    assert [text for text in fits if not accepts(grammar, text)] == []
    assert [text for text in differs if accepts(grammar, text)] == []


@given(st.data())
def test_every_allowed_way_ends_in_json_of_the_schema(data: st.DataObject) -> None:
    """Whatever is chosen of what is allowed, the result is read by json and fits the schema."""
    shape, _, _ = data.draw(st.sampled_from(list(SHAPES.values())))
    grammar = JsonGrammar(shape, WHOLE)
    chosen: tuple[int, ...] = ()
    for _ in range(60):
        allowed = grammar.allowed(chosen)
        if not allowed:
            break
        chosen = (*chosen, data.draw(st.sampled_from(allowed)))
    else:
        return  # a long string is still a beginning; nothing can be said of it
    assert grammar.is_complete(chosen)
    value = json.loads("".join(WHOLE[token] for token in chosen))
    Draft202012Validator(shape).validate(value)


@pytest.mark.parametrize(
    ("chosen", "allowed"),
    [
        pytest.param([], ["{", '{"'], id="whole-piece-at-the-start"),
        pytest.param(['{"'], ["k"], id="a-name-is-spelled-out"),
        pytest.param(['{"', "k"], ['"', '":"'], id="across-name-colon-and-quote"),
        pytest.param(['{"', "k", '":"'], ["p", "primary"], id="an-enumerated-value"),
        pytest.param(['{"', "k", '":"', "primary"], ['"', '"}'], id="quote-and-brace"),
        pytest.param(['{"', "k", '":"', "primary", '"}'], [], id="nothing-after-the-end"),
    ],
)
def test_pieces_are_masked_as_wholes(chosen: list[str], allowed: list[str]) -> None:
    """A piece is allowed where all of its characters are."""
    grammar = JsonGrammar(schema({"k": {"type": "string", "enum": ["primary"]}}), WHOLE)
    found = grammar.allowed(tuple(TOKENS[piece] for piece in chosen))
    assert [WHOLE[token] for token in found] == allowed


def test_bounds_are_the_validators_matter() -> None:
    """Formats, patterns and bounds do not narrow the mask."""
    bounded = schema({"d": {"type": "string", "format": "date", "pattern": "^x$", "maxLength": 1}})
    assert accepts(JsonGrammar(bounded, WHOLE), '{"d":"no date"}')


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        pytest.param({"type": "string"}, "of type object", id="no-object"),
        pytest.param(schema({"a": {}}), "needs the type", id="no-type"),
        pytest.param(schema({"a": True}), "needs a schema object", id="schema-true"),
        pytest.param(schema({"a": {"type": "date"}}), "no type 'date'", id="unknown-type"),
        pytest.param(schema({"a": {"type": "array"}}), "needs a schema object", id="no-items"),
        pytest.param(schema({"é": {"type": "null"}}), "no piece for 'é'", id="unspelled-name"),
        pytest.param(schema({"a": {"enum": ["é"]}}), "no piece for 'é'", id="unspelled-value"),
        pytest.param(schema({}, ["a"]), "that are required: a", id="required-and-absent"),
        pytest.param(
            schema({"a": {"const": "x" * 3000}}), "too large for a grammar", id="too-large"
        ),
    ],
)
def test_other_shapes_are_refused(shape: dict[str, Any], message: str) -> None:
    """A shape that the mask cannot hold a model to is refused, by name."""
    with pytest.raises(UsageError, match=message):
        JsonGrammar(shape, WHOLE)


def test_deep_shapes_are_refused() -> None:
    """Nesting is bounded."""
    deep: dict[str, Any] = {"type": "null"}
    for _ in range(20):
        deep = schema({"a": deep})
    with pytest.raises(UsageError, match="nests at most 16"):
        JsonGrammar(deep, WHOLE)


def test_syntax_without_pieces_is_refused() -> None:
    """A vocabulary that cannot spell JSON's own signs is refused before it leads nowhere."""
    pieces = {token: piece for token, piece in SINGLE.items() if piece != ":"}
    with pytest.raises(UsageError, match="no piece for ':'"):
        JsonGrammar(schema({"a": {"type": "null"}}), pieces)
