"""The order in which a line writes its keys: that of `trace.schema.json`.

Knows the records with fixed keys; a test holds the tables equal to the schema file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from operator import is_
from types import MappingProxyType
from typing import Any

from tracediff.events.event import PRIVATE_PREFIX, SECTIONS
from tracediff.events.validity import InvalidField, check_payload

_Arrange = Callable[[Any], Any]
_Entry = tuple[str, _Arrange]

_TRACE_KEYS = (
    "format",
    "kind",
    "fixture",
    "overrides",
    "injection",
    "kernel",
    "tensors",
    "tolerances",
)
_TOLERANCE_KEYS = ("match", "mode", "rtol", "atol", "ulps", "rel_l2")
_DRAWS_KEYS = ("count", "shape")
_RNG_KEYS = (
    "generator",
    "algorithm",
    "key",
    "counter_before",
    "counter_after",
    "draws",
    "transform",
)
_STATS_KEYS = (
    "finite",
    "nan",
    "pos_inf",
    "neg_inf",
    "neg_zero",
    "nonfinite",
    "min",
    "max",
    "mean",
    "l2",
)
_TENSOR_KEYS = (
    "name",
    "dtype",
    "shape",
    "logical",
    "digest",
    "stats",
    "sketch",
    "values",
    "file",
)


class _UnknownKey(InvalidField):
    """A key that has no place in the order."""


def order_payload(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return `payload` with its sections, and the keys of records in them, in the schema's order.

    Private keys follow the known ones in the order they have; free objects stay as they are.
    Raises InvalidField for an unknown key.
    """
    found = payload if type(payload) is dict else dict(payload)
    try:
        ordered: dict[str, Any] = _PAYLOAD(found)
    except _UnknownKey:
        check_payload(found)  # raises, naming the path
        raise
    return ordered


def _record(
    order: tuple[str, ...], inner: Mapping[str, _Arrange] = MappingProxyType({})
) -> _Arrange:
    """Return a function that puts the keys of a record, and of the records in it, in order."""

    @lru_cache(maxsize=256)
    def plan(keys: tuple[Any, ...]) -> tuple[tuple[str, ...] | None, tuple[_Entry, ...]]:
        """Return `keys` in order, or None if they are, and the records in it to arrange."""
        private = [key for key in keys if str(key).startswith(PRIVATE_PREFIX)]
        arranged = (*(key for key in order if key in keys), *private)
        if len(arranged) != len(keys):
            unknown = next(key for key in keys if key not in arranged)
            raise _UnknownKey(str(unknown), f"unknown key; known are {', '.join(order)}")
        entries = tuple((key, inner[key]) for key in arranged if key in inner)
        return None if arranged == keys else arranged, entries

    def arrange(found: Any) -> Any:
        if type(found) is not dict:
            return found  # refused when it is written
        arranged, entries = plan(tuple(found))
        if arranged is not None:
            found = {key: found[key] for key in arranged}
        for key, arrange_inner in entries:
            item = arrange_inner(found[key])
            if item is not found[key]:
                found = {**found, key: item}
        return found

    return arrange


def _list_of(arrange: _Arrange) -> _Arrange:
    def arrange_all(found: Any) -> Any:
        if type(found) is not list:
            return found
        items = [arrange(item) for item in found]
        return found if all(map(is_, items, found)) else items

    return arrange_all


_tensors = _list_of(_record(_TENSOR_KEYS, {"stats": _record(_STATS_KEYS)}))
_PAYLOAD = _record(
    SECTIONS,
    {
        "trace": _record(_TRACE_KEYS, {"tolerances": _list_of(_record(_TOLERANCE_KEYS))}),
        "inputs": _tensors,
        "rng": _list_of(_record(_RNG_KEYS, {"draws": _record(_DRAWS_KEYS)})),
        "outputs": _tensors,
    },
)
