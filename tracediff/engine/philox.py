"""The counter-based generator Philox4x32-10 and a stream of draws from it.

Knows counters, keys and whole blocks of four words; must not know what the draws are for.
Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011,
and its Random123 library (`philox.h`).
"""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tracediff.engine.boxmuller import Float32Array, UInt32Array, box_muller, u01

UInt64Array: TypeAlias = npt.NDArray[np.uint64]

# Constants of `philox.h`: round multipliers, and Weyl steps that bump the key between rounds.
MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
WEYL_STEPS = (np.uint64(0x9E3779B9), np.uint64(0xBB67AE85))
WORD_BITS = np.uint64(32)
WORD_MASK = np.uint64(0xFFFFFFFF)

WORDS_PER_BLOCK = 4
SEED_LIMIT = 1 << 64
COUNTER_LIMIT = 1 << 128
MOST_ROUNDS = 16


def philox4x32(counter: UInt32Array, key: UInt32Array, rounds: int = 10) -> UInt32Array:
    """Return the blocks of four words that Philox4x32 gives for counters and keys.

    counter uint32 [..., 4], key uint32 [..., 2], leading dimensions broadcast; result uint32
    [..., 4]. A pure function. Another dtype is a TypeError; another last dimension, or rounds
    outside 0 to 16, a ValueError. Source: Random123 `philox.h`.
    """
    _require_words("counter", counter, 4)
    _require_words("key", key, 2)
    if not 0 <= rounds <= MOST_ROUNDS:
        message = f"Philox4x32 has 0 to {MOST_ROUNDS} rounds, not {rounds}."
        raise ValueError(message)
    # As uint64, products of two words and sums of keys never wrap.
    words = [counter[..., i].astype(np.uint64) for i in range(4)]
    keys = [key[..., i].astype(np.uint64) for i in range(2)]
    for _ in range(rounds):
        words = _apply_round(words, keys)
        keys = [(k + step) & WORD_MASK for k, step in zip(keys, WEYL_STEPS, strict=True)]
    return np.stack(np.broadcast_arrays(*words), axis=-1).astype(np.uint32)


def _apply_round(words: list[UInt64Array], keys: list[UInt64Array]) -> list[UInt64Array]:
    first = words[0] * MULTIPLIERS[0]
    second = words[2] * MULTIPLIERS[1]
    return [
        (second >> WORD_BITS) ^ words[1] ^ keys[0],
        second & WORD_MASK,
        (first >> WORD_BITS) ^ words[3] ^ keys[1],
        first & WORD_MASK,
    ]


def _require_words(name: str, words: UInt32Array, length: int) -> None:
    if words.dtype != np.uint32:
        message = f"A Philox4x32 {name} is an array of uint32, not of {words.dtype}."
        raise TypeError(message)
    if words.ndim == 0 or words.shape[-1] != length:
        message = f"A Philox4x32 {name} has shape [..., {length}], not {words.shape}."
        raise ValueError(message)


class PhiloxGenerator:
    """A stream of Philox4x32-10 blocks: a key from the seed, and a counter that only grows.

    Every draw consumes whole blocks of four words: what is left of a draw's last block is thrown
    away, so 5 uniforms consume 2 blocks, and the next draw starts at a block of its own.
    The key is (seed's low word, seed's high word), (seed, 0) for a seed below 2^32. The counter
    counts blocks, its lowest word first, and wraps at 2^128.
    """

    __slots__ = ("_counter", "_seed")

    def __init__(self, seed: int, counter: int = 0) -> None:
        if not 0 <= seed < SEED_LIMIT:
            message = f"A Philox seed is an integer from 0 to 2^64 - 1, not {seed}."
            raise ValueError(message)
        if not 0 <= counter < COUNTER_LIMIT:
            message = f"A Philox counter is an integer from 0 to 2^128 - 1, not {counter}."
            raise ValueError(message)
        self._seed = seed
        self._counter = counter

    @property
    def seed(self) -> int:
        """The seed, 0 to 2^64 - 1."""
        return self._seed

    @property
    def key(self) -> tuple[int, int]:
        """The two words of the key, the seed's low word first."""
        return self._seed & 0xFFFFFFFF, self._seed >> 32

    @property
    def counter(self) -> int:
        """The number of the next block to be drawn, 0 to 2^128 - 1."""
        return self._counter

    def blocks(self, n: int) -> UInt32Array:
        """Draw n blocks: uint32 [n, 4]; a negative n is a ValueError."""
        if n < 0:
            message = f"A generator draws 0 or more values, not {n}."
            raise ValueError(message)
        counters = _count_from(self._counter, n)
        self._counter = (self._counter + n) % COUNTER_LIMIT
        return philox4x32(counters, np.array(self.key, np.uint32))

    def uniforms(self, n: int) -> Float32Array:
        """Draw n numbers uniform in (0, 1], `u01` of one word each: float32 [n].

        Consumes ceil(n / 4) blocks. Never 0; 1 where the word rounds up to it.
        """
        return u01(self._draw_words(n))[:n]

    def normals(self, n: int) -> Float32Array:
        """Draw n standard normal numbers by `box-muller-v1`: float32 [n].

        Consumes ceil(n / 4) blocks; words (u0, u1) and (u2, u3) of a block give a sine and a
        cosine each, in this order.
        """
        pairs = self._draw_words(n).reshape(-1, 2)
        return box_muller(pairs[:, 0], pairs[:, 1]).reshape(-1)[:n]

    def _draw_words(self, n: int) -> UInt32Array:
        return self.blocks(-(-n // WORDS_PER_BLOCK)).reshape(-1)


def _count_from(first: int, n: int) -> UInt32Array:
    """Return the 128-bit counters first, first + 1, ...: uint32 [n, 4], lowest word first."""
    first_low = np.uint64(first % 2**64)
    low = np.arange(n, dtype=np.uint64) + first_low
    high = (low < first_low).astype(np.uint64) + np.uint64(first >> 64)
    words = (low & WORD_MASK, low >> WORD_BITS, high & WORD_MASK, high >> WORD_BITS)
    return np.stack(words, axis=-1).astype(np.uint32)
