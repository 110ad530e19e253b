"""What statistics show: that a rule is broken, and never on tensors that keep it."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tracediff.diff.statistics_verdict import show_difference
from tracediff.events import ToleranceRule

EPSILON = 2.0**-23
CLOSE = ToleranceRule("x", "allclose", rtol=1e-3, atol=1e-3)
STATS = {"finite": 4, "min": -1.0, "max": 2.0, "mean": 0.5, "l2": 3.0}


def shown(
    other: dict[str, Any], rule: ToleranceRule, digests: tuple[str, str] = ("~none", "~none")
) -> str:
    left, right = (digests[0], STATS), (digests[1], {**STATS, **other})
    return show_difference(left, right, (4,), rule, EPSILON)


@pytest.mark.parametrize(
    ("other", "rule", "expected"),
    [
        pytest.param({}, CLOSE, "", id="equal-statistics-show-nothing"),
        pytest.param({"min": -1.0015}, CLOSE, "", id="minimum-within"),
        pytest.param({"min": -1.003}, CLOSE, "the minima differ", id="minimum-beyond"),
        pytest.param({"max": 2.1}, CLOSE, "the maxima differ", id="maximum-beyond"),
        pytest.param({"mean": 0.502}, CLOSE, "", id="mean-within-what-the-largest-element-may"),
        pytest.param({"mean": 0.51}, CLOSE, "the means differ", id="mean-beyond"),
        pytest.param({"l2": 3.1}, CLOSE, "the L2 norms differ", id="norm-beyond"),
        pytest.param({"nan": 1}, CLOSE, "NaN or infinite", id="nan-on-one-side"),
        pytest.param({"neg_inf": 1}, CLOSE, "NaN or infinite", id="infinity-on-one-side"),
        pytest.param({"max": 2.0001}, ToleranceRule("x", "exact"), "is exact", id="exact"),
        pytest.param({"mean": 0.50001}, ToleranceRule("x", "exact"), "", id="a-sum-is-not-exact"),
        pytest.param(
            {"max": 2.1}, ToleranceRule("x", "rel_l2", rel_l2=0.1), "", id="rel-l2-within"
        ),
        pytest.param({"max": 2.5}, ToleranceRule("x", "rel_l2", rel_l2=0.1), "maxima", id="rel-l2"),
        pytest.param({"max": 2.1}, ToleranceRule("x", "ulp", ulps=4), "maxima", id="ulp"),
    ],
)
def test_statistics(other: dict[str, Any], rule: ToleranceRule, expected: str) -> None:
    """The first statistic that no tensors within the rule could have is named."""
    found = shown(other, rule)
    assert (expected in found) if expected else not found


@pytest.mark.parametrize(
    ("digests", "expected"),
    [
        pytest.param(("~l1=4.0", "~l1=4.001"), "", id="sums-within"),
        pytest.param(("~l1=4.0", "~l1=5.0"), "the L1 norms differ", id="sums-beyond"),
        pytest.param(("~l1=4.0;xor64=1", "~l1=4.0;xor64=2"), "", id="other-bits-may-be-within"),
        pytest.param(("~l1=nan", "~l1=4.0"), "", id="a-sum-that-is-no-number"),
        pytest.param(("~l1=4.0", "b3:00"), "", id="unlike-digests"),
    ],
)
def test_weak_digests(digests: tuple[str, str], expected: str) -> None:
    """A sum of magnitudes is a statistic; the bits of a hash say nothing about distances."""
    found = shown({}, CLOSE, digests)
    assert (expected in found) if expected else not found


@given(
    values=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30),
    shares=st.lists(st.floats(-1, 1), min_size=30, max_size=30),
    rtol=st.sampled_from([0.0, 1e-6, 1e-2, 0.2]),
    atol=st.sampled_from([1e-8, 1e-3, 1.0]),
)
def test_tensors_within_a_rule_never_show_a_difference(
    values: list[float], shares: list[float], rtol: float, atol: float
) -> None:
    """Whatever lies within an allclose rule, element by element, is not called different."""
    left = np.array(values)
    # Relative to the smaller of both sizes, a step stays within what the larger one allows.
    room = (atol + rtol * np.abs(left)) / (1 + rtol) * (1 - 1e-9)
    right = left + room * np.array(shares[: left.size])
    rule = ToleranceRule("x", "allclose", rtol=rtol, atol=atol)
    error = np.abs(left - right)
    assume(np.all(error <= atol + rtol * np.maximum(np.abs(left), np.abs(right))))
    sides = [
        (
            f"~l1={np.abs(side).sum()}",
            {
                **{"min": side.min(), "max": side.max(), "mean": side.mean()},
                "l2": math.sqrt((side * side).sum()),
            },
        )
        for side in (left, right)
    ]
    assert show_difference(sides[0], sides[1], left.shape, rule, 2.0**-52) == ""
