"""One array in numpy's format, from a file that is not trusted.

Knows the format's header; what it promises is checked against the bytes that are there before
memory is taken. Pickled objects are refused.
"""

from __future__ import annotations

import math
from typing import IO, Any

import numpy as np

Array = np.ndarray[Any, Any]


def read_npy(stream: IO[bytes], size: int) -> Array:
    """Return the array in `size` bytes of a stream; raise ValueError saying what is wrong."""
    try:
        version = np.lib.format.read_magic(stream)
        read_header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }.get(version)
        if read_header is None:
            raise ValueError(
                f"it is in version {version[0]}.{version[1]} of the format; 1 and 2 are read"
            )
        shape, fortran_order, dtype = read_header(stream)
    except (ValueError, EOFError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"it is no .npy array: {str(error).splitlines()[0][:200]}") from None
    if dtype.hasobject:
        raise ValueError("it holds Python objects (a pickle), which are not read")
    needed = math.prod(shape) * dtype.itemsize
    left = size - stream.tell()
    if needed != left:
        raise ValueError(f"its header promises {needed} bytes of elements, and {left} are there")
    flat = np.frombuffer(stream.read(needed), dtype) if dtype.itemsize else np.empty(0, dtype)
    if flat.size != math.prod(shape):
        raise ValueError("it ends before its elements do")
    return flat.reshape(shape, order="F" if fortran_order else "C")
