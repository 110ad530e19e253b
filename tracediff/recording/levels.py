"""How much of each tensor a recording keeps.

Knows the names of the levels; must not know how a tensor is summarised.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from tracediff.errors import UsageError

LevelName: TypeAlias = Literal["digest", "sketch", "values", "full"]

DEFAULT_VALUES = 4096
"""Elements up to which the level `values` keeps the numbers themselves."""

SMALL_TENSOR = 64
"""Elements up to which `sketch` and `full` do so: no longer than the sketch would be."""


@dataclass(frozen=True, slots=True)
class TensorLevel:
    """Digest and statistics always; beyond that what `name` says.

    `digest`: nothing more. Every other level keeps the numbers of tensors of at most `values_up_to`
    elements and a sketch of larger ones; `full` keeps each tensor as a file as well.
    """

    name: LevelName
    values_up_to: int

    def __str__(self) -> str:
        """The text that `parse_level` reads back."""
        if self.name == "values" and self.values_up_to != DEFAULT_VALUES:
            return f"values={self.values_up_to}"
        return self.name


def parse_level(text: str) -> TensorLevel:
    """Return the level called `digest`, `sketch`, `values`, `values=N` or `full`.

    N counts elements, from 0. Anything else raises UsageError.
    """
    name, separator, count = text.partition("=")
    if separator:
        # isdecimal() alone would let the digits of other scripts pass.
        if name == "values" and count.isascii() and count.isdecimal():
            return TensorLevel("values", int(count))
    elif name == "values":
        return TensorLevel("values", DEFAULT_VALUES)
    elif name == "digest":
        return TensorLevel("digest", 0)
    elif name in {"sketch", "full"}:
        return TensorLevel("sketch" if name == "sketch" else "full", SMALL_TENSOR)
    allowed = ", ".join(get_args(LevelName))
    raise UsageError(
        f"unknown tensor level {text!r}; allowed are {allowed} and values=N with N = 0, 1, 2 …"
    )
