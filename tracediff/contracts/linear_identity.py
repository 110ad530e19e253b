"""Whether recorded tensors satisfy a linear identity: a sum of tensors times constants is zero.

Knows records and what rounding may leave. Must not know which identities there are.

The evidence is the numbers themselves where every tensor has them, else the sketches: those are
linear too, so the identity of the tensors holds between their sketches.

What rounding may leave, with u the unit roundoff of the tensors' type (2^-24 for float32) and S the
sum of |constant| |number| over all terms: a recorded number is within u of the computed one, and a
computation in the tensors' own type rounds at most three more times, so that at most 4 u S is left.
Between sketches, with L2 norms for numbers: one rounding error, spread evenly over its range, has
a root mean square of at most 0.58 u, four independent ones of 1.16 u; a sketch estimates a norm
within 40 %, which makes 1.6 u S; the float32 rounding of the sketches adds 2^-24 S at most.
Together that stays below 4 max(u, 2^-24) S, in practice far below.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tracediff.events import Trace
from tracediff.events.tensors import tensor_from_json

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

ROUNDINGS = 4
UNIT_ROUNDOFF: Mapping[str, float] = MappingProxyType(
    {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
)
SKETCH_ROUNDOFF = UNIT_ROUNDOFF["float32"]


@dataclass(frozen=True, slots=True)
class Term:
    """One tensor's record and the constant that it is multiplied by."""

    constant: float
    record: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Residual:
    """What the sum leaves, what rounding may leave, and the evidence: `values` or `sketches`.

    With values both numbers are those of the worst element, with sketches L2 norms.
    """

    left: float
    allowed: float
    evidence: str

    @property
    def is_zero(self) -> bool:
        """Whether nothing but rounding is left."""
        return self.left <= self.allowed

    def describe(self) -> str:
        """What a message says after naming the identity."""
        return f"off by {self.left:.3g}, rounding explains {self.allowed:.3g} (by {self.evidence})"


def measure(trace: Trace, terms: Sequence[Term]) -> Residual | None:
    """Return what the sum of the terms leaves; None where the records cannot tell.

    They cannot where shapes differ, a number is not finite, a type is unknown, or a tensor has
    neither values nor sketch.
    """
    records = [term.record for term in terms]
    if len({tuple(record["shape"]) for record in records}) != 1:
        return None
    if any(record["dtype"] not in UNIT_ROUNDOFF or not is_finite(record) for record in records):
        return None
    roundoff = max(UNIT_ROUNDOFF[record["dtype"]] for record in records)
    arrays = [load_values(trace, record) for record in records]
    found = [array for array in arrays if array is not None]
    if len(found) == len(arrays):
        return _by_values(terms, found, ROUNDINGS * roundoff)
    if all("sketch" in record for record in records):
        return _by_sketches(terms, ROUNDINGS * max(roundoff, SKETCH_ROUNDOFF))
    return None


def is_finite(record: Mapping[str, Any]) -> bool:
    """Whether no element is NaN or infinite."""
    return not any(record["stats"].get(key) for key in ("nan", "pos_inf", "neg_inf"))


def load_values(trace: Trace, record: Mapping[str, Any]) -> Array | None:
    """Return a tensor's numbers as a flat array, from its record or its file, or None."""
    # numpy loads here and not before: a trace without such tensors does not need it.
    import numpy as np

    from tracediff.events.element_types import decode_elements

    if "values" in record:
        return np.array([float(value) for value in record["values"]], np.float64)
    if "file" not in record or trace.tensors is None:
        return None
    stored = trace.tensors.load(tensor_from_json(record))
    return None if stored is None else decode_elements(stored, record["dtype"])


def _by_values(terms: Sequence[Term], arrays: Sequence[Array], bound: float) -> Residual:
    products = [term.constant * array for term, array in zip(terms, arrays, strict=True)]
    total, sizes = products[0], abs(products[0])
    for product in products[1:]:
        total, sizes = total + product, sizes + abs(product)
    if total.size == 0:
        return Residual(0.0, 0.0, "values")
    worst = int((abs(total) - bound * sizes).argmax())
    return Residual(float(abs(total[worst])), float(bound * sizes[worst]), "values")


def _by_sketches(terms: Sequence[Term], bound: float) -> Residual | None:
    columns = zip(*(term.record["sketch"] for term in terms), strict=True)
    constants = [term.constant for term in terms]
    try:
        sums = [
            math.fsum(constant * number for constant, number in zip(constants, column, strict=True))
            for column in columns
        ]
        sizes = [abs(term.constant) * float(term.record["stats"]["l2"]) for term in terms]
    except TypeError:  # "Infinity" among the numbers
        return None
    return Residual(math.hypot(*sums), bound * math.fsum(sizes), "sketches")
