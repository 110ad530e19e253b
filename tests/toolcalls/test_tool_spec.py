"""Tools: which schemas are understood, and which are refused before a model sees them."""

from typing import Any

import pytest
from toolcalls.calendar_tool import CAPABILITY, SPEC, calendar_tool

from tracediff.toolcalls.rejection import Rejection
from tracediff.toolcalls.tool_spec import DIALECT, ToolSpec, read_tool_spec

PATH = "$.input_schema"


def with_property(**schema: Any) -> dict[str, Any]:
    """Return the calendar's tool with one more property."""
    inner = SPEC["input_schema"]
    properties = {**inner["properties"], "extra": schema}
    return {**SPEC, "input_schema": {**inner, "properties": properties}}


def with_schema(**keywords: Any) -> dict[str, Any]:
    """Return the calendar's tool with other keywords in its schema."""
    return {**SPEC, "input_schema": {**SPEC["input_schema"], **keywords}}


def test_the_calendars_tool_is_understood() -> None:
    """The tool of the fixture is read with its identity and its capability."""
    spec = calendar_tool()
    assert spec.identity == "calendar.create_event@v1"
    assert spec.schema["$schema"] == DIALECT
    assert spec.required_capability({"calendar_id": "primary"}) == "calendar.write:primary"


REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "remote-reference": (
        with_property(**{"$ref": "https://example.com/schema.json"}),
        "reference",
        f"{PATH}.properties.extra.$ref",
    ),
    "reference-to-a-file": (
        with_property(**{"$ref": "file:///etc/passwd"}),
        "reference",
        f"{PATH}.properties.extra.$ref",
    ),
    "local-reference": (
        with_schema(**{"$ref": "#/properties/title"}),
        "reference",
        f"{PATH}.$ref",
    ),
    "reference-in-items": (
        with_property(type="array", items={"$ref": "#"}),
        "reference",
        f"{PATH}.properties.extra.items.$ref",
    ),
    "pattern-that-looks-around": (
        with_property(type="string", pattern="(?=x)"),
        "pattern",
        f"{PATH}.properties.extra.pattern",
    ),
    "pattern-too-large": (
        with_property(type="string", pattern="(a{1000}){1000}"),
        "pattern",
        f"{PATH}.properties.extra.pattern",
    ),
    "format-nobody-checks": (
        with_property(type="string", format="uri"),
        "unsupported-value",
        f"{PATH}.properties.extra.format",
    ),
    "unknown-keyword": (with_schema(anyOf=[]), "unknown-keyword", f"{PATH}.anyOf"),
    "misspelt-keyword": (with_schema(require=[]), "unknown-keyword", f"{PATH}.require"),
    "other-dialect": (
        with_schema(**{"$schema": "http://json-schema.org/draft-07/schema#"}),
        "unsupported-value",
        f"{PATH}.$schema",
    ),
    "schema-true": (with_schema(properties={"a": True}), "shape", f"{PATH}.properties.a"),
    "no-object": (with_schema(type="string"), "shape", f"{PATH}.type"),
    "optional-scope": (with_schema(required=["title"]), "shape", f"{PATH}.required"),
    "unknown-side-effect": ({**SPEC, "side_effect_class": "maybe"}, "shape", "$.side_effect_class"),
    "no-name": ({**SPEC, "name": ""}, "shape", "$.name"),
    "no-schema": ({**SPEC, "input_schema": None}, "shape", PATH),
}


@pytest.mark.parametrize(("found", "reason", "path"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(found: dict[str, Any], reason: str, path: str) -> None:
    """What mask, validator and person might read differently is refused, with its path."""
    rejection = read_tool_spec(found, CAPABILITY)
    assert isinstance(rejection, Rejection)
    assert (rejection.reason, rejection.evidence) == (reason, {"path": path})


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reference to another host is refused without a connection."""

    def refuse(*arguments: object) -> None:
        raise AssertionError(f"a connection was opened: {arguments}")

    monkeypatch.setattr("socket.socket.connect", refuse)
    found = read_tool_spec(with_property(**{"$ref": "http://127.0.0.1:9/x"}), CAPABILITY)
    assert isinstance(found, Rejection)


def test_deep_schemas_are_refused() -> None:
    """Nesting is bounded before anything recursive meets it."""
    deep: dict[str, Any] = {"type": "null"}
    for _ in range(30):
        deep = {"type": "object", "properties": {"a": deep}}
    found = read_tool_spec(with_property(**deep), CAPABILITY)
    assert isinstance(found, Rejection)
    assert found.reason == "too-deep"


def test_annotations_are_understood() -> None:
    """Keywords that assert nothing are allowed anywhere."""
    found = with_property(type="string", title="t", description="d", examples=["x"], default="x")
    assert isinstance(read_tool_spec(found, CAPABILITY), ToolSpec)
