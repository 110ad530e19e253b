"""The calendar's tool as the fixture defines it, and arguments that fit it."""

from types import MappingProxyType
from typing import Any

from tracediff.toolcalls.schema_check import check_schema
from tracediff.toolcalls.tool_spec import ToolSpec, read_tool_spec
from tracediff.workloads.definitions import data_folder, read_definition

TOOL = read_definition(data_folder("fixtures") / "tool-001").content["tool"]
SPEC: dict[str, Any] = TOOL["spec"]
CAPABILITY: dict[str, Any] = TOOL["capability"]

ARGUMENTS = MappingProxyType(
    {
        "calendar_id": "primary",
        "title": "带护照",
        "local_date": "2026-07-20",
        "local_time": "09:00",
        "duration_minutes": 10,
    }
)
NORMALIZED = MappingProxyType(
    {
        "calendar_id": "primary",
        "title": "带护照",
        "start": "2026-07-20T09:00:00+08:00",
        "duration_minutes": 10,
    }
)


def calendar_tool() -> ToolSpec:
    """Return the fixture's tool, checked."""
    spec = read_tool_spec(SPEC, CAPABILITY)
    assert isinstance(spec, ToolSpec)
    assert check_schema(spec) is None
    return spec
