"""Guidance: the order of the halves, and the formula."""

import numpy as np
import pytest

from tracediff.engine.guidance import ORDER, guide, split_pair, stack_pair
from tracediff.engine.philox import PhiloxGenerator

NEGATIVE = PhiloxGenerator(1).normals(32).reshape(1, 2, 4, 4)
POSITIVE = PhiloxGenerator(2).normals(32).reshape(1, 2, 4, 4)


def test_negative_comes_first() -> None:
    """A pair is stacked negative first, and split the same way."""
    assert ORDER == ("negative", "positive")
    pair = stack_pair(NEGATIVE, POSITIVE)
    assert pair.shape == (2, 2, 4, 4)
    assert np.array_equal(pair[0], NEGATIVE[0])
    negative, positive = split_pair(pair)
    assert np.array_equal(negative, NEGATIVE)
    assert np.array_equal(positive, POSITIVE)


@pytest.mark.parametrize("scale", [0.0, 1.0, 5.0, 7.5])
def test_formula(scale: float) -> None:
    """negative + scale (positive - negative), computed in float64 and rounded once."""
    exact = NEGATIVE + scale * (POSITIVE.astype(np.float64) - NEGATIVE)
    found = guide(NEGATIVE, POSITIVE, scale)
    assert found.dtype == np.float32
    assert np.array_equal(found, exact.astype(np.float32))


@pytest.mark.parametrize(("scale", "expected"), [(0.0, NEGATIVE), (1.0, POSITIVE)])
def test_ends(scale: float, expected: np.ndarray) -> None:
    """Scale 0 is the negative prediction, 1 the positive one."""
    assert np.array_equal(guide(NEGATIVE, POSITIVE, scale), expected)
