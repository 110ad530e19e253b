"""The mode in which the processor computes: what is compared needs IEEE 754's, whatever is set.

Knows C's floating-point environment. Must not know tensors. Libraries that were compiled for speed
and `torch.set_flush_denormal` have the processor take numbers near zero for zero, and other
programs change the direction of rounding, thread by thread; sums would depend on it.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tracediff.errors import UsageError

if TYPE_CHECKING:
    import ctypes

_SMALLEST = math.ldexp(1.0, -1074)
_SMALLEST_NORMAL = sys.float_info.min
_BELOW_HALF = math.ldexp(1.0, -60)
_ENVIRONMENT_BYTES = 256
"""Room for `fenv_t`, which has 8 to 32 bytes on the systems that Python runs on."""


def is_usual() -> bool:
    """Whether the present thread rounds to nearest and keeps the numbers near zero."""
    keeps = _SMALLEST > 0.0 and _SMALLEST_NORMAL * 0.5 > 0.0
    below, above = 1.0 - _BELOW_HALF, 1.0 + _BELOW_HALF
    return keeps and below == 1.0 == above and -above == -1.0 - _BELOW_HALF


@contextmanager
def usual_arithmetic() -> Iterator[None]:
    """Have the present thread compute by IEEE 754's defaults within the block.

    Raises UsageError where the system has no means to switch.
    """
    if is_usual():
        yield
        return
    import ctypes  # hardly ever needed

    before = ctypes.create_string_buffer(_ENVIRONMENT_BYTES)
    library = _library()
    if library is None or library.fegetenv(before) != 0:
        raise _cannot_switch()
    library.fesetenv(ctypes.c_void_p(-1))  # FE_DFL_ENV of glibc and musl
    try:
        if not is_usual():
            raise _cannot_switch()
        yield
    finally:
        library.fesetenv(before)


@functools.cache
def _library() -> ctypes.CDLL | None:
    """Return the C library of a system whose default environment is known to be the pointer -1."""
    if not sys.platform.startswith("linux"):
        return None
    import ctypes

    library = ctypes.CDLL(None)
    return library if hasattr(library, "fegetenv") and hasattr(library, "fesetenv") else None


def _cannot_switch() -> UsageError:
    return UsageError(
        "cannot compute by IEEE 754: this thread flushes numbers near zero to zero or does not "
        "round to nearest, so that results would depend on it; switch that off, with "
        "torch.set_flush_denormal(False) for example"
    )
