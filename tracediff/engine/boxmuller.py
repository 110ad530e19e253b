"""From random words to uniform and normal float32 numbers: the transform `box-muller-v1`.

Knows Random123's conversions (`uniform.hpp`, `boxmuller.hpp`); must not know where words come from.
"""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tracediff.engine.exponential import log
from tracediff.engine.trigonometric import cospi, sinpi

UInt32Array: TypeAlias = npt.NDArray[np.uint32]
Float32Array: TypeAlias = npt.NDArray[np.float32]


def u01(words: UInt32Array) -> Float32Array:
    """Return words as float32 in (0, 1]: word 2^-32 + 2^-33, as Random123's `u01<float>`.

    uint32 of any shape, shape kept. The word is rounded to float32 first, then the sum; so the
    smallest value is 2^-33 and the largest 1.
    """
    return words.astype(np.float32) * np.float32(2.0**-32) + np.float32(2.0**-33)


def uneg11(words: UInt32Array) -> Float32Array:
    """Return words as float32 in [-1, 1]: int32(word) 2^-31 + 2^-32, Random123's `uneg11<float>`.

    uint32 of any shape, shape kept, read as two's complement. Never 0. The word is rounded to
    float32 first, then the sum.
    """
    signed = words.view(np.int32)
    return signed.astype(np.float32) * np.float32(2.0**-31) + np.float32(2.0**-32)


def box_muller(u0: UInt32Array, u1: UInt32Array) -> Float32Array:
    """Return two standard normal numbers for each pair of words: the sine, then the cosine.

    u0, u1 uint32 of equal shape [...]; result float32 [..., 2]. Angle pi uneg11(u0), radius
    sqrt(-2 ln u01(u1)), both conversions in float32 as in Random123's `boxmuller`, the rest in
    float64 and rounded once. Agrees with Random123's float32 version within 4e-6.
    """
    half_turns = uneg11(u0).astype(np.float64)
    radius = np.sqrt(-2.0 * log(u01(u1).astype(np.float64)))
    pairs = np.stack((sinpi(half_turns) * radius, cospi(half_turns) * radius), axis=-1)
    return pairs.astype(np.float32)
