"""Causes seen in the elements of one tensor: non-finite ones, signs, order, a factor."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tracediff.diff.causes.findings import Findings, Record
from tracediff.diff.causes.linear import fit_factor, vectors
from tracediff.diff.result import Cause
from tracediff.events.digest import DIGEST_PREFIX

_SMALLEST_CHANGE: Final = 1e-4
"""A factor closer to 1 is noise."""

_FACTOR_SPREAD: Final[Mapping[str, float]] = {"float16": 2e-3, "bfloat16": 1.6e-2}
"""How far ratios may spread around one factor, by element type: its rounding errors."""

_DEFAULT_SPREAD: Final = 1e-6
_SAME_SUM: Final = 1e-12
"""Relative difference of float64 sums over the same numbers in another order."""

_COUNTS: Final = ("finite", "nan", "pos_inf", "neg_inf", "neg_zero")


def not_finite(findings: Findings) -> Cause | None:
    """NaN or an infinity appears on one side only, or with another sign."""
    tensor, records = findings.tensor, tensor_records(findings)
    if tensor is None or records is None:
        return None
    if tensor.nan_elements and records[0]["digest"] == records[1]["digest"]:
        text = f"{tensor.name} is NaN at the same places on both sides, which counts as different"
        return Cause("nan-born", findings.component, text, {"nan": tensor.nan_elements})
    if tensor.evidence != "non-finite":
        return None
    mine, other = (record["stats"] for record in records)
    counts = {key: [mine.get(key, 0), other.get(key, 0)] for key in ("nan", "pos_inf", "neg_inf")}
    if counts["nan"] != [0, 0]:
        kind, what = "nan-born", "NaN"
    elif counts["pos_inf"] != [0, 0]:
        kind, what = "infinity-sign", "infinite elements"
    else:
        kind, what = "mask", "elements that are masked out (-inf)"
    text = f"{tensor.name}: {_told(counts, what)}"
    return Cause(kind, findings.component, text, {"counts": counts})


def _told(counts: Mapping[str, list[int]], what: str) -> str:
    """Return how many elements of each kind the sides have, or that they stand elsewhere."""
    names = {"nan": "NaN", "pos_inf": "+inf", "neg_inf": "-inf"}
    unlike = [
        f"{left} {names[key]} on the left, {right} on the right"
        for key, (left, right) in counts.items()
        if left != right
    ]
    return "; ".join(unlike) or f"{what} stand at other places"


def sign_of_zero(findings: Findings) -> Cause | None:
    """The values are equal except for the sign of zeros."""
    records = tensor_records(findings)
    if records is None or _unlike(*records) or records[0]["digest"] == records[1]["digest"]:
        return None
    values = values_of(*records)
    if values is None:
        left, right = (dict(record["stats"]) for record in records)
        zeros = left.pop("neg_zero", 0), right.pop("neg_zero", 0)
        same = left == right and records[0].get("sketch") == records[1].get("sketch")
        same = same and own_statistics(*records)
        if not same or zeros[0] == zeros[1]:
            return None
    elif not same_elements(*values):
        return None
    return Cause("sign-of-zero", findings.component, "only signs of zeros differ", {})


def constant_factor(findings: Findings) -> Cause | None:
    """All elements differ by one factor."""
    records = tensor_records(findings)
    if records is None or _unlike(*records):
        return None
    factor, evidence = _common_factor(*records)
    if factor is None or abs(factor - 1) < _SMALLEST_CHANGE:
        return None
    return Cause(
        "constant-factor",
        findings.component,
        f"every element on the right is {factor:.7g} times the left one",
        {"factor": factor, **evidence},
    )


def permuted(findings: Findings) -> Cause | None:
    """Both sides hold the same values in another order."""
    records = tensor_records(findings)
    if records is None or _unlike(*records) or not same_numbers(*records):
        return None
    return Cause("permuted", findings.component, "the same values stand in another order", {})


def numeric_path(findings: Findings) -> Cause | None:
    """Everything that went in agrees and the computed numbers do not."""
    if findings.first.check != "outputs" or findings.tensor is None:
        return None
    if not findings.tensor.decidable:
        return None
    return Cause(
        "numeric-path",
        findings.component,
        f"inputs and state agree, {findings.tensor.name} is the first tensor that does not: "
        "look at the weights and the numeric path that compute it",
        {"tensor": findings.tensor.name, "relative_l2": findings.tensor.relative_l2},
    )


def undecidable(findings: Findings) -> Cause | None:
    """What was recorded of the two tensors does not suffice to compare them."""
    tensor = findings.tensor
    if tensor is None or tensor.decidable:
        return None
    return Cause("undecidable", findings.component, tensor.reason, {"tensor": tensor.name})


def same_numbers(left: Record, right: Record) -> bool:
    """Whether two tensors hold the same numbers, by values or else by their statistics."""
    values = values_of(left, right)
    if values is not None:
        mine, other = (Counter(map(repr, side)) for side in values)
        return mine == other
    if not own_statistics(left, right):
        return False
    mine, other = left["stats"], right["stats"]
    if any(mine.get(key, 0) != other.get(key, 0) for key in _COUNTS):
        return False
    if not mine["finite"] or (mine.get("min"), mine.get("max")) != (
        other.get("min"),
        other.get("max"),
    ):
        return False
    largest = max(abs(_number(mine["min"])), abs(_number(mine["max"])))
    return all(
        abs(_number(mine[key]) - _number(other[key])) <= _SAME_SUM * scale
        for key, scale in (("mean", largest), ("l2", _number(mine["l2"])))
    )


def own_statistics(left: Record, right: Record) -> bool:
    """Whether tracediff made the statistics of both, as its own digest shows.

    Those of another tool's dump are rounded: equal ones show nothing about single elements.
    """
    return all(record["digest"].startswith(DIGEST_PREFIX) for record in (left, right))


def tensor_records(findings: Findings) -> tuple[Record, Record] | None:
    """Return both records of the tensor that differs, if both sides have it."""
    return None if findings.tensor is None else findings.records(findings.tensor.name)


def _unlike(left: Record, right: Record) -> bool:
    """Whether type or shape differ, or the same digest says that nothing differs."""
    return any(left[key] != right[key] for key in ("dtype", "shape")) or (
        left["digest"] == right["digest"]
    )


def values_of(left: Record, right: Record) -> tuple[list[Any], list[Any]] | None:
    """Return the values of both records, if both keep them."""
    if "values" not in left or "values" not in right:
        return None
    mine, other = ([_number(x) for x in record["values"]] for record in (left, right))
    return mine, other


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, str) else value


def same_elements(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Whether two sequences of numbers are equal element by element, NaN to NaN."""
    pairs = zip(left, right, strict=True)
    return all(x == y or (math.isnan(x) and math.isnan(y)) for x, y in pairs)


def _common_factor(left: Record, right: Record) -> tuple[float | None, dict[str, Any]]:
    """Return the factor right / left that all elements share, and what shows it."""
    values = values_of(left, right)
    if values is not None:
        factor, used = _common_ratio(*values, _FACTOR_SPREAD.get(left["dtype"], _DEFAULT_SPREAD))
        return factor, {"elements": used}
    found = vectors(left, right)
    if found is None:
        return None, {}
    return fit_factor(found[1], found[0]), {"by": "sketch"}


def _common_ratio(
    left: Sequence[float], right: Sequence[float], spread: float
) -> tuple[float | None, int]:
    """Return the ratio right / left that all finite non-zero elements share, and their number."""
    pairs = list(zip(left, right, strict=True))
    if any((x == 0) != (y == 0) or _differ_in_kind(x, y) for x, y in pairs):
        return None, 0
    ratios = [y / x for x, y in pairs if x and math.isfinite(x) and math.isfinite(y)]
    if len(ratios) < 2:
        return None, 0
    factor = sorted(ratios)[len(ratios) // 2]
    shared = factor != 0 and all(abs(ratio / factor - 1) <= spread for ratio in ratios)
    return (factor if shared else None), len(ratios)


def _differ_in_kind(x: float, y: float) -> bool:
    return math.isfinite(x) != math.isfinite(y)
