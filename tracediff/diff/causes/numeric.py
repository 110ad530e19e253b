"""Causes seen in tensors, and in a choice that was made from tensors."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from typing import Any

from tracediff.diff.causes.findings import Findings
from tracediff.diff.result import Cause
from tracediff.events.tensors import tensor_from_json

LOGITS = "logits."
SMALLEST_CHANGE = 1e-4
"""A factor closer to 1 is noise."""

FACTOR_SPREAD = 1e-6
"""Ratios of all elements that agree this closely (relative) count as one constant factor."""


def attributes(findings: Findings) -> Cause | None:
    """The element type or the shape differs."""
    records = _records(findings)
    if records is None:
        return None
    for kind in ("dtype", "shape"):
        mine, other = records[0][kind], records[1][kind]
        if mine != other:
            return Cause(
                kind,
                findings.component,
                f"the {kind} of {records[0]['name']} is {mine} on the left, {other} on the right",
                {"left": mine, "right": other},
            )
    return None


def not_finite(findings: Findings) -> Cause | None:
    """NaN or an infinity appears on one side only, or with another sign."""
    tensor, records = findings.tensor, _records(findings)
    if tensor is None or records is None or tensor.evidence != "non-finite":
        return None
    mine, other = (record["stats"] for record in records)
    counts = {key: [mine.get(key, 0), other.get(key, 0)] for key in ("nan", "pos_inf", "neg_inf")}
    kind = "nan-born" if mine.get("nan", 0) != other.get("nan", 0) else "infinity-sign"
    return Cause(
        kind, findings.component, f"non-finite elements of {tensor.name} differ", {"counts": counts}
    )


def sign_of_zero(findings: Findings) -> Cause | None:
    """The values are equal except for the sign of zeros."""
    values = _values(findings)
    if values is None or not _same(*values):
        return None
    return Cause("sign-of-zero", findings.component, "only signs of zeros differ", {})


def constant_factor(findings: Findings) -> Cause | None:
    """All elements differ by one factor."""
    values = _values(findings)
    if values is None:
        return None
    factor, used = _common_factor(*values)
    if factor is None or abs(factor - 1) < SMALLEST_CHANGE:
        return None
    return Cause(
        "constant-factor",
        findings.component,
        f"every element on the right is {factor:.7g} times the left one",
        {"factor": factor, "elements": used},
    )


def permuted(findings: Findings) -> Cause | None:
    """Both sides hold the same values in another order."""
    values = _values(findings)
    if values is None or not _same(*(sorted(side.tolist()) for side in values)):
        return None
    return Cause("permuted", findings.component, "the same values stand in another order", {})


def processor(findings: Findings) -> Cause | None:
    """The raw logits agree and a logits processor makes them differ."""
    name = findings.tensor.name if findings.tensor else _lone_name(findings.field)
    if findings.first.check != "outputs" or not name.startswith(LOGITS):
        return None
    names = [_processors(event) for event in (findings.left, findings.right)]
    same_set = sorted(names[0]) == sorted(names[1])
    kind = "processor-order" if names[0] != names[1] and same_set else "processor"
    return Cause(
        kind,
        name.removeprefix(LOGITS),
        f"the raw logits agree, they differ after {name.removeprefix(LOGITS)}",
        {"processors": {"left": names[0], "right": names[1]}},
    )


def token_flip(findings: Findings) -> Cause | None:
    """Another token was chosen although what it was chosen from agrees within tolerance."""
    if findings.first.check != "choice" or findings.leaf != "token_id":
        return None
    gap, drift = _top_gap(findings.left), _top_drift(findings)
    if gap is None or drift is None:
        return None
    evidence = {"top_2_gap": gap, "observed_drift": drift}
    if gap == 0.0:
        text = "the two best tokens tie exactly; each side breaks the tie its own way"
        return Cause("tie-break", findings.component, text, evidence)
    if gap <= 2 * drift:
        text = "the gap between the two best tokens is not larger than the observed drift"
        return Cause("near-tie", findings.component, text, evidence)
    return None


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


def _records(findings: Findings) -> tuple[Mapping[str, Any], Mapping[str, Any]] | None:
    return None if findings.tensor is None else findings.records(findings.tensor.name)


def _values(findings: Findings) -> tuple[Any, Any] | None:
    records = _records(findings)
    if records is None or any("values" not in record for record in records):
        return None
    if records[0]["dtype"] != records[1]["dtype"] or records[0]["shape"] != records[1]["shape"]:
        return None
    # numpy loads here and not before: most divergences are not about values.
    from tracediff.diff.elements import decode_values

    mine, other = (decode_values(tensor_from_json(record)) for record in records)
    return mine, other


def _same(left: Any, right: Any) -> bool:
    """Whether two sequences of numbers are equal element by element, NaN to NaN."""
    pairs = zip(left, right, strict=True)
    return all(x == y or (math.isnan(x) and math.isnan(y)) for x, y in pairs)


def _common_factor(left: Any, right: Any) -> tuple[float | None, int]:
    """Return the ratio right / left that all finite non-zero elements share, and their number."""
    pairs = [(float(x), float(y)) for x, y in zip(left, right, strict=True)]
    if any((x == 0) != (y == 0) for x, y in pairs):
        return None, 0
    ratios = [y / x for x, y in pairs if x and math.isfinite(x) and math.isfinite(y)]
    if len(ratios) < 2:
        return None, 0
    factor = statistics.median(ratios)
    shared = factor != 0 and all(abs(ratio / factor - 1) <= FACTOR_SPREAD for ratio in ratios)
    return (factor if shared else None), len(ratios)


def _lone_name(field: str) -> str:
    return field.partition("[")[2].partition("]")[0]


def _processors(event: Any) -> list[str]:
    return [
        record["name"].removeprefix(LOGITS)
        for record in event.payload.get("outputs", ())
        if record["name"].startswith(LOGITS)
    ]


def _top_gap(event: Any) -> float | None:
    top = event.payload["choice"].get("top")
    if not top or len(top) < 2 or not all(isinstance(pair[1], int | float) for pair in top[:2]):
        return None
    return abs(float(top[0][1]) - float(top[1][1]))


def _top_drift(findings: Findings) -> float | None:
    """Return the largest difference of the two best values between the sides."""
    tops = []
    for event in (findings.left, findings.right):
        assert event is not None
        tops.append({str(pair[0]): pair[1] for pair in event.payload["choice"].get("top", ())})
    shared = [key for key in list(tops[0])[:2] if key in tops[1]]
    numbers = [(tops[0][key], tops[1][key]) for key in shared]
    if not numbers or not all(isinstance(x, int | float) for pair in numbers for x in pair):
        return None
    return max(abs(float(x) - float(y)) for x, y in numbers)
