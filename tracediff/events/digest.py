"""The digest by which a trace identifies a tensor.

Knows bytes, names and shapes; must not know what the numbers mean. numpy is not needed to hash
bytes, so it is not imported.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from blake3 import blake3

if TYPE_CHECKING:
    from tracediff.events.element_types import Array

DIGEST_PREFIX = "b3:"
DIGEST_BYTES = 16
WEAK_PREFIX = "~"
"""Starts a digest that unlike tensors may share: `~` and `name=value` pairs with `;` between them,
such as `~l1=3.25;xor64=927` (the sum of magnitudes; the bits of all elements, exclusive or), or
`~none` where nothing is known. If unequal, they show a difference; if equal, nothing."""

L1 = "l1"
"""The name of the sum of magnitudes in a weak digest."""


class TensorDigest:
    """BLAKE3 over the dtype's name, NUL, the shape as JSON, NUL, and the numbers' bytes.

    The numbers come in C order and are hashed in little-endian byte order, so that the digest
    depends on neither layout nor machine.
    """

    def __init__(self, dtype: str, shape: Sequence[int]) -> None:
        self._hasher = blake3(_head(dtype, tuple(shape)))

    def update(self, numbers: Array) -> None:
        """Hash the next numbers: one-dimensional, contiguous, native byte order."""
        self._hasher.update(stored_bytes(numbers))

    def update_bytes(self, stored: bytes | memoryview) -> None:
        """Hash the little-endian bytes of the next numbers."""
        self._hasher.update(stored)

    def text(self) -> str:
        """Return `b3:` and 32 hexadecimal digits."""
        return digest_text(self._hasher)


_JOINED = 1 << 16
"""Bytes up to which a copy behind the head costs less than what BLAKE3 loses without it: it hashes
many kilobytes at once only where they begin on an even kilobyte."""


def digest_at_once(dtype: str, shape: Sequence[int], stored: memoryview) -> str:
    """Return what `TensorDigest` says of a tensor whose little-endian bytes are all there."""
    head = _head(dtype, tuple(shape))
    if len(stored) <= _JOINED:
        return digest_text(blake3(b"".join((head, stored))))
    hasher = blake3(head)
    hasher.update(stored)
    return digest_text(hasher)


def stored_bytes(numbers: Array) -> memoryview:
    """Return the little-endian bytes of contiguous numbers of native byte order."""
    if sys.byteorder == "big":
        numbers = numbers.byteswap()
    return numbers.reshape(-1).view("u1").data


@functools.lru_cache(maxsize=256)
def _head(dtype: str, shape: tuple[int, ...]) -> bytes:
    extents = ",".join(map(str, shape))
    return f"{dtype}\0[{extents}]\0".encode()


def is_proof(digest: str) -> bool:
    """Whether tensors of one dtype and shape that share this digest are equal."""
    return not digest.startswith(WEAK_PREFIX)


def shows_difference(left: str, right: str) -> bool:
    """Whether two digests show that the content of two tensors of one dtype and shape differs.

    Digests of unlike algorithms show nothing, nor do sums, which depend on who added them up.
    """
    if left == right:
        return False
    if is_proof(left) and is_proof(right):
        return left.partition(":")[0] == right.partition(":")[0]
    mine, other = weak_parts(left), weak_parts(right)
    return any(mine[key] != other[key] for key in mine.keys() & other.keys() - {L1})


def weak_parts(digest: str) -> dict[str, str]:
    """Return the `name=value` pairs of a weak digest, none of one that proves equality."""
    if is_proof(digest):
        return {}
    pairs = (pair.partition("=") for pair in digest.removeprefix(WEAK_PREFIX).split(";"))
    return {key: value for key, mark, value in pairs if mark}


def digest_text(hasher: blake3) -> str:
    """Return the first 128 bits of a BLAKE3 hash as `b3:` and 32 hexadecimal digits."""
    return DIGEST_PREFIX + hasher.hexdigest(length=DIGEST_BYTES)
