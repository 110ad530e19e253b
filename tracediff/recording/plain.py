"""Turn what a recorder is handed into plain JSON values, losing nothing.

Knows Python and numpy scalars; must not know events or files.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

import numpy as np

from tracediff.errors import UsageError
from tracediff.events.element_types import ELEMENT_TYPES
from tracediff.events.text import text_to_json
from tracediff.recording.decimals import print_numbers

JSON_INTEGER_LIMIT = 2**64
"""Integers of this size and more travel as decimal strings."""

MOST_LEVELS = 60
"""Lists and objects inside each other in one section; a line of a trace holds a few more."""


def plain_json(value: Any, field: str, levels: int = MOST_LEVELS) -> Any:
    """Return `value` as dict, list, str, int, float, bool or None.

    Tuples and arrays become lists; NaN and the infinities become the strings "NaN", "Infinity",
    "-Infinity"; integers beyond 64 bits become decimal strings; bytes and text that is not valid
    Unicode become {"b64": …}; numpy scalars become the Python number with the shortest decimal
    form that round-trips in their own type (float32 4.2 stays 4.2). Anything else, and nesting
    deeper than `levels`, raises UsageError naming `field`.
    """
    kind = type(value)
    is_usual_integer = kind is int and -(2**63) <= value < JSON_INTEGER_LIMIT
    if is_usual_integer or (kind is str and value.isascii()):
        return value
    if levels < 0:
        raise UsageError(f"{field[:80]}…: nested more than {MOST_LEVELS} levels deep")
    if kind is dict:
        return _plain_object(value, field, levels - 1)
    if value is None or kind is bool:
        return value
    if isinstance(value, Enum):
        return plain_json(value.value, field, levels)
    if isinstance(value, str | bytes):
        return text_to_json(value)
    if isinstance(value, int):
        return int(value) if -(2**63) <= value < JSON_INTEGER_LIMIT else str(int(value))
    if kind is float:
        return _plain_float(value)
    if isinstance(value, Mapping):
        return _plain_object(value, field, levels - 1)
    if isinstance(value, Sequence):
        return [
            plain_json(item, f"{field}[{index}]", levels - 1) for index, item in enumerate(value)
        ]
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return _plain_array(value, field)
    raise UsageError(
        f"{field}: cannot record a {type(value).__name__}; allowed are None, bool, int, float, "
        "str, bytes, lists, dicts with string keys, and numpy arrays and scalars"
    )


def _plain_float(value: float) -> float | str:
    if math.isfinite(value):
        return value
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _plain_object(value: Mapping[Any, Any], field: str, levels: int) -> dict[str, Any]:
    found = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise UsageError(f"{field}: the key {key!r} is no string")
        key = str.__str__(key)  # noqa: PLW2901 - of a subclass (StrEnum, numpy.str_) the string
        kind = type(item)
        if kind is int and -(2**63) <= item < JSON_INTEGER_LIMIT:
            found[key] = item  # the usual values first: spelling out the field takes longer
        elif kind is str and item.isascii():
            found[key] = item
        else:
            found[key] = plain_json(item, f"{field}.{key}", levels)
    return found


def _plain_array(value: Any, field: str) -> Any:
    kind = value.dtype.kind
    if kind == "f" and value.dtype.itemsize < 8:
        value = np.asarray(value)
        numbers = print_numbers(ELEMENT_TYPES[value.dtype.name], value.reshape(-1))
        return np.array(numbers, dtype=object).reshape(value.shape).tolist()
    if kind not in "fiub" or value.dtype.itemsize > 8:  # numpy's long doubles are no JSON numbers
        raise UsageError(f"{field}: cannot record an array of {value.dtype} as plain JSON")
    return plain_json(value.tolist(), field)
