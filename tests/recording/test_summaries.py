"""Many tensors at once: each summary the same to the bit as the tensor's own."""

from collections.abc import Callable

import numpy as np
import pytest

from tracediff.events.element_types import Array
from tracediff.recording.levels import parse_level
from tracediff.recording.scratch import Workspace
from tracediff.recording.summaries import Held, summarise_all
from tracediff.recording.summary import summarise_tensor

RANDOM = np.random.default_rng(5)

KINDS: dict[str, tuple[Callable[[int], Array], str | None]] = {
    "float32": (lambda size: RANDOM.standard_normal(size).astype("f4"), None),
    "float16": (lambda size: RANDOM.standard_normal(size).astype("f2"), None),
    "float64": (RANDOM.standard_normal, None),
    "bfloat16": (
        lambda size: (RANDOM.standard_normal(size).astype("f4").view("u4") >> 16).astype("u2"),
        "bfloat16",
    ),
    "float8": (lambda size: RANDOM.integers(0, 120, size).astype("u1"), "float8_e4m3fn"),
    "int64": (lambda size: RANDOM.integers(-9, 9, size), None),
    "complex64": (lambda size: RANDOM.standard_normal(2 * size).astype("f4").view("c8"), None),
}


@pytest.mark.parametrize("level", ["digest", "sketch", "values=100", "full"])
@pytest.mark.parametrize("size", [1, 64, 65, 1024, 1025, 9000, 32768, 33000])
@pytest.mark.parametrize("kind", KINDS)
def test_together_as_alone(kind: str, size: int, level: str) -> None:
    """A tensor's summary does not depend on who is summarised with it."""
    make, dtype = KINDS[kind]
    held = [Held(make(size).reshape(1, size), dtype, parse_level(level)) for _ in range(4)]
    alone = [summarise_tensor(x.array, dtype=dtype, level=level) for x in held]
    assert summarise_all(held, Workspace()) == alone


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(lambda x: x.__setitem__(3, np.nan), id="nan"),
        pytest.param(lambda x: x.__setitem__(3, -np.inf), id="infinity"),
        pytest.param(lambda x: x.__setitem__(3, -0.0), id="negative-zero"),
        pytest.param(lambda x: x.fill(0.0), id="zeros"),
        pytest.param(lambda x: np.negative(np.abs(x), out=x), id="all-negative"),
        pytest.param(lambda x: np.abs(x, out=x), id="all-positive"),
    ],
)
def test_odd_ones_among_others(odd: Callable[[Array], object]) -> None:
    """What is special in one tensor is kept, and leaves the others alone."""
    arrays = [RANDOM.standard_normal(700).astype("f4") for _ in range(5)]
    odd(arrays[2])
    held = [Held(array, None, parse_level("sketch")) for array in arrays]
    assert summarise_all(held) == [summarise_tensor(array) for array in arrays]


def test_layouts_mix() -> None:
    """Views, other byte orders and empty tensors keep their places in the order."""
    arrays = [
        RANDOM.standard_normal((20, 30)).astype("f4").T,
        RANDOM.standard_normal(600).astype("f4"),
        RANDOM.standard_normal(600).astype(">f4"),
        np.zeros(0, "f4"),
        np.float32(3.0).reshape(()),
    ]
    held = [Held(array, None, parse_level("digest")) for array in arrays]
    assert summarise_all(held) == [summarise_tensor(array, level="digest") for array in arrays]
