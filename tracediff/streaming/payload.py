"""The JSON inside an answer: parsed fast, and without losing what only Python's strings can hold.

Knows JSON only. Must not know APIs.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

import orjson

from tracediff.events.canonical_json import canonical_json


class NoJson(ValueError):
    """Bytes that are no JSON document."""


_TEXTS: Final = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)


def parse_payload(content: bytes | str) -> Any:
    """Return the value of one JSON document; lone surrogates in escapes are kept.

    Bytes that are no UTF-8 become lone surrogates too, one each (PEP 383): `find_invalid` tells
    them apart. Raises NoJson for anything else, also for nesting too deep to be read.
    """
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        pass
    text = content.decode(errors="surrogateescape") if isinstance(content, bytes) else content
    try:
        # It alone takes half a surrogate pair, which servers send when they cut by UTF-16 units.
        return json.loads(text)
    except (ValueError, RecursionError):
        raise NoJson("the data is no JSON document") from None


def find_invalid(content: bytes) -> bytes:
    """Return the texts of a JSON document that are no UTF-8, as they stand there, b"" for none.

    Where bytes outside of texts are invalid, the whole document is returned.
    """
    if _is_valid(content):
        return b""
    return b"".join(text for text in _TEXTS.findall(content) if not _is_valid(text)) or content


def _is_valid(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def spell_json(value: Any) -> str:
    """Return one spelling of a JSON value: RFC 8785 where that has one, else Python's own."""
    try:
        return canonical_json(value).decode()
    except (ValueError, RecursionError):
        pass
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return repr(type(value))


def join_halves(text: str) -> str:
    """Return `text` with surrogate pairs whose halves came apart as the characters they are."""
    if text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
