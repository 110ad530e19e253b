"""Each logits processor alone, its borders and ties, and that it leaves its argument alone."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracediff.engine.kernels import Array
from tracediff.engine.processors import (
    Processor,
    StepState,
    control_token_mask,
    descending,
    grammar_mask,
    minimum_length_eos_mask,
    probabilities,
    repetition_penalty,
    temperature,
    top_k,
    top_p,
)

INF = math.inf
START = StepState(prompt=(0, 1), chosen=())


def as_logits(*values: float) -> Array:
    return np.array(values, np.float32)


def allow_next(chosen: tuple[int, ...]) -> list[int]:
    """Allow 2, then 0 or 3, then nothing."""
    return [[2], [3, 0], []][len(chosen)]


def after(*chosen: int) -> StepState:
    return StepState(prompt=(0, 1), chosen=chosen)


# processor, state, logits, expected logits
CASES = [
    pytest.param(
        control_token_mask([0, 3]), START, [1, 2, 3, 4], [-INF, 2, 3, -INF], id="control-tokens"
    ),
    pytest.param(control_token_mask([]), START, [1, 2], [1, 2], id="no-control-tokens"),
    pytest.param(minimum_length_eos_mask(1, 2), START, [1, 2, 9], [1, 2, -INF], id="end-too-early"),
    pytest.param(minimum_length_eos_mask(1, 2), after(0), [1, 2, 9], [1, 2, 9], id="end-allowed"),
    pytest.param(
        minimum_length_eos_mask(3, 2), after(0, 0), [1, 2, 9], [1, 2, -INF], id="end-one-too-early"
    ),
    pytest.param(minimum_length_eos_mask(0, 2), START, [1, 2, 9], [1, 2, 9], id="no-minimum"),
    pytest.param(
        grammar_mask(allow_next), START, [9, 8, 7, 6], [-INF, -INF, 7, -INF], id="grammar-first"
    ),
    pytest.param(
        grammar_mask(allow_next), after(2), [9, 8, 7, 6], [9, -INF, -INF, 6], id="grammar-second"
    ),
    pytest.param(
        grammar_mask(allow_next), after(2, 0), [9, 8], [-INF, -INF], id="grammar-allows-nothing"
    ),
    pytest.param(
        grammar_mask(allow_next), START, [9, 8, -INF, 6], [-INF] * 4, id="grammar-revives-nothing"
    ),
    # Seen are 0 and 1 of the prompt and 3, 4 of the output; 2 and 5 are not.
    pytest.param(
        repetition_penalty(2.0),
        after(3, 4, 3),
        [4, -4, 4, 0, -INF, -4],
        [2, -8, 4, 0, -INF, -4],
        id="repetition",
    ),
    pytest.param(
        repetition_penalty(0.5), after(), [4, -4, 4], [8, -2, 4], id="repetition-rewarded"
    ),
    pytest.param(temperature(0.5), START, [3, -INF, -1], [6, -INF, -2], id="temperature-low"),
    pytest.param(temperature(2.0), START, [3, -INF, -1], [1.5, -INF, -0.5], id="temperature-high"),
    pytest.param(top_k(1), START, [1, 3, 2], [-INF, 3, -INF], id="top-k-one"),
    pytest.param(top_k(3), START, [1, 3, 2], [1, 3, 2], id="top-k-all"),
    pytest.param(top_k(1000), START, [1, 3, 2], [1, 3, 2], id="top-k-more-than-all"),
    # Field case F003: ids 2 and 3 tie at the second place; exactly two stay, the lower id of them.
    pytest.param(
        top_k(2), START, [-INF, 3, 2, 2, 1], [-INF, 3, 2, -INF, -INF], id="top-k-tie-at-the-border"
    ),
    pytest.param(top_k(2), START, [2, 2, 2, 2], [2, 2, -INF, -INF], id="top-k-all-tie"),
    pytest.param(
        top_k(2), START, [-INF, -INF, 5], [-INF, -INF, 5], id="top-k-fewer-than-k-are-possible"
    ),
    # Four equal logits have probability 1/4 each, exactly.
    pytest.param(top_p(0.5), START, [1] * 4, [1, 1, -INF, -INF], id="top-p-reached-exactly"),
    pytest.param(top_p(0.5000001), START, [1] * 4, [1, 1, 1, -INF], id="top-p-just-not-reached"),
    pytest.param(top_p(0.4999999), START, [1] * 4, [1, 1, -INF, -INF], id="top-p-crossed"),
    pytest.param(top_p(1e-9), START, [1, 2, 2], [-INF, 2, -INF], id="top-p-keeps-at-least-one"),
    pytest.param(top_p(1.0), START, [1, 2, 3], [1, 2, 3], id="top-p-all"),
    pytest.param(top_p(1.0), START, [-INF, 2, -INF], [-INF, 2, -INF], id="top-p-revives-nothing"),
    # Field case F028: logits 3, 2, 1 have the cumulative probabilities .6652, .9099, 1.
    pytest.param(top_p(0.8), START, [3, 2, 1], [3, 2, -INF], id="top-p-crosses-at-the-second"),
    pytest.param(top_p(0.66), START, [3, 2, 1], [3, -INF, -INF], id="top-p-crosses-at-the-first"),
    pytest.param(top_p(0.91), START, [3, 2, 1], [3, 2, 1], id="top-p-needs-the-third"),
]


@pytest.mark.parametrize(("processor", "state", "logits", "expected"), CASES)
def test_processor(
    processor: Processor, state: StepState, logits: list[float], expected: list[float]
) -> None:
    """A processor gives the expected logits, in float32, and does not touch what it was given."""
    given_logits = as_logits(*logits)
    result = processor.apply(given_logits, state)
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, as_logits(*expected))
    np.testing.assert_array_equal(given_logits, as_logits(*logits))


@pytest.mark.parametrize(
    ("processors", "kept"),
    [
        pytest.param([temperature(0.5), top_p(0.8)], [0], id="temperature-first"),
        pytest.param([top_p(0.8), temperature(0.5)], [0, 1], id="temperature-last"),
    ],
)
def test_order_of_temperature_and_top_p_matters(
    processors: list[Processor], kept: list[int]
) -> None:
    """Field case F028: tempered, the first token alone has .8668 and reaches .8."""
    logits = as_logits(3, 2, 1)
    for processor in processors:
        logits = processor.apply(logits, START)
    assert np.flatnonzero(np.isfinite(logits)).tolist() == kept


def test_names_are_the_chapters() -> None:
    """Processors carry the names under which a trace records their results."""
    made = [
        control_token_mask([]),
        minimum_length_eos_mask(0, 0),
        grammar_mask(allow_next),
        repetition_penalty(1.0),
        temperature(1.0),
        top_k(1),
        top_p(1.0),
    ]
    assert [processor.name for processor in made] == [
        "control_token_mask",
        "minimum_length_eos_mask",
        "grammar_mask",
        "repetition_transforms",
        "temperature",
        "top_k",
        "top_p",
    ]


@pytest.mark.parametrize(
    ("logits", "order"),
    [
        pytest.param([1, 3, 2], [1, 2, 0], id="distinct"),
        pytest.param([2, 3, 3, 2], [1, 2, 0, 3], id="ties-by-id"),
        pytest.param([0.0, -0.0, 0.0], [0, 1, 2], id="zeros-tie"),
        pytest.param([-INF, 1, -INF, 2], [3, 1, 0, 2], id="forbidden-last"),
        pytest.param([math.nan, 1, INF], [2, 1, 0], id="nan-last"),
    ],
)
def test_descending(logits: list[float], order: list[int]) -> None:
    """Ids come from the highest logit to the lowest, equal ones in ascending order."""
    assert descending(as_logits(*logits)).tolist() == order


LOGIT = st.one_of(st.just(-INF), st.floats(-50, 50, width=32), st.integers(-3, 3).map(float))
LOGITS = st.lists(LOGIT, min_size=1, max_size=12).filter(lambda row: max(row) > -INF)


@given(LOGITS)
def test_probabilities_are_a_softmax(row: list[float]) -> None:
    """Probabilities agree with exact summation of exponentials, and are 0 where forbidden."""
    result = probabilities(as_logits(*row))
    weights = [math.exp(value - max(row)) for value in row]
    expected = [weight / math.fsum(weights) for weight in weights]
    assert result.dtype == np.float64
    np.testing.assert_allclose(result, expected, rtol=1e-14)
    assert [value == 0 for value in result] == [value == -INF for value in row]


@given(LOGITS, st.integers(1, 14))
def test_top_k_keeps_exactly_k(row: list[float], count: int) -> None:
    """Of the possible tokens exactly k stay, none of them beaten by one that goes."""
    result = top_k(count).apply(as_logits(*row), START)
    kept = np.flatnonzero(np.isfinite(result)).tolist()
    possible = [(-value, token) for token, value in enumerate(row) if value > -INF]
    assert kept == sorted(token for _, token in sorted(possible)[:count])


@given(LOGITS, st.floats(0.01, 1.0))
def test_top_p_is_the_smallest_set(row: list[float], mass: float) -> None:
    """The kept tokens reach the mass, and without the least likely of them they do not."""
    logits = as_logits(*row)
    result = top_p(mass).apply(logits, START)
    shares = probabilities(logits)
    kept = [token for token in descending(logits).tolist() if result[token] > -INF]
    assert kept
    assert math.fsum(shares[kept]) >= mass - 1e-12
    assert math.fsum(shares[kept[:-1]]) < mass + 1e-12
