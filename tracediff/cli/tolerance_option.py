"""The grammar of `--tolerance GLOB=RULE` and `--tolerance @FILE`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

from tracediff.errors import StorageError, UsageError
from tracediff.events import ToleranceRule, Tolerances
from tracediff.events.tolerances import MODES

ALLOWED = "GLOB=exact, GLOB=allclose:RTOL,ATOL, GLOB=ulp:N, GLOB=rel_l2:EPSILON or @FILE"
FILE_PREFIX = "@"


def parse_tolerances(texts: Iterable[str]) -> Tolerances:
    """Return the rules of the options in their order, those of files in the files' order.

    Raises UsageError naming what is allowed, StorageError for a file that cannot be read.
    """
    rules: list[ToleranceRule] = []
    shared: set[str] = set()
    for text in texts:
        if text.startswith(FILE_PREFIX) and "=" not in text:
            found = _read(text.removeprefix(FILE_PREFIX))
            rules += found
            shared.update(rule.match for rule in found)
        else:
            rules.append(_parse(text))
    return Tolerances(tuple(rules), frozenset(shared))


def _read(path: str) -> tuple[ToleranceRule, ...]:
    # Files of rules load the JSON reader for those who give one.
    from tracediff.storage.tolerance_file import parse_tolerance_file

    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}") from None
    return parse_tolerance_file(content, path)


def _parse(text: str) -> ToleranceRule:
    match, separator, rule = text.rpartition("=")
    mode, _, arguments = rule.partition(":")
    if not separator or not match or mode not in MODES:
        raise _refuse(text)
    numbers = [_number(part, text) for part in arguments.split(",")] if arguments else []
    match mode, numbers:
        case "exact", []:
            return ToleranceRule(match, mode)
        case "allclose", [rtol, atol]:
            return ToleranceRule(match, mode, rtol=rtol, atol=atol)
        case "ulp", [count] if count.is_integer():
            return ToleranceRule(match, mode, ulps=int(count))
        case "rel_l2", [bound]:
            return ToleranceRule(match, mode, rel_l2=bound)
    raise _refuse(text)


def _number(part: str, text: str) -> float:
    try:
        value = float(part)
    except ValueError:
        raise _refuse(text) from None
    if not math.isfinite(value) or value < 0:
        raise _refuse(text)
    return value


def _refuse(text: str) -> UsageError:
    return UsageError(f"--tolerance {text!r} is not understood; allowed is {ALLOWED}")
