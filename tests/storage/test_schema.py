"""The packaged schema, applied."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tracediff.storage.schema import schema_errors


def test_the_schema_is_one() -> None:
    """The file is a valid schema of the draft it names, and refers to nothing outside itself."""
    text = files("tracediff.events").joinpath("trace.schema.json").read_text("utf-8")
    schema = json.loads(text)
    assert schema["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    Draft202012Validator.check_schema(schema)
    references = [part.split('"')[1] for part in text.split('"$ref":')[1:]]
    assert references
    assert all(reference.startswith("#/$defs/") for reference in references)


def test_what_is_written_passes(lines: Sequence[bytes]) -> None:
    """The lines of a whole trace keep the schema."""
    assert [schema_errors(json.loads(line)) for line in lines] == [[]] * len(lines)


def set_dtype(line: dict[str, Any]) -> None:
    line["payload"]["outputs"][0]["dtype"] = 5


def remove_digest(line: dict[str, Any]) -> None:
    del line["payload"]["outputs"][0]["digest"]


def add_section(line: dict[str, Any]) -> None:
    line["payload"]["output"] = ["x" * 1000]


def break_two(line: dict[str, Any]) -> None:
    line["logical_step"] = -1
    line["component"] = ""


@pytest.mark.parametrize(
    ("change", "paths", "message"),
    [
        pytest.param(set_dtype, ["payload.outputs[0].dtype"], "5 is not of type", id="type"),
        pytest.param(remove_digest, ["payload.outputs[0]"], "'digest' is a required", id="missing"),
        pytest.param(add_section, ["payload"], "'output'", id="unknown section"),
        pytest.param(break_two, ["component", "logical_step"], "", id="two breaches"),
    ],
)
def test_each_breach_has_a_path_and_a_message(
    lines: Sequence[bytes],
    change: Callable[[dict[str, Any]], None],
    paths: list[str],
    message: str,
) -> None:
    """The path leads to the part that breaks the rule; the message says which."""
    line = json.loads(lines[1])
    change(line)
    found = schema_errors(line)
    assert [path for path, _ in found] == paths
    assert message in found[0][1]
    assert all(len(text) < 300 for _, text in found)


def test_a_line_that_is_no_object_breaks_the_schema() -> None:
    """Its path is the line itself."""
    assert [path for path, _ in schema_errors([])] == ["line"]
