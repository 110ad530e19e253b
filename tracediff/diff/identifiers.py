"""Follows local identifiers through two traces: equal up to one consistent one-to-one renaming.

Knows the `ids` section only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracediff.diff.fields import FieldComparer, same_scalar
from tracediff.diff.result import FieldDifference

FIELD = "payload.ids"


class IdRenaming:
    """The renaming found so far; `renamed` counts ids that are spelled differently."""

    def __init__(self) -> None:
        self._to_right: dict[tuple[type, Any], Any] = {}
        self._to_left: dict[tuple[type, Any], Any] = {}

    @property
    def renamed(self) -> int:
        """How many ids of left have another spelling on the right."""
        return sum(not same_scalar(key[1], value) for key, value in self._to_right.items())

    def follow(self, left: Mapping[str, Any], right: Mapping[str, Any]) -> FieldDifference | None:
        """Bind the ids of two corresponding events; return the first that contradicts."""
        for key in dict.fromkeys((*left, *right)):
            path = f"{FIELD}.{key}"
            mine, other = _as_list(left.get(key)), _as_list(right.get(key))
            if len(mine) != len(other):
                return FieldComparer().first(left.get(key), right.get(key), path)
            for x, y in zip(mine, other, strict=True):
                if not self._bind(x, y):
                    return FieldDifference(path, x, y)
        return None

    def _bind(self, mine: Any, other: Any) -> bool:
        known = self._to_right.setdefault((type(mine), mine), other)
        back = self._to_left.setdefault((type(other), other), mine)
        return same_scalar(known, other) and same_scalar(back, mine)


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
