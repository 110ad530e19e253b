"""Causes seen in random numbers: counters, keys, algorithms, and what they gave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import dropwhile, zip_longest
from types import MappingProxyType
from typing import Any, Final

from tracediff.diff.causes.findings import Findings, Record
from tracediff.diff.result import Cause

_RNG_KINDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "counter_before": "rng-counter",
        "counter_after": "rng-counter",
        "draws": "rng-counter",
        "count": "rng-counter",
        "shape": "rng-counter",
        "generator": "rng-algorithm",
        "algorithm": "rng-algorithm",
        "transform": "rng-algorithm",
        "key": "seed",
    }
)


_TWISTER: Final = "mt19937"
_SET_ANEW: Final = "replaced"


def random_numbers(findings: Findings) -> Cause | None:
    """A counter, key, algorithm or number of draws differs; the draws were never comparable."""
    if findings.first.check != "rng":
        return None
    if findings.leaf == "rng":
        text = "only one side draws random numbers here"
        return Cause("rng-counter", findings.component, text, findings.values)
    kind = _RNG_KINDS.get(findings.leaf)
    if kind is None:
        return None
    draws = [[draw.get("algorithm") for draw in drawn] for drawn in findings.sections("rng")]
    name = findings.leaf
    if draws[0] != draws[1]:  # counters and keys of two algorithms cannot be compared
        kind, name = "rng-algorithm", "algorithm"
    elif kind == "seed" and _seed_agrees(findings, draws[0]):
        text = (
            "the seed agrees and the state of the generator does not: something else was drawn "
            "from it before, or its state was set"
        )
        return Cause("rng-counter", findings.component, text, findings.values)
    rounded = _rounded(findings)
    text = (
        f"the random numbers are other ones: {name} differs, so the values drawn were never "
        "comparable"
    )
    if rounded:
        text += "; both are the same float64, so one looks like a float64 round trip"
    return Cause(kind, findings.component, text, {**findings.values, **rounded})


def _seed_agrees(findings: Findings, algorithms: Sequence[Any]) -> bool:
    """Whether a key differs in what follows the seed in it, as a generator of torch has it.

    After the seed it holds a mark of the state from which one counts, then how often the state was
    set; where it was set just now, seed and mark of the new state. Other keys are seed throughout.
    """
    at = findings.path[1]
    assert isinstance(at, int)
    mine, other = (drawn[at] for drawn in findings.sections("rng"))
    if algorithms[at] != _TWISTER:
        return False
    pairs = enumerate(zip_longest(mine["key"], other["key"]))
    place = next((place for place, (left, right) in pairs if left != right), 0)
    return place not in ((0, 2) if mine.get("transform") == _SET_ANEW else (0,))


def drawn_numbers(findings: Findings) -> Cause | None:
    """One generator, key and counter gave other numbers: the generator is another one inside.

    Only where the tensor is what was drawn: the draw names the transform and shape that made it,
    or the tensor is called noise. Of a module that drew something, as dropout does, the output
    shows nothing about the generator.
    """
    records = None if findings.tensor is None else findings.records(findings.tensor.name)
    is_module = findings.event.event_type.startswith("module.")
    if findings.first.check != "outputs" or records is None or is_module:
        return None
    is_noise = "noise" in records[0]["name"]
    draws = (draw for draw in findings.sections("rng")[0] if draw["draws"]["count"])
    drawn = [draw for draw in draws if is_noise or _is_of(draw, records[0])]
    if not drawn or (findings.sections("inputs")[0] and not is_noise):
        return None
    return Cause(
        "rng-algorithm",
        findings.component,
        "the same key and counter gave other numbers: the generator or its transform differs",
        {"algorithm": drawn[0]["algorithm"], "tensor": records[0]["name"]},
    )


def _is_of(draw: Mapping[str, Any], record: Record) -> bool:
    """Whether a draw gave the numbers of a tensor, whose shape may have axes of 1 before."""
    shape = draw["draws"].get("shape")
    if not draw.get("transform") or shape is None:
        return False
    mine, other = (_without_leading_ones(extents) for extents in (shape, record["shape"]))
    return mine == other


def _without_leading_ones(extents: Sequence[int]) -> list[int]:
    return [*dropwhile(lambda extent: extent == 1, extents)]


def _rounded(findings: Findings) -> dict[str, Any]:
    """Say where two integers are one float64: a sign that one went through a float."""
    difference = findings.first.difference
    mine, other = (_integer(value) for value in (difference.left, difference.right))
    if mine is None or other is None or float(mine) != float(other):
        return {}
    return {"same_float64": float(mine)}


def _integer(value: Any) -> int | None:
    if isinstance(value, str) and value.isdecimal():
        value = int(value)
    is_safe = type(value) is int and value < 2**1000
    return value if is_safe else None
