"""The guarantee of the sketch, with signs drawn anew for each pair of tensors."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pytest

from tracediff.events.sketches import RESOLUTION, confidence_interval, estimate_distance
from tracediff.recording.summary import summarise_tensor

PAIRS = 25
"""Pairs of tensors a kind of difference and shape."""

Shape: TypeAlias = tuple[int, int]
Kind: TypeAlias = Callable[[np.random.Generator, Shape], np.ndarray]

SHAPES: dict[str, list[Shape]] = {
    "any": [(10, 10), (3, 341), (32, 64), (16, 512), (40, 1000), (7, 10007)],
    "power-of-two": [(50, 2), (32, 64), (100, 128), (16, 512), (9, 2048), (5, 8192), (3, 32768)],
    "multiple-of-buckets": [(2, 1024), (17, 1024), (64, 1024), (30, 3072), (17, 4096), (10, 5120)],
}


def counted(shape: Shape) -> np.ndarray:
    return np.arange(shape[0] * shape[1], dtype=np.float64).reshape(shape)


def one_row(generator: np.random.Generator, shape: Shape) -> np.ndarray:
    found = np.zeros(shape)
    found[generator.integers(shape[0])] = generator.uniform(0.5, 2)
    return found


def one_column(generator: np.random.Generator, shape: Shape) -> np.ndarray:
    found = np.zeros(shape)
    found[:, generator.integers(shape[1])] = generator.uniform(0.5, 2)
    return found


def one_element(generator: np.random.Generator, shape: Shape) -> np.ndarray:
    found = np.zeros(shape)
    found[generator.integers(shape[0]), generator.integers(shape[1])] = 1.5
    return found


KINDS: dict[str, Kind] = {
    "noise": lambda generator, shape: generator.standard_normal(shape),
    "offset": lambda generator, shape: np.full(shape, generator.uniform(0.1, 2)),
    "ramp": lambda generator, shape: counted(shape) * generator.uniform(0.1, 1),
    "alternating": lambda generator, shape: 1 - 2 * (counted(shape) % 2),
    "row": one_row,
    "column": one_column,
    "element": one_element,
}


def estimate_pairs(kind: str, shape: Shape, pairs: int) -> tuple[list[float], list[bool]]:
    """Return estimates over true distances, and whether the interval held the true distance."""
    generator = np.random.default_rng([shape[0], shape[1], len(kind)])
    ratios, held = [], []
    for _ in range(pairs):
        left = generator.standard_normal(shape)
        right = left + KINDS[kind](generator, shape)
        seed = int(generator.integers(1, 2**63))
        one, other = (summarise_tensor(side, level="values=0", seed=seed) for side in (left, right))
        assert one.sketch is not None
        assert other.sketch is not None
        estimate = estimate_distance(one.sketch, other.sketch)  # type: ignore[arg-type]
        true = float(np.linalg.norm(left - right))
        rounding = RESOLUTION * max(float(one.stats["l2"]), float(other.stats["l2"]))
        lower, upper = confidence_interval(estimate, rounding)
        ratios.append(estimate / true)
        held.append(lower <= true <= upper)
    return ratios, held


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_guarantee(kind: str, shapes: str) -> None:
    """The estimate is within 35 % in at least 99 % of the pairs, and so is the true distance
    within the interval of 99.9 %; on average the squared estimate is right."""
    ratios: list[float] = []
    held: list[bool] = []
    for shape in SHAPES[shapes]:
        found = estimate_pairs(kind, shape, PAIRS)
        ratios += found[0]
        held += found[1]
    errors = np.abs(np.array(ratios) - 1)
    assert np.mean(errors <= 0.35) >= 0.99
    assert np.mean(held) >= 0.99
    # The mean of 150 such squares has a standard deviation of at most sqrt(2 / 64 / 150) = 0.014.
    assert np.mean(np.square(ratios)) == pytest.approx(1, abs=0.05)
