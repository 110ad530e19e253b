"""The validator: every keyword of the calendar's tool, with arguments that keep and break it."""

from typing import Any

import pytest
from toolcalls.calendar_tool import ARGUMENTS, CAPABILITY, SPEC, calendar_tool

from tracediff.toolcalls.rejection import Rejection
from tracediff.toolcalls.schema_check import Breach, check_schema, find_breaches
from tracediff.toolcalls.tool_spec import ToolSpec, read_tool_spec

LOCAL_TIME = '"^(?:[01][0-9]|2[0-3]):[0-5][0-9]$"'


def arguments(**changes: Any) -> dict[str, Any]:
    """Return fitting arguments with changes; None removes one."""
    found = {**ARGUMENTS, **changes}
    return {key: value for key, value in found.items() if value is not None}


KEEPS: dict[str, dict[str, Any]] = {
    "type-object": arguments(),
    "type-string": arguments(title="x"),
    "type-integer": arguments(duration_minutes=60),
    "type-integer-as-float": arguments(duration_minutes=60.0),
    "enum": arguments(calendar_id="primary"),
    "minLength": arguments(title="一"),
    "maxLength": arguments(title="护" * 80),
    "maxLength-in-characters": arguments(title="\U0001f600" * 80),
    "format-leap-day": arguments(local_date="2028-02-29"),
    "format-first-day": arguments(local_date="0001-01-01"),
    "pattern-first": arguments(local_time="00:00"),
    "pattern-last": arguments(local_time="23:59"),
    "minimum": arguments(duration_minutes=1),
    "maximum": arguments(duration_minutes=1440),
    "properties-in-another-order": dict(reversed(arguments().items())),
}


@pytest.mark.parametrize("found", KEEPS.values(), ids=KEEPS)
def test_fitting_arguments(found: dict[str, Any]) -> None:
    """Arguments that keep every keyword have no breach."""
    assert find_breaches(calendar_tool(), found) == []


BREAKS: dict[str, tuple[Any, Breach]] = {
    "type-object": ([], Breach("$", "type", '"object"')),
    "type-string": (arguments(title=7), Breach("$.title", "type", '"string"')),
    "type-integer": (
        arguments(duration_minutes=10.5),
        Breach("$.duration_minutes", "type", '"integer"'),
    ),
    "type-integer-is-no-boolean": (
        arguments(duration_minutes=True),
        Breach("$.duration_minutes", "type", '"integer"'),
    ),
    "type-integer-is-no-text": (
        arguments(duration_minutes="10"),
        Breach("$.duration_minutes", "type", '"integer"'),
    ),
    "enum": (arguments(calendar_id="work"), Breach("$.calendar_id", "enum", '["primary"]')),
    "minLength": (arguments(title=""), Breach("$.title", "minLength", "1")),
    "maxLength": (arguments(title="护" * 81), Breach("$.title", "maxLength", "80")),
    "format-no-such-day": (
        arguments(local_date="2026-02-30"),
        Breach("$.local_date", "format", '"date"'),
    ),
    "format-no-leap-year": (
        arguments(local_date="2027-02-29"),
        Breach("$.local_date", "format", '"date"'),
    ),
    "format-basic": (arguments(local_date="20260720"), Breach("$.local_date", "format", '"date"')),
    "format-week": (arguments(local_date="2026-W30-1"), Breach("$.local_date", "format", '"date"')),
    "format-with-time": (
        arguments(local_date="2026-07-20T09:00"),
        Breach("$.local_date", "format", '"date"'),
    ),
    "format-other-digits": (
        arguments(local_date="２０２６-07-20"),
        Breach("$.local_date", "format", '"date"'),
    ),
    "pattern": (arguments(local_time="24:00"), Breach("$.local_time", "pattern", LOCAL_TIME)),
    "pattern-line-feed": (
        arguments(local_time="09:00\n"),
        Breach("$.local_time", "pattern", LOCAL_TIME),
    ),
    "minimum": (arguments(duration_minutes=0), Breach("$.duration_minutes", "minimum", "1")),
    "maximum": (arguments(duration_minutes=1441), Breach("$.duration_minutes", "maximum", "1440")),
    "required": (arguments(title=None), Breach("$", "required", "title")),
    "additionalProperties": (
        arguments(notify_all=True),
        Breach("$", "additionalProperties", "notify_all"),
    ),
}


@pytest.mark.parametrize(("found", "breach"), BREAKS.values(), ids=BREAKS)
def test_breaking_arguments(found: Any, breach: Breach) -> None:
    """Arguments that break one keyword have one breach, with its path and what it is about."""
    assert find_breaches(calendar_tool(), found) == [breach]


def test_every_keyword_of_the_tool_has_both() -> None:
    """No keyword that the tool's schema uses is without a keeping and a breaking row."""

    def keywords(schema: dict[str, Any]) -> set[str]:
        inner = [keywords(found) for found in schema.get("properties", {}).values()]
        return set(schema).union(*inner)

    asserted = keywords(SPEC["input_schema"]) - {"$schema", "properties"}
    assert {breach.keyword for _, breach in BREAKS.values()} == asserted
    kept = {name.partition("-")[0] for name in KEEPS}
    assert asserted - {"required", "additionalProperties"} <= kept


def test_all_breaches_are_told_in_a_fixed_order() -> None:
    """Several breaches come sorted by path and keyword, with all the names."""
    found = arguments(title="", duration_minutes=0, local_date=None, local_time=None, b=1, a=1)
    assert find_breaches(calendar_tool(), found) == [
        Breach("$", "additionalProperties", "a, b"),
        Breach("$", "required", "local_date, local_time"),
        Breach("$.duration_minutes", "minimum", "1"),
        Breach("$.title", "minLength", "1"),
    ]


def test_a_schema_that_is_none_is_refused() -> None:
    """Keywords with impossible values are no schema."""
    properties = {**SPEC["input_schema"]["properties"], "x": {"type": "string", "minLength": -1}}
    found = {**SPEC, "input_schema": {**SPEC["input_schema"], "properties": properties}}
    spec = read_tool_spec(found, CAPABILITY)
    assert isinstance(spec, ToolSpec)
    rejection = check_schema(spec)
    assert isinstance(rejection, Rejection)
    assert rejection.evidence == {"path": "$.input_schema.properties.x.minLength"}
