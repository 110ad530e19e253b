"""Greedy and sampled choices: ties, frequencies, the exact transform, and refusals."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tracediff.engine.kernels import Array
from tracediff.engine.philox import PhiloxGenerator, philox4x32
from tracediff.engine.sampling import choose_greedy, choose_sampled
from tracediff.errors import IllegalState

INF = math.inf


def as_logits(*values: float) -> Array:
    return np.array(values, np.float32)


@pytest.mark.parametrize(
    ("logits", "token"),
    [
        pytest.param([1, 3, 2], 1, id="highest"),
        pytest.param([1, 3, 3, 3], 1, id="tie-goes-to-the-lowest-id"),
        pytest.param([-INF, -5, -INF], 1, id="the-only-possible-one"),
        pytest.param([-0.0, 0.0], 0, id="zeros-tie"),
        pytest.param([7], 0, id="one-token"),
        pytest.param([1, INF], 1, id="infinite"),
    ],
)
def test_greedy(logits: list[float], token: int) -> None:
    """The highest logit is chosen, the lowest id where several are."""
    assert choose_greedy(as_logits(*logits)) == token


def test_greedy_breaks_the_tie_of_a_field_case() -> None:
    """Field case F002: 16939 and 22420 have bit-equal logits; the lower id is chosen."""
    logits = np.full(30000, -5.0, np.float32)
    logits[[22420, 16939]] = -1.0606343
    assert choose_greedy(logits) == 16939


# 99.9 % quantiles of the chi-square distribution by degrees of freedom; source: NIST/SEMATECH
# e-Handbook of Statistical Methods, section 1.3.6.7.4.
CHI_SQUARE_999 = {1: 10.828, 3: 16.266, 6: 22.458}

SHARES = [
    pytest.param([0.5, 0.5], id="even"),
    pytest.param([0.5, 0.25, 0.125, 0.125], id="halving"),
    pytest.param([0.05, 0.3, 0.0, 0.1, 0.25, 0.05, 0.05, 0.2], id="with-a-forbidden-one"),
]


@pytest.mark.parametrize("shares", SHARES)
def test_frequencies_follow_the_probabilities(shares: list[float]) -> None:
    """Over many draws each token comes as often as it should; the seed is fixed."""
    draws = 4000
    logits = as_logits(*(math.log(share) if share else -INF for share in shares))
    generator = PhiloxGenerator(20260719)
    counts = [0] * len(shares)
    for _ in range(draws):
        counts[choose_sampled(logits, generator)] += 1
    expected = [share * draws for share in shares]
    assert all(count == 0 for count, mean in zip(counts, expected, strict=True) if mean == 0)
    statistic = sum(
        (count - mean) ** 2 / mean for count, mean in zip(counts, expected, strict=True) if mean
    )
    degrees = sum(share > 0 for share in shares) - 1
    assert statistic < CHI_SQUARE_999[degrees]
    assert generator.counter == draws


@pytest.mark.parametrize("seed", [0, 1, 2**32 + 5, 2**64 - 1])
def test_draws_are_the_inverse_transform(seed: int) -> None:
    """Draw n takes word 0 of block n as u, and the first id whose cumulative share reaches u."""
    logits = np.random.Generator(np.random.PCG64(9)).normal(size=20).astype(np.float32) * 2
    weights = np.exp(logits.astype(np.float64))
    cumulative = np.cumsum(weights / weights.sum())
    key = np.array([seed & 0xFFFFFFFF, seed >> 32], np.uint32)
    generator = PhiloxGenerator(seed)
    for block in range(200):
        word = philox4x32(np.array([block, 0, 0, 0], np.uint32), key)[0]
        u = (int(word) + 0.5) / 2**32  # Random123's u01, but for its rounding to float32
        assert generator.counter == block
        assert choose_sampled(logits, generator) == np.searchsorted(cumulative, u)
    assert generator.counter == 200


def generator_of(u: float) -> Any:
    """Return a generator that gives one fixed number."""
    return SimpleNamespace(uniforms=lambda count: np.full(count, u, np.float32))


@pytest.mark.parametrize(
    ("logits", "u", "token"),
    [
        pytest.param([0, 0, 0, 0], 2.0**-33, 0, id="smallest-u"),
        pytest.param([0, 0, 0, 0], 0.25, 0, id="reached-exactly"),
        pytest.param([0, 0, 0, 0], 0.25000003, 1, id="just-above"),
        pytest.param([0, 0, 0, 0], 1.0, 3, id="largest-u"),
        pytest.param([-INF, 0, 0, -INF], 2.0**-33, 1, id="forbidden-at-the-start"),
        pytest.param([-INF, 0, 0, -INF], 1.0, 2, id="forbidden-at-the-end"),
        # e^-800 is 0 in float64: such a token has probability 0, whatever the sum rounds to.
        pytest.param([0, 0.1, 0.2, -800], 1.0, 2, id="impossible-at-the-end"),
        pytest.param([0.1] * 10 + [-800], 1.0, 9, id="sum-below-one"),
    ],
)
def test_borders_of_the_transform(logits: list[float], u: float, token: int) -> None:
    """The borders of (0, 1] choose the first and the last token that is possible."""
    assert choose_sampled(as_logits(*logits), generator_of(u)) == token


@pytest.mark.parametrize(
    ("logits", "message"),
    [
        pytest.param([1, math.nan, 2], "contain NaN", id="nan"),
        pytest.param([math.nan, -INF], "contain NaN", id="nan-among-forbidden"),
        pytest.param([-INF, -INF], "forbid every one", id="all-forbidden"),
    ],
)
def test_no_choice_can_be_made(logits: list[float], message: str) -> None:
    """NaN and a row of -inf are errors, and draw nothing."""
    generator = PhiloxGenerator(1)
    with pytest.raises(IllegalState, match=message):
        choose_greedy(as_logits(*logits))
    with pytest.raises(IllegalState, match=message):
        choose_sampled(as_logits(*logits), generator)
    assert generator.counter == 0


def test_infinite_logit_cannot_be_sampled() -> None:
    """+inf has no softmax: drawing is an error, and draws nothing."""
    generator = PhiloxGenerator(1)
    with pytest.raises(IllegalState, match=r"\+inf"):
        choose_sampled(as_logits(1, INF), generator)
    assert generator.counter == 0
