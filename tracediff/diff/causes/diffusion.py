"""Causes seen in a denoising step: the tensors around the divergent one tell its formula.

Knows the names that a diffusion trace uses. Guidance (Ho and Salimans 2022, arXiv:2207.12598),
the update (Song et al. 2021, arXiv:2010.02502) and velocity (Salimans and Ho 2022,
arXiv:2202.00512) are linear in the tensors, so what was computed instead can be solved for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from tracediff.diff.causes.findings import Findings, Record
from tracediff.diff.causes.linear import (
    RESIDUAL,
    combine,
    distance,
    fit_factor,
    fit_two_factors,
    vectors,
)
from tracediff.diff.causes.numeric import same_numbers
from tracediff.diff.result import MISSING, Cause
from tracediff.events.digest import is_proof

_AGREEMENT: Final = 1e-3
"""How closely solved factors must satisfy the formula that relates them."""

_GUIDANCE_SETTINGS: Final = frozenset({"guidance_scale", "guidance_rescale"})
_HALVES: Final = (("negative", "positive"), ("unconditional", "conditional"), ("neg", "pos"))


def exchanged_halves(findings: Findings) -> Cause | None:
    """Each of two tensors of one event is what the other one is on the other side."""
    mine, other = findings.all_records()
    name = findings.tensor_name
    if findings.tensor is None or name not in mine or name not in other:
        return None
    twin = _exchanged_with(name, mine, other)
    if twin is not None:
        halves = _are_halves(name, twin)
        return Cause(
            "guidance-order" if halves else "permuted",
            findings.component,
            f"{name} and {twin} are exchanged",
            {"exchanged": [name, twin]},
        )
    return None


def exchanged_batch(findings: Findings) -> Cause | None:
    """A batch of two holds the same numbers, and the two tensors it was made of agree."""
    name = findings.tensor_name
    records = None if findings.tensor is None else findings.records(name)
    if records is None or records[0]["shape"] != records[1]["shape"]:
        return None
    mine, other = findings.all_records()
    part = [1, *records[0]["shape"][1:]]
    parts = [key for key in mine if mine[key]["shape"] == part and key in other]
    agree = [
        key
        for key in parts
        if mine[key]["digest"] == other[key]["digest"] and is_proof(mine[key]["digest"])
    ]
    if records[0]["shape"][:1] != [2] or len(agree) != 2 or agree != parts:
        return None
    if not same_numbers(*records):
        return None
    return Cause(
        "guidance-order",
        findings.component,
        f"the two halves of {name} are exchanged; {agree[0]} and {agree[1]} agree",
        {"halves": agree},
    )


def guidance(findings: Findings) -> Cause | None:
    """Both predictions agree, and they were combined with another scale or the other way round."""
    base, _, part = findings.tensor_name.rpartition("_")
    sides = findings.all_records()
    if findings.tensor is None or part != "guided":
        return None
    left, right = (_guidance_scale(side, base) for side in sides)
    if left is None or right is None:
        return None
    evidence = {"scale": {"left": left, "right": right}}
    if _near(right, 1 - left):
        text = "the negative and the positive prediction were combined the other way round"
        return Cause("guidance-order", findings.component, text, evidence)
    if _near(left, right):
        return None
    text = f"combined with scale {left:.6g} on the left and {right:.6g} on the right"
    return Cause("guidance-scale", findings.component, text, evidence)


def one_sided_guidance(findings: Findings) -> Cause | None:
    """Only one side is guided, or changes what guidance gave."""
    difference = findings.first.difference
    if MISSING not in (difference.left, difference.right):
        return None
    lacks_right = difference.right is MISSING
    side, lacking = ("left", "right") if lacks_right else ("right", "left")
    evidence = {
        trigger.field: {"left": trigger.left, "right": trigger.right}
        for trigger in findings.triggers
        if trigger.field.rpartition(".")[2] in _GUIDANCE_SETTINGS
    }
    if not evidence:
        return None
    if findings.first.check == "state" and findings.leaf.startswith("negative_"):
        text = f"only {side} is guided: {lacking} has no negative condition"
        return Cause("guidance-scale", findings.component, text, evidence)
    base, _, part = findings.tensor_name.rpartition("_")
    mine, other = findings.all_records()
    twins = {"guided": f"{base}_rescaled", "rescaled": f"{base}_guided"}
    if twins.get(part) not in (other if lacks_right else mine):
        return None
    rescaled = side if part == "rescaled" else lacking
    text = f"only {rescaled} rescales what guidance gave to the deviation of the positive half"
    return Cause("guidance-scale", findings.component, text, evidence)


def prediction_type(findings: Findings) -> Cause | None:
    """The same prediction was taken for noise on one side and for velocity on the other."""
    sides = findings.all_records()
    if findings.tensor_name != "predicted_z0" or findings.tensor is None:
        return None
    kinds = [_prediction_kind(side, _alpha_bar(findings)) for side in sides]
    if None in kinds or kinds[0] == kinds[1]:
        return None
    return Cause(
        "prediction-type",
        findings.component,
        f"the prediction is taken for {kinds[0]} on the left, for {kinds[1]} on the right",
        {"prediction_type": {"left": kinds[0], "right": kinds[1]}},
    )


def schedule(findings: Findings) -> Cause | None:
    """The update used other alpha-bars than those of the event's timesteps."""
    name = findings.tensor_name
    solve = {"predicted_z0": _solved_alpha_bar, "latent_out": _solved_previous}.get(name)
    if findings.tensor is None or solve is None:
        return None
    left, right = (solve(side) for side in findings.all_records())
    if left is None or right is None or _near(left, right):
        return None
    return Cause(
        "schedule",
        findings.component,
        f"{name} was computed with alpha-bar {left:.6g} on the left, {right:.6g} on the right",
        {"alpha_bar": {"left": left, "right": right}},
    )


def _exchanged_with(
    name: str, mine: Mapping[str, Record], other: Mapping[str, Record]
) -> str | None:
    for twin in (twin for twin in mine if twin in other and twin != name):
        crosswise = (
            mine[name]["digest"] == other[twin]["digest"]
            and mine[twin]["digest"] == other[name]["digest"]
        )
        if (
            crosswise
            and is_proof(mine[name]["digest"])
            and mine[name]["digest"] != mine[twin]["digest"]
        ):
            return twin
    return None


def _are_halves(name: str, twin: str) -> bool:
    return any(twin in (name.replace(x, y), name.replace(y, x)) for x, y in _HALVES)


def _guidance_scale(side: Mapping[str, Record], base: str) -> float | None:
    """Return s of guided = negative + s (positive - negative)."""
    names = (f"{base}_{part}" for part in ("negative", "positive", "guided"))
    found = vectors(*(side.get(name) for name in names))
    if found is None:
        return None
    negative, positive, guided = found
    change = combine([1, -1], [positive, negative])
    return fit_factor(combine([1, -1], [guided, negative]), change)


def _prediction(side: Mapping[str, Record]) -> Record | None:
    guided = [record for name, record in side.items() if name.endswith("_guided")]
    return guided[0] if guided else side.get("epsilon", side.get("velocity"))


def _alpha_bar(findings: Findings) -> float | None:
    mine, other = (state.get("alpha_bar") for state in findings.sections("state"))
    return mine if isinstance(mine, float) and mine == other else None


def _prediction_kind(side: Mapping[str, Record], alpha_bar: float | None) -> str | None:
    found = vectors(side.get("latent"), _prediction(side), side.get("predicted_z0"))
    if found is None or alpha_bar is None or not 0 < alpha_bar < 1:
        return None
    latent, prediction, clean = found
    signal, noise = math.sqrt(alpha_bar), math.sqrt(1 - alpha_bar)
    formulas = {"epsilon": (1 / signal, -noise / signal), "v_prediction": (signal, -noise)}
    for kind, factors in formulas.items():
        if distance(combine(factors, [latent, prediction]), clean) <= RESIDUAL:
            return kind
    return None


def _solved_alpha_bar(side: Mapping[str, Record]) -> float | None:
    """Return a of z0 = (x - sqrt(1 - a) e) / sqrt(a), so the factors' squares differ by 1."""
    found = vectors(side.get("predicted_z0"), side.get("latent"), _prediction(side))
    factors = None if found is None else fit_two_factors(*found)
    if factors is None or not _near(factors[0] ** 2 - factors[1] ** 2, 1.0):
        return None
    return 1 / factors[0] ** 2


def _solved_previous(side: Mapping[str, Record]) -> float | None:
    """Return a of x' = sqrt(a) z0 + sqrt(1 - a) e, so the factors' squares sum up to 1."""
    found = vectors(side.get("latent_out"), side.get("predicted_z0"), _prediction(side))
    factors = None if found is None else fit_two_factors(*found)
    if factors is None or not _near(factors[0] ** 2 + factors[1] ** 2, 1.0):
        return None
    return factors[0] ** 2


def _near(left: float, right: float) -> bool:
    return abs(left - right) <= _AGREEMENT * max(abs(left), abs(right))
