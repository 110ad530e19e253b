"""The canonical form of a JSON value and its digest, as agreed between programs: RFC 8785 (JCS).

Knows plain JSON values. Must not know what they mean. The lines of a trace have an order of keys
of their own (see `storage`); this form is for digests that others must be able to recompute.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

EXACT_INTEGERS = 2**53
"""Integers up to this size are JSON numbers that every reader sees alike (RFC 7493, 2.2)."""


def canonical_json(value: Any) -> bytes:
    """Return the RFC 8785 form of a JSON value: UTF-8, keys by UTF-16 units, numbers as ECMAScript.

    Takes None, bool, int, float, str, lists and dicts with string keys. Raises ValueError for NaN,
    infinities, integers beyond 2^53 (a double could round them), lone surrogates, other types.
    """
    return _spell(value).encode()


def json_digest(value: Any) -> str:
    """Return `sha256:` and the hex digits of SHA-256 over the RFC 8785 form of a JSON value."""
    return f"sha256:{hashlib.sha256(canonical_json(value)).hexdigest()}"


def _spell(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str):
        return _spell_text(value)
    if isinstance(value, int):
        if abs(value) > EXACT_INTEGERS:
            raise ValueError(f"{value!r:.40} is beyond 2^53: canonical JSON carries it as a string")
        return str(int(value))
    if isinstance(value, float):
        return _spell_number(value)
    if isinstance(value, Mapping):
        # UTF-16 code units in big-endian order sort as the RFC compares names.
        names = sorted(value, key=lambda name: _checked(name).encode("utf-16-be"))
        return "{" + ",".join(f"{_spell_text(name)}:{_spell(value[name])}" for name in names) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_spell, value)) + "]"
    raise ValueError(f"canonical JSON has no {type(value).__name__}")


def _spell_text(text: str) -> str:
    return json.dumps(_checked(text), ensure_ascii=False)


def _checked(text: Any) -> str:
    if not isinstance(text, str):
        raise ValueError(f"the key {text!r:.40} is no string")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError(f"{text!a:.40} holds a lone surrogate, which has no UTF-8")
    return text


def _spell_number(value: float) -> str:
    """Return a double as ECMAScript's Number::toString does (ECMA-262, 6.1.6.1.20)."""
    if not math.isfinite(value):
        raise ValueError(f"canonical JSON has no {value}")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    digits, point = _shortest(abs(value))
    count = len(digits)
    if count <= point <= 21:
        return f"{sign}{digits}{'0' * (point - count)}"
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if count > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{point - 1:+d}"


def _shortest(value: float) -> tuple[str, int]:
    """Return the shortest digits that round-trip and where the point stands: 0.digits * 10^point.

    Python's repr gives the same digits as ECMAScript: the shortest, of those the nearest.
    """
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    return digits.rstrip("0"), point
