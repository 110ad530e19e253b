"""The tables of key order are those of the schema file."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import pytest

from tracediff.events.event import ENVELOPE, SECTIONS
from tracediff.storage import key_order

SCHEMA = json.loads(files("tracediff.events").joinpath("trace.schema.json").read_text("utf-8"))
DEFINITIONS = SCHEMA["$defs"]


@pytest.mark.parametrize(
    ("keys", "record"),
    [
        pytest.param(ENVELOPE, SCHEMA, id="envelope"),
        pytest.param(SECTIONS, SCHEMA["properties"]["payload"], id="payload"),
        pytest.param(key_order._TRACE_KEYS, DEFINITIONS["trace"], id="trace"),
        pytest.param(key_order._TOLERANCE_KEYS, DEFINITIONS["tolerance"], id="tolerance"),
        pytest.param(key_order._RNG_KEYS, DEFINITIONS["rng"], id="rng"),
        pytest.param(key_order._DRAWS_KEYS, DEFINITIONS["rng"]["properties"]["draws"], id="draws"),
        pytest.param(key_order._TENSOR_KEYS, DEFINITIONS["tensor"], id="tensor"),
        pytest.param(key_order._STATS_KEYS, DEFINITIONS["stats"], id="stats"),
    ],
)
def test_the_order_is_the_schema_files(keys: tuple[str, ...], record: dict[str, Any]) -> None:
    """The same keys, in the same order."""
    assert list(keys) == list(record["properties"])
