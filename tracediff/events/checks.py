"""Checks of parsed JSON: of single values, and the ones that put them together.

Knows JSON types and paths; which field holds what is `validity`'s matter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tracediff.events.event import PRIVATE_PREFIX

NON_FINITE = frozenset({"NaN", "Infinity", "-Infinity"})

Check = Callable[[Any], None]
"""Raises InvalidField with the path from the checked value on; callers put their own before it.

A path is built only where a rule is broken: most of the cost of reading would else be paths of
fields that are fine.
"""


class InvalidField(ValueError):
    """A field that breaks the format: its path in the line, and the reason."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}" if field else reason)
        self.field = field
        self.reason = reason

    def inside(self, part: str) -> InvalidField:
        """Return the same breach seen from outside: `part` (a key or `[index]`) goes before."""
        joint = "." if self.field and not self.field.startswith("[") else ""
        return InvalidField(f"{part}{joint}{self.field}", self.reason)


def unexpected(expected: str, value: object) -> InvalidField:
    """Return the breach of a value that is not what was `expected`."""
    shown = repr(value)
    if len(shown) > 60:
        shown = shown[:57] + "..."
    return InvalidField("", f"expected {expected}, found {shown}")


def check_object(value: object) -> None:
    """Refuse all but objects."""
    if not isinstance(value, dict):
        raise unexpected("an object", value)


def check_name(value: object) -> None:
    """Refuse all but strings of at least one character."""
    if not isinstance(value, str) or not value:
        raise unexpected("a non-empty string", value)


def check_name_or_none(value: object) -> None:
    """Refuse all but names and null."""
    if value is not None:
        check_name(value)


def check_text(value: object) -> None:
    """Refuse all but strings."""
    if not isinstance(value, str):
        raise unexpected("a string", value)


def is_integer(value: object) -> bool:
    """Whether `value` is an integer as JSON Schema counts them: 4.0 is one, true is not."""
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)


def check_count(value: Any) -> None:
    """Refuse all but integers of at least 0."""
    if not (type(value) is int or is_integer(value)) or value < 0:
        raise unexpected("an integer of at least 0", value)


def check_wide_integer(value: object) -> None:
    """Refuse all but integers and strings (which carry integers of 2^64 and more)."""
    if not isinstance(value, str) and not is_integer(value):
        raise unexpected("an integer (as a string from 2^64 on)", value)


def check_number(value: object) -> None:
    """Refuse all but numbers and the names of non-finite ones."""
    if type(value) is float or type(value) is int:
        return
    if not isinstance(value, str) or value not in NON_FINITE:
        raise unexpected('a number, "NaN", "Infinity" or "-Infinity"', value)


def check_bound(value: Any) -> None:
    """Refuse all but numbers of at least 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise unexpected("a number of at least 0", value)


def check_element(value: object) -> None:
    """Refuse all but what a tensor may hold: numbers, non-finite ones by name, booleans."""
    if not isinstance(value, bool):
        check_number(value)


def check_lane_part(value: object) -> None:
    """Refuse all but strings and integers."""
    if not isinstance(value, str) and not is_integer(value):
        raise unexpected("a string or an integer", value)


def check_anything(value: object) -> None:
    """Accept what it is."""


def one_of(words: tuple[str, ...]) -> Check:
    """Return a check that refuses all but these words."""

    def check_word(value: object) -> None:
        if not isinstance(value, str) or value not in words:
            raise unexpected(f"one of {', '.join(words)}", value)

    return check_word


def list_of(check: Check, plain: frozenset[type] = frozenset()) -> Check:
    """Return a check of a list; items whose type is in `plain` need no look."""

    def check_list(value: object) -> None:
        if not isinstance(value, list):
            raise unexpected("a list", value)
        if plain.issuperset(map(type, value)):
            return
        index = 0
        try:
            for index, item in enumerate(value):  # noqa: B007 - the handler names it
                check(item)
        except InvalidField as error:
            raise error.inside(f"[{index}]") from None

    return check_list


def map_of(check: Check) -> Check:
    """Return a check of an object with any keys, each of whose values passes `check`."""

    def check_map(value: object) -> None:
        if not isinstance(value, dict):
            raise unexpected("an object", value)
        key = ""
        try:
            for key, item in value.items():  # noqa: B007 - the handler names it
                check(item)
        except InvalidField as error:
            raise error.inside(key) from None

    return check_map


def record_of(
    checks: Mapping[str, Check],
    required: tuple[str, ...],
    private: bool,
    kind: str = "key",
) -> Check:
    """Return a check of an object with fixed keys, called `kind` in messages.

    `checks` are those of the known keys, `required` the keys that must be there; with `private`,
    keys with the private prefix may hold anything.
    """
    known = dict(checks)
    needed = frozenset(required)

    def check_record(value: object) -> None:
        if not isinstance(value, dict):
            raise unexpected("an object", value)
        if not needed <= value.keys():
            missing = next(key for key in required if key not in value)
            raise InvalidField(missing, "the key is missing")
        key = ""
        try:
            for key, item in value.items():
                check = known.get(key)
                if check is not None:
                    check(item)
                elif not (private and isinstance(key, str) and key.startswith(PRIVATE_PREFIX)):
                    suffix = ", and x-… for private ones" if private else ""
                    raise InvalidField("", f"unknown {kind}; known are {', '.join(known)}{suffix}")
        except InvalidField as error:
            raise error.inside(str(key)) from None

    return check_record
