"""Which pieces of a vocabulary keep an output on the way to JSON that a schema's shape allows.

Knows JSON's syntax and, of a schema, the shape: property names and their order, types, required
ones, enumerated values. Bounds, formats and patterns are a validator's matter. The text is compact
JSON, its properties in the schema's order. Must not know models, templates or traces.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tracediff.automaton import (
    Automaton,
    Chain,
    Characters,
    Either,
    Part,
    Repeated,
    States,
    literal,
    optional,
)
from tracediff.errors import UsageError

DEEPEST = 16
"""Levels of nested objects and arrays."""

SYNTAX = '{}[]:,"-.+0123456789truefalsn'
"""The characters of structure, numbers and literals; escapes need no more than these."""

PLAIN = Characters((("\0", "\x1f"), ('"', '"'), ("\\", "\\")), excluded=True)
HEX_DIGIT = Characters((("0", "9"), ("a", "f"), ("A", "F")))
DIGIT = Characters((("0", "9"),))
NON_ZERO = Characters((("1", "9"),))
ESCAPED = Characters(tuple((character, character) for character in '"\\/bfnrt'))
ESCAPE = Chain((literal("\\"), Either((ESCAPED, Chain((literal("u"), *(HEX_DIGIT,) * 4))))))
STRING = Chain((literal('"'), Repeated(Either((PLAIN, ESCAPE))), literal('"')))
INTEGER = Chain(
    (optional(literal("-")), Either((literal("0"), Chain((NON_ZERO, Repeated(DIGIT))))))
)
FRACTION = Chain((literal("."), Repeated(DIGIT, 1)))
EXPONENT = Chain(
    (
        Either((literal("e"), literal("E"))),
        optional(Either((literal("+"), literal("-")))),
        Repeated(DIGIT, 1),
    )
)
SCALARS: Mapping[str, Part] = MappingProxyType(
    {
        "string": STRING,
        "integer": INTEGER,
        "number": Chain((INTEGER, optional(FRACTION), optional(EXPONENT))),
        "boolean": Either((literal("true"), literal("false"))),
        "null": literal("null"),
    }
)
"""RFC 8259 without insignificant white space."""


class JsonGrammar:
    """The pieces that may follow a sequence of ids, and whether the sequence is complete.

    `schema` describes an object (`type`, `properties`, `required`, `enum`, `const`, `items`;
    annotations and bounds are passed over). `pieces` maps ids to spellings; control tokens are
    not among them. Raises UsageError for a shape that is not supported or cannot be spelled.
    """

    def __init__(self, schema: Mapping[str, Any], pieces: Mapping[int, str]) -> None:
        self._pieces = {token: piece for token, piece in sorted(pieces.items()) if piece}
        self._single = frozenset(piece for piece in pieces.values() if len(piece) == 1)
        if schema.get("type") != "object":
            raise UsageError("a grammar is made from a schema of type object")
        self._check_spelled(SYNTAX)
        try:
            self._automaton = Automaton(self._value(schema, 0))
        except ValueError as error:
            raise UsageError(f"the schema is too large for a grammar: {error}") from error
        self._after: dict[tuple[int, ...], States] = {(): self._automaton.start}

    def allowed(self, chosen: tuple[int, ...]) -> list[int]:
        """Return the ids that may follow, in ascending order; none after a complete text."""
        states = self._states(chosen)
        follow = self._automaton.follow
        return [token for token, piece in self._pieces.items() if follow(states, piece)]

    def is_complete(self, chosen: tuple[int, ...]) -> bool:
        """Whether the pieces of `chosen` spell a whole text."""
        return self._automaton.accepts(self._states(chosen))

    def _states(self, chosen: tuple[int, ...]) -> States:
        known = self._after.get(chosen)
        if known is None:
            before = self._states(chosen[:-1])
            known = self._automaton.follow(before, self._pieces[chosen[-1]])
            self._after[chosen] = known
        return known

    def _value(self, schema: Any, depth: int) -> Part:
        if depth > DEEPEST:
            raise UsageError(f"a grammar nests at most {DEEPEST} objects and arrays")
        if not isinstance(schema, Mapping):
            raise UsageError(f"a grammar needs a schema object for every value, not {schema!r:.40}")
        if "const" in schema:
            return self._spelled(schema["const"])
        if "enum" in schema:
            return Either(tuple(self._spelled(value) for value in schema["enum"]))
        kinds = schema.get("type")
        listed = [kinds] if isinstance(kinds, str) else kinds
        if not listed:
            raise UsageError("a grammar needs the type of every value; one has none")
        return Either(tuple(self._of_type(kind, schema, depth) for kind in listed))

    def _of_type(self, kind: str, schema: Mapping[str, Any], depth: int) -> Part:
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            return self._array(schema, depth)
        if kind not in SCALARS:
            raise UsageError(f"a grammar knows no type {kind!r:.40}")
        return SCALARS[kind]

    def _array(self, schema: Mapping[str, Any], depth: int) -> Part:
        item = self._value(schema.get("items"), depth + 1)
        items = Chain((item, Repeated(Chain((literal(","), item)))))
        return Chain((literal("["), optional(items), literal("]")))

    def _object(self, schema: Mapping[str, Any], depth: int) -> Part:
        properties = schema.get("properties", {})
        required = set(schema.get("required", ()))
        if not required <= set(properties):
            missing = ", ".join(sorted(required - set(properties)))
            raise UsageError(f"a grammar needs the properties that are required: {missing}")
        members = [
            Chain((self._spelled(name), literal(":"), self._value(inner, depth + 1)))
            for name, inner in properties.items()
        ]
        needed = [name in required for name in properties]
        return Chain((literal("{"), _listed(members, needed), literal("}")))

    def _spelled(self, value: Any) -> Chain:
        """Return a constant as the grammar's text; every character must have a piece."""
        spelled = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        self._check_spelled(spelled)
        return literal(spelled)

    def _check_spelled(self, text: str) -> None:
        """Refuse a character without a piece: with one for each no choice leads into a dead end."""
        for character in text:
            if character not in self._single:
                raise UsageError(f"the vocabulary has no piece for {character!r} of {text:.60}")


def _listed(members: Sequence[Part], needed: Sequence[bool]) -> Part:
    """Return the members in order with commas between; those that are not needed may be left out.

    One of the alternatives for each member that may come first.
    """
    following = [
        part if need else optional(part)
        for part, need in zip((Chain((literal(","), m)) for m in members), needed, strict=True)
    ]
    starts = [
        Chain((member, *following[index + 1 :]))
        for index, member in enumerate(members)
        if not any(needed[:index])
    ]
    if not any(needed):
        starts.append(Chain())
    return Either(tuple(starts))
