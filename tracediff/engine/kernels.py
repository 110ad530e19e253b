"""Three ways to compute the same thing: the numeric paths of the engine.

`ordered` gives the same bits on every machine; `blas` uses numpy's matrix product, sums and the
platform's elementary functions in float32; `float64` does everything in double precision. All
three implement one interface, and nothing above this module asks which one it has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from tracediff.engine import elementary, ordered
from tracediff.errors import UsageError

Array: TypeAlias = "np.ndarray[Any, Any]"


@dataclass(frozen=True, slots=True)
class Kernel:
    """The primitive operations of one numeric path.

    `dtype` is the type in which arrays are kept between operations; `matmul(a, b)` contracts
    a[..., m, k] with b[..., k, n]; `total(a)` sums over the last axis and keeps it with extent 1;
    `exp`, `sin`, `cos` work elementwise and return `dtype`.
    """

    name: str
    dtype: np.dtype[Any]
    matmul: Callable[[Array, Array], Array]
    total: Callable[[Array], Array]
    exp: Callable[[Array], Array]
    sin: Callable[[Array], Array]
    cos: Callable[[Array], Array]

    def load(self, array: Array) -> Array:
        """Return a float32 weight in this path's type (exact)."""
        return array.astype(self.dtype, copy=False)


def record_float32(array: Array) -> Array:
    """Return the float32 array that a trace keeps of an intermediate result."""
    return array.astype(np.float32, copy=False)


def _ordered_total(array: Array) -> Array:
    return ordered.sum_over(array, keepdims=True)


def _sum_last(array: Array) -> Array:
    total: Array = np.sum(array, axis=-1, keepdims=True)
    return total


def _exp(array: Array) -> Array:
    # inf and 0 are the right values of what is out of range, as on the ordered path: no warning.
    with np.errstate(over="ignore", under="ignore"):
        result: Array = np.exp(array)
    return result


def _numpy_kernel(name: str, dtype: str) -> Kernel:
    return Kernel(name, np.dtype(dtype), np.matmul, _sum_last, _exp, np.sin, np.cos)


KERNELS: Mapping[str, Kernel] = MappingProxyType(
    {
        "ordered": Kernel(
            "ordered",
            np.dtype(np.float32),
            ordered.matmul,
            _ordered_total,
            elementary.exp,
            elementary.sin,
            elementary.cos,
        ),
        "blas": _numpy_kernel("blas", "float32"),
        "float64": _numpy_kernel("float64", "float64"),
    }
)


def find_kernel(name: str) -> Kernel:
    """Return the kernel of this name; raise UsageError naming the known ones."""
    if name not in KERNELS:
        raise UsageError(f"unknown kernel {name!r}; known are {', '.join(KERNELS)}")
    return KERNELS[name]
