"""The packaged JSON Schema of a line, applied.

Knows how to ask `jsonschema`; the rules are in `tracediff/events/trace.schema.json`. References
are resolved within that file only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache
from importlib.resources import files
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.validators import extend
from referencing import Registry

from tracediff.errors import InvalidTrace, Place
from tracediff.events.trace import Trace

_LONGEST_MESSAGE = 200
_DEFINITIONS = "#/$defs/"
_EVERY_ITEM = Draft202012Validator.VALIDATORS["items"]


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


def _check_items(validator: Any, items: Any, instance: Any, schema: Any) -> Iterator[Any]:
    """Check the items of an array; of numbers whose value cannot matter, one of each type."""
    if items in _any_numbers() and isinstance(instance, list):
        kinds = {(type(item), item if type(item) is str else None): item for item in instance}
        if not any(_EVERY_ITEM(validator, items, list(kinds.values()), schema)):
            return
    yield from _EVERY_ITEM(validator, items, instance, schema)


@cache
def _schema() -> Any:
    text = files("tracediff.events").joinpath("trace.schema.json").read_text("utf-8")
    return json.loads(text)


@cache
def _any_numbers() -> Sequence[Any]:
    """Return the schemas of items that any number satisfies."""
    number = _schema()["$defs"]["number"]
    return number, {"anyOf": [number, {"type": "boolean"}]}


@cache
def _validator() -> Any:
    schema = _schema()
    empty: Registry[Any] = Registry()  # knows no way to fetch anything
    checker: Any = extend(Draft202012Validator, {"items": _check_items})  # type: ignore[no-untyped-call]
    return checker(_without_references(schema, schema["$defs"]), registry=empty)


def _without_references(part: Any, definitions: Mapping[str, Any]) -> Any:
    """Return a part of the schema with each definition in place of the reference to it.

    Looking up references takes most of the time otherwise. No definition leads to itself.
    """
    if isinstance(part, list):
        return [_without_references(item, definitions) for item in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return _without_references(
            definitions[part["$ref"].removeprefix(_DEFINITIONS)], definitions
        )
    return {key: _without_references(value, definitions) for key, value in part.items()}


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
