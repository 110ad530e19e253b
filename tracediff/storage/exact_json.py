"""Reading JSON without losing anything: what is returned is what the bytes say.

Knows JSON and nothing of events. orjson reads what it provably reads exactly; the standard
library's parser, told to refuse what it would smooth over, reads the rest.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

import orjson

from tracediff.events.validity import InvalidField
from tracediff.storage.spelling import INTEGER_LIMIT, LEAST_INTEGER

MAX_DEPTH: Final = 64
"""Levels of lists and objects that a line may have, the event itself being the first."""

_MOST_DIGITS = 20  # of 2^64 - 1; a longer literal is not even converted
_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)  # also one that is cut off
_BRACKETS = b"[]{}"
_OTHER_BYTES = bytes(set(range(256)) - set(_BRACKETS))
_STEPS = tuple({"[": 1, "{": 1, "]": -1, "}": -1}.get(chr(byte), 0) for byte in range(256))


class JsonSyntaxError(ValueError):
    """Bytes that are no JSON document; the message says why."""


def parse_json(content: bytes) -> Any:
    """Return the value of one JSON document, exactly.

    Raises JsonSyntaxError for bytes that are no JSON, and InvalidField (with the field's path)
    for JSON that does not say one thing exactly: a key twice in an object, an integer beyond 64
    bits, a float beyond the range of float64, NaN and infinities as bare words, and nesting
    deeper than MAX_DEPTH. Floats are the float64 nearest to their digits. Lone surrogates are
    kept.
    """
    if content.count(b"{") + content.count(b"[") > MAX_DEPTH:
        _check_depth(content)
    try:
        found = orjson.loads(content)
        # orjson lets the last of equal keys win and rounds big integers to floats. A document
        # that comes back byte for byte holds neither.
        if orjson.dumps(found) == content:
            return found
    except orjson.JSONDecodeError:
        pass
    return _parse_exactly(content)


def _check_depth(content: bytes) -> None:
    brackets = _TEXT.sub(b"", content).translate(None, _OTHER_BYTES)
    depth = max(accumulate(map(_STEPS.__getitem__, brackets)), default=0)
    if depth > MAX_DEPTH:
        raise InvalidField(
            "line", f"lists and objects are nested {depth} deep; at most {MAX_DEPTH} are read"
        )


@dataclass(frozen=True, slots=True)
class _Refused:
    """Stands in the parsed value for what must not be in it, until its path is known."""

    reason: str


def _parse_exactly(content: bytes) -> Any:
    refused: list[_Refused] = []

    def refuse(reason: str) -> _Refused:
        refused.append(_Refused(reason))
        return refused[-1]

    def parse_integer(digits: str) -> Any:
        if len(digits.lstrip("-")) <= _MOST_DIGITS:
            value = int(digits)
            if LEAST_INTEGER <= value < INTEGER_LIMIT:
                return value
        return refuse(f"the integer {digits:.40} is beyond 64 bits; it travels as a string")

    def parse_float(digits: str) -> Any:
        value = float(digits)
        return value if math.isfinite(value) else refuse(f"{digits:.40} is beyond float64")

    def parse_object(members: list[tuple[str, Any]]) -> Any:
        found = dict(members)
        if len(found) == len(members):
            return found
        times = Counter(key for key, _ in members)
        twice = next(key for key, count in times.items() if count > 1)
        return refuse(f"the key {twice!r:.60} occurs twice in this object")

    try:
        found = json.loads(
            content.decode(),
            object_pairs_hook=parse_object,
            parse_int=parse_integer,
            parse_float=parse_float,
            parse_constant=lambda word: refuse(
                f'the bare word {word} is no JSON; a non-finite number is the string "{word}"'
            ),
        )
    except UnicodeDecodeError as error:
        raise JsonSyntaxError(f"not UTF-8 at byte {error.start} of the line") from None
    except json.JSONDecodeError as error:
        raise JsonSyntaxError(
            f"not JSON at character {error.pos} of the line: {error.msg}"
        ) from None
    if refused:
        _raise_first(found, "")
    return found


def _raise_first(value: Any, field: str) -> None:
    """Raise InvalidField at the path of the first refused part of `value`."""
    if isinstance(value, _Refused):
        raise InvalidField(field or "line", value.reason)
    if isinstance(value, dict):
        for key, item in value.items():
            _raise_first(item, f"{field}.{key}" if field else key)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _raise_first(item, f"{field}[{index}]")
