"""A tool as it is offered to a model, checked before anything relies on it.

Knows which schema keywords are understood: the model's grammar, the validator and the person who
confirms must all mean the same by a schema, so what one of them would pass over is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from tracediff.events.canonical_json import json_digest
from tracediff.toolcalls.pattern import UnsupportedPattern, compile_pattern
from tracediff.toolcalls.rejection import Rejection

DIALECT = "https://json-schema.org/draft/2020-12/schema"
FORMATS = ("date",)
"""Formats that are asserted; others would be promises that nobody keeps."""

ANNOTATIONS = frozenset({"$schema", "title", "description", "default", "examples", "deprecated"})
ASSERTIONS = frozenset(
    {
        *("type", "properties", "required", "additionalProperties", "items"),
        *("enum", "const", "format", "pattern", "minLength", "maxLength"),
        *("minItems", "maxItems"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    }
)
SIDE_EFFECTS = ("read", "write")
DEEPEST = 16


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A checked tool: name, version, what it does to the world, and its arguments' schema.

    `capability_resource` and `scope_argument` say what a caller must hold: RESOURCE.EFFECT:SCOPE,
    the scope being the value of an argument.
    """

    name: str
    version: str
    side_effect: str
    schema: Mapping[str, Any]
    capability_resource: str
    scope_argument: str

    @property
    def identity(self) -> str:
        """`NAME@VERSION`, which records and requests call the tool by."""
        return f"{self.name}@{self.version}"

    @property
    def schema_digest(self) -> str:
        """Digest of the schema's canonical form."""
        return json_digest(self.schema)

    def required_capability(self, arguments: Mapping[str, Any]) -> str:
        """Return the capability that a call with these arguments needs."""
        return f"{self.capability_resource}.{self.side_effect}:{arguments[self.scope_argument]}"


def read_tool_spec(found: Mapping[str, Any], capability: Mapping[str, Any]) -> ToolSpec | Rejection:
    """Return the tool of a definition's JSON, or the Rejection that names what is not understood.

    References are refused wherever they lead, so nothing is ever fetched.
    """
    rejection = next(_faults(found, capability), None)
    if rejection is not None:
        return rejection
    return ToolSpec(
        found["name"],
        found["version"],
        found["side_effect_class"],
        MappingProxyType(dict(found["input_schema"])),
        capability["resource"],
        capability["scope_argument"],
    )


def find_unsupported(schema: Any, path: str) -> Rejection | None:
    """Return what in a schema is not understood, None where everything is."""
    return next(_breaches(schema, path, 0), None)


def _faults(found: Mapping[str, Any], capability: Mapping[str, Any]) -> Iterator[Rejection]:
    for key in ("name", "version"):
        if not isinstance(found.get(key), str) or not found[key]:
            yield _refusal("shape", f"$.{key}", "a non-empty string is expected here")
    if found.get("side_effect_class") not in SIDE_EFFECTS:
        allowed = ", ".join(SIDE_EFFECTS)
        yield _refusal("shape", "$.side_effect_class", f"one of {allowed} is expected here")
    schema = found.get("input_schema")
    yield from _breaches(schema, "$.input_schema", 0)
    if isinstance(schema, Mapping):
        if schema.get("type") != "object":
            yield _refusal("shape", "$.input_schema.type", "arguments are an object")
        if capability["scope_argument"] not in schema.get("required", ()):
            scope = capability["scope_argument"]
            message = f"{scope} must be required: a capability is for its value"
            yield _refusal("shape", "$.input_schema.required", message)


def _breaches(schema: Any, path: str, depth: int) -> Iterator[Rejection]:
    if not isinstance(schema, Mapping):
        yield _refusal("shape", path, "a schema object is expected here")
        return
    if depth > DEEPEST:
        yield _refusal("too-deep", path, f"schemas nest at most {DEEPEST} deep")
        return
    for key, value in schema.items():
        where = f"{path}.{key}"
        if key in ("$ref", "$dynamicRef"):
            yield _refusal("reference", where, f"references are not followed, not to {value!r:.60}")
        elif key not in ANNOTATIONS | ASSERTIONS:
            yield _refusal("unknown-keyword", where, "this keyword is not understood")
        elif key in _CHECKS and not _CHECKS[key](value):
            yield _refusal("unsupported-value", where, f"{value!r:.60} is not understood")
        elif key == "pattern":
            yield from _pattern_breaches(value, where)
    if isinstance(schema.get("properties"), Mapping):
        for name, inner in schema["properties"].items():
            yield from _breaches(inner, f"{path}.properties.{name}", depth + 1)
    if "items" in schema:
        yield from _breaches(schema["items"], f"{path}.items", depth + 1)


def _pattern_breaches(pattern: str, path: str) -> Iterator[Rejection]:
    try:
        compile_pattern(pattern)
    except UnsupportedPattern as error:
        yield _refusal("pattern", path, str(error))


def _refusal(reason: str, path: str, message: str) -> Rejection:
    return Rejection(reason, f"{path}: {message}", {"path": path})


_CHECKS: Mapping[str, Callable[[Any], bool]] = MappingProxyType(
    {
        "$schema": lambda value: value == DIALECT,
        "format": lambda value: value in FORMATS,
        "pattern": lambda value: isinstance(value, str),
        "properties": lambda value: isinstance(value, Mapping),
        "additionalProperties": lambda value: isinstance(value, bool),
    }
)
