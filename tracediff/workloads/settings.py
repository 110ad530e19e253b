"""What a user may override in a fixture: names, types, ranges, and errors that say so.

Knows values only; what a setting does is its workload's matter.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracediff.errors import UsageError
from tracediff.suggestions import suggest


@dataclass(frozen=True, slots=True)
class Setting:
    """One overridable value: its name, what it does, what is allowed, and the test of that."""

    name: str
    purpose: str
    allowed: str
    accepts: Callable[[Any], bool]


def integer(name: str, low: int, high: int, purpose: str) -> Setting:
    """Return a setting that takes an integer from `low` to `high`."""
    return Setting(
        name,
        purpose,
        f"an integer from {low} to {high}",
        lambda value: type(value) is int and low <= value <= high,
    )


def number(
    name: str,
    low: float,
    high: float,
    purpose: str,
    *,
    open_low: bool = False,
    or_zero: bool = False,
) -> Setting:
    """Return a setting that takes a number from `low` (excluded if `open_low`) to `high`.

    With `or_zero` it takes 0 as well, below `low`.
    """

    def accepts(value: Any) -> bool:
        if type(value) not in (int, float):
            return False
        if or_zero and value == 0:
            return True
        return bool(low < value <= high if open_low else low <= value <= high)

    border = "above" if open_low else "from"
    zero = "0, or " if or_zero else ""
    return Setting(name, purpose, f"{zero}a number {border} {low:g} to {high:g}", accepts)


def switch(name: str, purpose: str) -> Setting:
    """Return a setting that takes true or false."""
    return Setting(name, purpose, "true or false", lambda value: type(value) is bool)


def text(name: str, purpose: str) -> Setting:
    """Return a setting that takes a non-empty string."""
    return Setting(
        name, purpose, "a non-empty string", lambda value: type(value) is str and value != ""
    )


def texts(name: str, purpose: str) -> Setting:
    """Return a setting that takes a list of non-empty strings."""
    return Setting(
        name,
        purpose,
        'a JSON list of non-empty strings, such as ["。"]',
        lambda value: type(value) is list and all(type(x) is str and x != "" for x in value),
    )


def apply_overrides(
    fixture: str,
    settings: Sequence[Setting],
    defaults: Mapping[str, Any],
    overrides: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the defaults with the overrides applied.

    Raises UsageError for an unknown key (with near matches) or a value that is not allowed.
    """
    known = {setting.name: setting for setting in settings}
    for key, value in overrides.items():
        if key not in known:
            raise UsageError(f"{fixture} has no setting {key!r}; {suggest(key, known)}")
        if not known[key].accepts(value):
            raise UsageError(
                f"{fixture}: {key}={_show(value)} is not allowed; {known[key].allowed} is"
            )
    # In the definition's order, whatever the order of the overrides.
    return {key: overrides.get(key, value) for key, value in defaults.items()}


def parse_assignments(assignments: Iterable[str]) -> dict[str, Any]:
    """Return the values of `KEY=VALUE` texts; VALUE is JSON, or a plain string if it is none."""
    found: dict[str, Any] = {}
    for assignment in assignments:
        key, separator, value = assignment.partition("=")
        if not separator or not key:
            raise UsageError(f"--set takes KEY=VALUE, not {assignment!r}")
        if key in found:
            raise UsageError(f"--set {key} is given twice")
        try:
            found[key] = json.loads(value)
        except (ValueError, RecursionError):
            found[key] = value
    return found


def _show(value: Any) -> str:
    """Return a value as JSON, or the name of a type that JSON does not have."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return f"a Python {type(value).__name__}"
