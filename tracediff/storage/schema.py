"""The packaged JSON Schema of a line, applied.

Knows how to ask `jsonschema`; the rules are in `tracediff/events/trace.schema.json`. References
are resolved within that file only.
"""

from __future__ import annotations

import json
from dataclasses import fields
from functools import cache
from importlib.resources import files
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry

from tracediff.errors import InvalidTrace, Place
from tracediff.events.trace import Trace

_LONGEST_MESSAGE = 200


def schema_errors(parsed_line: Any) -> list[tuple[str, str]]:
    """Return each breach of the schema as field path and message, in the order of the paths."""
    found = [
        (_show_path(error.absolute_path), _shorten(error.message))
        for error in _validator().iter_errors(parsed_line)
    ]
    return sorted(found)


def check_schema(trace: Trace) -> None:
    """Raise InvalidTrace for the first event that breaks the schema."""
    for event in trace.events:
        line = {field.name: getattr(event, field.name) for field in fields(event)}
        for path, message in schema_errors(line):
            raise InvalidTrace(Place(trace.name, event_id=event.event_id, field=path), message)


@cache
def _validator() -> Draft202012Validator:
    text = files("tracediff.events").joinpath("trace.schema.json").read_text("utf-8")
    empty: Registry[Any] = Registry()  # knows no way to fetch anything
    return Draft202012Validator(json.loads(text), registry=empty)


def _show_path(path: Any) -> str:
    shown = ""
    for part in path:
        shown += f"[{part}]" if isinstance(part, int) else f".{part}"
    return shown.removeprefix(".") or "line"


def _shorten(message: str) -> str:
    if len(message) <= _LONGEST_MESSAGE:
        return message
    half = _LONGEST_MESSAGE // 2
    return f"{message[:half]} … {message[-half:]}"  # the end says what was expected
