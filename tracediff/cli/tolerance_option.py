"""The grammar of `--tolerance GLOB=RULE`."""

from __future__ import annotations

import math
from collections.abc import Iterable

from tracediff.errors import UsageError
from tracediff.events import ToleranceRule, Tolerances
from tracediff.events.tolerances import MODES

ALLOWED = "GLOB=exact, GLOB=allclose:RTOL,ATOL, GLOB=ulp:N or GLOB=rel_l2:EPSILON"


def parse_tolerances(texts: Iterable[str]) -> Tolerances:
    """Return the rules of the options in their order; raise UsageError naming what is allowed."""
    return Tolerances(tuple(_parse(text) for text in texts))


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
