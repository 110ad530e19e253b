"""How one server-sent event is written.

Source: HTML Living Standard, 9.2.5 Parsing an event stream. Knows bytes only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def encode_event(data: Mapping[str, Any] | str, name: str | None = None) -> bytes:
    """Return one event; JSON has no line ends, so one `data` line is enough."""
    text = data if isinstance(data, str) else encode_document(data)
    head = "" if name is None else f"event: {name}\n"
    return f"{head}data: {text}\n\n".encode()


def encode_document(document: Mapping[str, Any]) -> str:
    """Return compact JSON; lone surrogates, which have no UTF-8, are escaped."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(document, allow_nan=False, separators=(",", ":"))
    return text


def split_inside_a_character(content: bytes) -> tuple[bytes, bytes]:
    """Return content in two parts, cut after the first byte of a character of several bytes."""
    place = next((index + 1 for index, byte in enumerate(content) if byte >= 0xC0), None)
    if place is None:
        place = len(content) // 2
    return content[:place], content[place:]
