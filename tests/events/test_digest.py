"""The digest of a tensor against BLAKE3 over bytes put together by hand."""

from typing import Any

import numpy as np
import pytest
from blake3 import blake3

from tracediff.events.digest import TensorDigest
from tracediff.recording.flat_tensor import BLOCK
from tracediff.recording.summary import summarise_tensor


def digest(array: Any, dtype: str | None = None) -> str:
    return summarise_tensor(array, dtype=dtype, level="digest").digest


@pytest.mark.parametrize(
    ("array", "dtype", "hashed"),
    [
        pytest.param(np.float32([[1, 2]]), None, b"float32\0[1,2]\0\0\0\x80?\0\0\0@", id="float32"),
        pytest.param(np.array(258, ">u2"), None, b"uint16\0[]\0\2\1", id="0-d-big-endian"),
        pytest.param(np.zeros((2, 0), np.int8), None, b"int8\0[2,0]\0", id="empty"),
        pytest.param(np.array([True, False]), None, b"bool\0[2]\0\1\0", id="bool"),
        pytest.param(
            np.uint16([0x3F80]), "bfloat16", b"bfloat16\0[1]\0\x80\x3f", id="bfloat16-bits"
        ),
        pytest.param(
            np.array([1j], ">c8"), None, b"complex64\0[1]\0\0\0\0\0\0\0\x80?", id="complex"
        ),
    ],
)
def test_known_bytes(array: np.ndarray, dtype: str | None, hashed: bytes) -> None:
    """Name, NUL, shape, NUL, little-endian bytes in C order; 128 bits are kept."""
    assert digest(array, dtype) == "b3:" + blake3(hashed).hexdigest()[:32]


def test_what_tells_tensors_apart() -> None:
    """Element type, shape, order, sign of zero and bits of NaN each change the digest."""
    quiet, other = np.uint32([0x7FC00000]), np.uint32([0x7FC00001])
    arrays = [
        np.zeros(4, np.float32),
        np.zeros(4, np.int32),
        np.zeros((2, 2), np.float32),
        np.zeros((4, 1), np.float32),
        np.float32([0, 0, 0, -0.0]),
        np.float32([0, 0, -0.0, 0]),
        quiet.view(np.float32),
        other.view(np.float32),
        quiet,
    ]
    assert len({digest(array) for array in arrays}) == len(arrays)


def test_large_copied_tensor() -> None:
    """A tensor that is read block by block has the digest of its bytes."""
    array = np.arange(3 * BLOCK + 6, dtype=np.int16).reshape(2, -1)
    copied = np.ascontiguousarray(array.T)
    expected = blake3(f"int16\0[{array.shape[1]},2]\0".encode() + copied.tobytes())
    assert digest(array.T) == "b3:" + expected.hexdigest()[:32]


def test_bytes_and_numbers_give_one_digest() -> None:
    """Whether a tensor comes as numbers or as little-endian bytes, in pieces or at once."""
    whole, pieces = TensorDigest("float32", (3,)), TensorDigest("float32", [3])
    whole.update(np.float32([1, 2, 3]))
    for number in (1, 2, 3):
        pieces.update_bytes(np.array([number], "<f4").tobytes())
    assert whole.text() == pieces.text() == digest(np.float32([1, 2, 3]))
