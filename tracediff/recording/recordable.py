"""What a recorder can be handed beyond plain values: tensors in several states, and draws.

Knows data only; how they are summarised and written is the recorder's matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tracediff.events.element_types import Array
    from tracediff.recording.levels import TensorLevel
    from tracediff.recording.summary import TensorSummary


@dataclass(frozen=True, slots=True)
class Tensor:
    """An array to record, with where it sits and, for raw bits, its element type.

    `array` is anything numpy can view as an array; `logical` names layer, positions, timestep or
    slot; `dtype` is given where the array holds the raw bits of a type that numpy lacks
    (uint16 with dtype="bfloat16").
    """

    array: ArrayLike
    logical: Mapping[str, Any] = field(default_factory=dict)
    dtype: str | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An array that nobody will change: the recorder may summarise it later, with others.

    `level` is that of the recorder if not given; the rest is as in `Tensor`.
    """

    array: Array
    logical: Mapping[str, Any] = field(default_factory=dict)
    dtype: str | None = None
    level: TensorLevel | None = None


@dataclass(frozen=True, slots=True)
class Summarised:
    """A tensor whose summary was made elsewhere, on its own device for example.

    The summary is the one that `summarise_tensor` makes, to the bit: equal digests with other
    statistics read as an altered record. `array` is kept as a file if it is given.
    """

    summary: TensorSummary
    logical: Mapping[str, Any] = field(default_factory=dict)
    array: Array | None = None


@dataclass(frozen=True, slots=True)
class Draw:
    """One draw from a random number generator, as the `rng` section holds it.

    Counters count the generator's own unit (Philox: blocks of four words); `count` numbers of
    `shape` were made by `transform`. A draw of nothing (count 0) states that nothing was drawn.
    """

    generator: str
    algorithm: str
    counter_before: int
    counter_after: int
    count: int
    key: tuple[int, ...] | None = None
    shape: tuple[int, ...] | None = None
    transform: str | None = None


def draw_to_json(draw: Draw) -> dict[str, Any]:
    """Return the JSON object of a draw, keys in the schema's order."""
    found: dict[str, Any] = {"generator": draw.generator, "algorithm": draw.algorithm}
    if draw.key is not None:
        found["key"] = list(draw.key)
    found["counter_before"] = draw.counter_before
    found["counter_after"] = draw.counter_after
    found["draws"] = {"count": draw.count}
    if draw.shape is not None:
        found["draws"]["shape"] = list(draw.shape)
    if draw.transform is not None:
        found["transform"] = draw.transform
    return found
