"""Compares JSON values exactly: types, integers as integers, and where they first part.

Knows JSON values. Must not know tensors. The one exception to exactness is a list called `top` of
a choice, which holds [id, value] pairs: ids are exact, values are measured numbers and go by a
tolerance, and where values tie the order of the ids means nothing. A list of that name anywhere
else, such as an argument of a module or of a tool, is compared like all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tracediff.diff.result import MISSING, FieldDifference

TOP = "top"

Close = Callable[[float, float], bool]


def same_scalar(left: Any, right: Any) -> bool:
    """Whether two values are the same scalar of the same type (signed zeros told apart)."""
    if type(left) is not type(right):
        return False
    if type(left) is float and left == 0.0 == right:
        return str(left) == str(right)
    return bool(left == right)


class FieldComparer:
    """Finds where two JSON values differ; `close` decides the measured values of `top` lists.

    `absorbed` counts the measured values that differed and were close.
    """

    def __init__(self, close: Close = same_scalar) -> None:
        self._close = close
        self.absorbed = 0

    def first(
        self, left: Any, right: Any, field: str, *, is_choice: bool = False
    ) -> FieldDifference | None:
        """Return the first differing field in left's order, or None where the values are equal.

        Numbers are equal if they are the same number of the same type: 1, 1.0 and true all
        differ, and so do 0.0 and -0.0. Objects are equal whatever their key order. A choice, and
        each object of a list in it (a step of many), may have a `top` list.
        """
        if left == right and repr(left) == repr(right):
            return None  # the usual case; equality alone does not tell 1 from 1.0
        return next(self._differences(left, right, field, is_choice), None)

    def each_entry(
        self, left: Mapping[str, Any], right: Mapping[str, Any], field: str
    ) -> list[FieldDifference]:
        """Return the first difference of every entry of two objects, in left's order.

        Where an entry is an object on both sides, each differing entry of that is one of its own.
        """
        found = []
        for key in dict.fromkeys((*left, *right)):
            mine, other = left.get(key, MISSING), right.get(key, MISSING)
            if isinstance(mine, Mapping) and isinstance(other, Mapping):
                found += self.each_entry(mine, other, f"{field}.{key}")
                continue
            difference = next(self._differences(mine, other, f"{field}.{key}", False), None)
            if difference is not None:
                found.append(difference)
        return found

    def _differences(
        self, left: Any, right: Any, field: str, is_choice: bool
    ) -> Iterator[FieldDifference]:
        if isinstance(left, Mapping) and isinstance(right, Mapping):
            for key in dict.fromkeys((*left, *right)):
                yield from self._entry(left, right, key, field, is_choice)
        elif isinstance(left, list) and isinstance(right, list):
            yield from self._lists(left, right, field, is_choice)
        elif not same_scalar(left, right):
            yield FieldDifference(field, left, right)

    def _entry(
        self,
        left: Mapping[str, Any],
        right: Mapping[str, Any],
        key: str,
        field: str,
        is_choice: bool,
    ) -> Iterator[FieldDifference]:
        path = f"{field}.{key}"
        mine, other = left.get(key, MISSING), right.get(key, MISSING)
        if is_choice and key == TOP and _is_top(mine) and _is_top(other):
            yield from self._tops(mine, other, path)
        else:
            has_choices = is_choice and isinstance(mine, list)
            yield from self._differences(mine, other, path, has_choices)

    def _lists(
        self, left: Sequence[Any], right: Sequence[Any], field: str, is_choice: bool
    ) -> Iterator[FieldDifference]:
        shared = min(len(left), len(right))
        for index in range(shared):
            yield from self._differences(left[index], right[index], f"{field}[{index}]", is_choice)
        if len(left) > shared:
            yield FieldDifference(f"{field}[{shared}]", left[shared], MISSING)
        elif len(right) > shared:
            yield FieldDifference(f"{field}[{shared}]", MISSING, right[shared])

    def _tops(
        self, left: Sequence[Any], right: Sequence[Any], field: str
    ) -> Iterator[FieldDifference]:
        mine, other = self._sorted_ties(left), self._sorted_ties(right)
        for index, (pair, counterpart) in enumerate(zip(mine, other, strict=False)):
            path = f"{field}[{index}]"
            if not same_scalar(pair[0], counterpart[0]):
                yield FieldDifference(f"{path}[0]", pair[0], counterpart[0])
            elif not self._same_value(pair[1], counterpart[1]):
                yield FieldDifference(f"{path}[1]", pair[1], counterpart[1])
        if len(mine) != len(other):
            yield from self._lists(mine, other, field, False)

    def _sorted_ties(self, top: Sequence[Any]) -> list[Any]:
        """Sort runs of tying values by id."""
        groups: list[list[Any]] = []
        for pair in top:
            if groups and self._ties(groups[-1][0][1], pair[1]):
                groups[-1].append(pair)
            else:
                groups.append([pair])
        return [pair for group in groups for pair in sorted(group, key=lambda p: str(p[0]))]

    def _same_value(self, left: Any, right: Any) -> bool:
        if same_scalar(left, right):
            return True
        close = self._ties(left, right)
        self.absorbed += close
        return close

    def _ties(self, left: Any, right: Any) -> bool:
        numbers = isinstance(left, int | float) and isinstance(right, int | float)
        return same_scalar(left, right) or (numbers and self._close(left, right))


def without_tops(choice: Any) -> Any:
    """Return a choice without its measured values: its `top` list, and those of its steps."""
    if isinstance(choice, list):
        return [without_tops(item) for item in choice]
    if not isinstance(choice, Mapping):
        return choice
    return {
        key: without_tops(value) if isinstance(value, list) else value
        for key, value in choice.items()
        if key != TOP or not _is_top(value)
    }


def _is_top(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(x, list) and len(x) == 2 for x in value)
