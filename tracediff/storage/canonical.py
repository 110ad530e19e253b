"""Canonical JSON: the one way in which a value of the project is written.

Knows when orjson's output can be trusted; where it cannot, `spelling` writes. Must not know files.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from tracediff.events.event import Event
from tracediff.storage.exact_json import MAX_DEPTH, parse_json
from tracediff.storage.key_order import order_payload
from tracediff.storage.spelling import spell

DOCUMENT_DEPTH: Final = 250
"""Levels of lists and objects of JSON that is no line (orjson's own bound is 254)."""

_OPTIONS = orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_PASSTHROUGH_DATACLASS
_OPTIONS |= orjson.OPT_PASSTHROUGH_DATETIME
_LINE_OPTIONS = _OPTIONS | orjson.OPT_APPEND_NEWLINE
_SPELLS_PLUS = orjson.dumps(1e16) == b"1e+16"  # versions differ in this one spelling


def encode_event(event: Event) -> bytes:
    """Return the canonical line of `event`, line feed included.

    Keys stand in the schema's order, private ones after them, and free objects keep the order
    they have. Raises InvalidField naming the field for what a line cannot hold: an unknown
    section, non-finite floats, integers beyond 64 bits, keys that are not strings, types that
    are not JSON's, nesting deeper than MAX_DEPTH. A lone surrogate is written as its escape.
    """
    line = {
        "trace_id": event.trace_id,
        "event_id": event.event_id,
        "parent_event_id": event.parent_event_id,
        "component": event.component,
        "event_type": event.event_type,
        "logical_step": event.logical_step,
        "payload": order_payload(event.payload),
    }
    encoded = _encode_fast(line, _LINE_OPTIONS)
    if encoded is None or encoded.count(b"{") + encoded.count(b"[") > MAX_DEPTH:
        return spell(line, depth=MAX_DEPTH) + b"\n"
    return encoded


def encode_json(value: Any, *, indent: bool = False) -> bytes:
    """Return `value` as canonical JSON, without a final line feed; `indent` is for people.

    Objects keep their key order. Raises InvalidField as `encode_event` does.
    """
    encoded = _encode_fast(value, _OPTIONS | orjson.OPT_INDENT_2 if indent else _OPTIONS)
    return spell(value, depth=DOCUMENT_DEPTH, indent=indent) if encoded is None else encoded


def decode_json(content: bytes) -> Any:
    """Return the value of a JSON document, exactly; errors as those of `exact_json.parse_json`."""
    return parse_json(content)


def _encode_fast(value: Any, options: int) -> bytes | None:
    """Return orjson's output where it is canonical and says what `value` says, else None.

    orjson writes NaN as null, and tuples, UUIDs and enumerations as if they were JSON's: output
    that does not read back as the same value is not used.
    """
    try:
        encoded = orjson.dumps(value, option=options)
        if orjson.loads(encoded) != value:
            return None
    except (orjson.JSONEncodeError, orjson.JSONDecodeError):
        return None
    if not _SPELLS_PLUS and b"e" in encoded:
        return None
    return encoded
