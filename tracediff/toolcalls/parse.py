"""From the bytes that a model proposed to a JSON value, or a rejection by name.

Knows JSON's syntax and what different readers take differently (duplicate keys, NaN, half
characters). Must not know schemas; nothing is repaired here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, NoReturn

from tracediff.toolcalls.rejection import Rejection

MOST_BYTES = 65_536
"""Longest arguments that are read at all."""

DEEPEST = 32
"""Levels of nested objects and arrays."""

MOST_DIGITS = 400
"""Longest number, in characters: every double is written with fewer."""


class _Refused(Exception):
    def __init__(self, reason: str, message: str, **evidence: Any) -> None:
        super().__init__(message)
        self.rejection = Rejection(reason, message, evidence)


def parse_arguments(content: bytes) -> Any | Rejection:
    """Return the JSON value of proposed arguments, or the Rejection that says what is wrong.

    Refused by name: too many bytes, bytes that are not UTF-8, nesting too deep, broken syntax, two
    equal keys in one object, NaN and infinities, numbers out of a double's range, lone surrogates.
    """
    try:
        return _parse(content)
    except _Refused as refused:
        return refused.rejection


def _parse(content: bytes) -> Any:
    if len(content) > MOST_BYTES:
        raise _Refused(
            "too-large",
            f"the arguments have {len(content)} bytes; at most {MOST_BYTES} are read",
            bytes=len(content),
            limit=MOST_BYTES,
        )
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _Refused(
            "not-utf-8", f"byte {error.start} of the arguments is no UTF-8", byte=error.start
        ) from None
    _check_depth(text)
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_constant,
            parse_float=_float,
            parse_int=_integer,
        )
    except json.JSONDecodeError as error:
        raise _Refused(
            "malformed",
            f"the arguments are no JSON: {error.msg} at character {error.pos}",
            character=error.pos,
        ) from None
    _check_text(value, "$")
    return value


def _check_depth(text: str) -> None:
    """Refuse deep nesting before a recursive parser meets it."""
    depth = 0
    in_string = escaped = False
    for character in text:
        if in_string:
            in_string = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            in_string = True
        elif character in "[{":
            depth += 1
            if depth > DEEPEST:
                raise _Refused(
                    "too-deep",
                    f"the arguments nest more than {DEEPEST} objects and arrays",
                    limit=DEEPEST,
                )
        elif character in "]}":
            depth -= 1


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            shown = ascii(key) if _first_lone_surrogate(key) is not None else repr(key)
            raise _Refused(
                "duplicate-key", f"the key {shown:.60} stands twice in one object", key=key
            )
        found[key] = value
    return found


def _constant(word: str) -> NoReturn:
    raise _Refused("not-a-number", f"JSON has no {word}", value=word)


def _float(digits: str) -> float:
    _check_digits(digits)
    value = float(digits)
    if not math.isfinite(value):
        raise _out_of_range(digits)
    return value


def _integer(digits: str) -> int:
    _check_digits(digits)
    value = int(digits)
    if abs(value) > 2**53:
        raise _out_of_range(digits)
    return value


def _check_digits(digits: str) -> None:
    if len(digits) > MOST_DIGITS:
        raise _out_of_range(digits)


def _out_of_range(digits: str) -> _Refused:
    message = f"the number {digits:.40} is beyond what every reader of JSON sees alike"
    return _Refused("number-out-of-range", message, value=digits[:40])


def _check_text(value: Any, path: str) -> None:
    for where, text in _texts(value, path):
        position = _first_lone_surrogate(text)
        if position is not None:
            raise _Refused(
                "lone-surrogate",
                f"{where} holds half a character (U+{ord(text[position]):04X})",
                path=where,
            )


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield every string in a value, keys too, with its path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield f"a key of {path}", key
            yield from _texts(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _texts(inner, f"{path}[{index}]")


def _first_lone_surrogate(text: str) -> int | None:
    found = (place for place, character in enumerate(text) if "\ud800" <= character <= "\udfff")
    return next(found, None)
