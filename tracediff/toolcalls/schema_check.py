"""Checks arguments against a tool's schema: JSON Schema Draft 2020-12, formats asserted.

The only module here that knows `jsonschema`. Must not know what the arguments mean.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.validators import extend
from referencing import Registry

from tracediff.toolcalls.pattern import compile_pattern
from tracediff.toolcalls.rejection import Rejection
from tracediff.toolcalls.tool_spec import FORMATS, ToolSpec

DRAFT = "Draft 2020-12"


@dataclass(frozen=True, slots=True, order=True)
class Breach:
    """One keyword that does not hold: where, which, and the properties or bound it is about."""

    path: str
    keyword: str
    detail: str


def check_schema(spec: ToolSpec) -> Rejection | None:
    """Return why a tool's schema is no valid schema, None if it is one."""
    try:
        Draft202012Validator.check_schema(dict(spec.schema))
    except SchemaError as error:
        path = f"$.input_schema{_path(error)[1:]}"
        return Rejection("invalid-schema", f"{path}: no valid {DRAFT} schema", {"path": path})
    return None


def find_breaches(spec: ToolSpec, arguments: Any) -> list[Breach]:
    """Return every breach of the tool's schema, in a fixed order; none if the arguments fit.

    Patterns are matched in linear time (see `pattern`); numbers are JSON's, so 10.0 is an integer.
    """
    registry: Registry[Any] = Registry()  # knows no way to fetch anything
    validator = _VALIDATOR(dict(spec.schema), registry=registry, format_checker=_FORMATS)
    found = {_breach(error) for error in validator.iter_errors(arguments)}
    return sorted(found)


def _check_pattern(
    validator: Any, pattern: str, instance: Any, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not compile_pattern(pattern).matches(instance):
        yield ValidationError(f"{instance!r:.60} does not match {pattern!r}")


_FORMATS = FormatChecker(formats=FORMATS)
_VALIDATOR: Any = extend(Draft202012Validator, {"pattern": _check_pattern})  # type: ignore[no-untyped-call]


def _breach(error: ValidationError) -> Breach:
    """Return an error in words of this project: those of jsonschema change with its versions."""
    keyword = str(error.validator)
    instance: Any = error.instance
    schema: Any = error.schema
    if keyword == "additionalProperties":
        detail = ", ".join(sorted(set(instance) - set(schema.get("properties", {}))))
    elif keyword == "required":
        detail = ", ".join(name for name in schema["required"] if name not in instance)
    else:
        detail = json.dumps(error.validator_value, ensure_ascii=False)
    return Breach(_path(error), keyword, detail)


def _path(error: ValidationError | SchemaError) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
    return "$" + "".join(parts)
