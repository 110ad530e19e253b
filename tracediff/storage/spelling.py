"""Canonical JSON written value by value: the slow writer behind `canonical`.

Knows every spelling rule and every refusal, with the path of the field. It takes over for what
orjson cannot write or does not write alike in all its versions; for everything else both write
the same bytes, and a test holds them equal.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import orjson

from tracediff.events.validity import InvalidField

LEAST_INTEGER = -(2**63)
INTEGER_LIMIT = 2**64
"""Integers below the one, and from the other on, travel as strings."""

_SURROGATE = re.compile("([\ud800-\udfff])")
_INDENT = b"  "


def spell(value: object, *, field: str = "", depth: int, indent: bool = False) -> bytes:
    """Return `value` as canonical JSON.

    `field` is the value's path in messages, `depth` how many levels of lists and objects it may
    have. Raises InvalidField for non-finite floats, integers beyond 64 bits, keys that are not
    strings, foreign types, and for what is nested too deeply.
    """
    return _spell(value, field, depth, b"\n" if indent else b"")


def _spell(value: object, field: str, depth: int, margin: bytes) -> bytes:
    """Return `value` as JSON; `margin` is line feed and indentation, empty for one line."""
    spell_scalar = _SCALARS.get(type(value))
    if spell_scalar is not None:
        return spell_scalar(value, field)
    if depth == 0:
        raise InvalidField(field, "lists and objects are nested too deeply here")
    inner = margin and margin + _INDENT
    if type(value) is dict:
        return _enclose(b"{", _spell_members(value, field, depth, inner), b"}", margin)
    if type(value) is list:
        items = (
            _spell(item, f"{field}[{index}]", depth - 1, inner) for index, item in enumerate(value)
        )
        return _enclose(b"[", items, b"]", margin)
    raise InvalidField(
        field,
        f"a {type(value).__module__}.{type(value).__qualname__} cannot be written; allowed are "
        "dict, list, str, int, float, bool and None",
    )


def _spell_members(found: dict[Any, Any], field: str, depth: int, margin: bytes) -> Iterator[bytes]:
    colon = b": " if margin else b":"
    for key, item in found.items():
        if type(key) is not str:
            raise InvalidField(field, f"the key {key!r:.60} is no string")
        path = f"{field}.{key}" if field else key
        yield _spell_text(key, path) + colon + _spell(item, path, depth - 1, margin)


def _enclose(opening: bytes, items: Iterable[bytes], closing: bytes, margin: bytes) -> bytes:
    parts = list(items)
    if not parts or not margin:
        return opening + b",".join(parts) + closing
    inner = margin + _INDENT
    return opening + inner + (b"," + inner).join(parts) + margin + closing


def _spell_text(text: Any, field: str) -> bytes:
    """Return a string; a lone surrogate, which has no UTF-8, as `\\ud83d`."""
    parts = [
        b"\\u%04x" % ord(part) if _SURROGATE.match(part) else orjson.dumps(part)[1:-1]
        for part in _SURROGATE.split(text)
    ]
    return b'"' + b"".join(parts) + b'"'


def _spell_integer(value: Any, field: str) -> bytes:
    if not LEAST_INTEGER <= value < INTEGER_LIMIT:
        raise InvalidField(field, "an integer beyond 64 bits travels as a string")
    return b"%d" % value


def _spell_float(value: Any, field: str) -> bytes:
    """Return the shortest digits that round-trip; from 1e16 on as `1e+16`, below 1e-5 as `1e-6`.

    Some versions of orjson leave the plus sign out; digits and thresholds agree in all.
    """
    if not math.isfinite(value):
        raise InvalidField(
            field, f'{value!r} is no JSON; write it as "NaN", "Infinity" or "-Infinity"'
        )
    digits, mark, exponent = orjson.dumps(value).partition(b"e")
    if mark and exponent[:1] not in b"+-":
        mark = b"e+"
    return digits + mark + exponent


def _spell_constant(value: Any, field: str) -> bytes:
    return orjson.dumps(value)


_SCALARS: Mapping[type, Callable[[Any, str], bytes]] = MappingProxyType(
    {
        str: _spell_text,
        int: _spell_integer,
        float: _spell_float,
        bool: _spell_constant,
        type(None): _spell_constant,
    }
)
