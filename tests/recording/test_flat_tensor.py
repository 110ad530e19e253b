"""Tensors as a row of numbers: any layout and byte order gives the same pieces."""

import numpy as np
import pytest

from tracediff.events.element_types import resolve_element_type
from tracediff.recording.flat_tensor import BLOCK, flatten


def laid_out(layout: str) -> np.ndarray:
    """Return the numbers 0, 1, 2 … of a [3, 5, 7, 2] tensor in the given layout."""
    plain = np.arange(210, dtype=np.int32).reshape(3, 5, 7, 2)
    if layout == "contiguous":
        return plain
    if layout == "column-major":
        return np.asfortranarray(plain)
    if layout == "big-endian":
        return plain.astype(">i4")
    if layout == "transposed":
        return np.ascontiguousarray(plain.transpose(2, 0, 3, 1)).transpose(1, 3, 0, 2)
    if layout == "every-other":
        wide = np.full((3, 10, 7, 4), -1, np.int32)
        wide[:, ::2, :, 1::2] = plain
        return wide[:, ::2, :, 1::2]
    return plain[::-1, :, ::-1].copy()[::-1, :, ::-1]


@pytest.mark.parametrize(
    "layout",
    ["contiguous", "column-major", "big-endian", "transposed", "every-other", "reversed"],
)
def test_every_range_is_read_in_c_order(layout: str) -> None:
    """All 22,155 ranges of a tensor of 210 numbers hold the numbers counted through."""
    tensor = flatten(*resolve_element_type(laid_out(layout)))
    for start in range(tensor.size):
        for stop in range(start + 1, tensor.size + 1):
            assert tensor.read(start, stop).tolist() == list(range(start, stop))


@pytest.mark.parametrize("order", ["<", ">"])
def test_complex_elements_are_two_numbers(order: str) -> None:
    """The real part comes first, in native byte order."""
    array = np.array([1 + 2j, 3 - 4j, 5j], f"{order}c16")[::-1]
    tensor = flatten(*resolve_element_type(array))
    assert tensor.size == 6
    assert tensor.read(2, 6).tolist() == [3.0, -4.0, 1.0, 2.0]
    assert tensor.read(0, 6).dtype == np.float64


def test_one_number_of_foreign_byte_order() -> None:
    """A 0-d array is one number."""
    tensor = flatten(*resolve_element_type(np.array(7, ">u2")))
    assert tensor.read(0, 1).tolist() == [7]


@pytest.mark.parametrize(
    ("transpose", "lengths"),
    [
        pytest.param(False, [2 * BLOCK + 8], id="contiguous-at-once"),
        pytest.param(True, [BLOCK, BLOCK, 8], id="transposed-by-blocks"),
    ],
)
def test_pieces(transpose: bool, lengths: list[int]) -> None:
    """Only what must be copied comes in blocks."""
    array = np.arange(2 * BLOCK + 8).reshape(8, -1)
    tensor = flatten(*resolve_element_type(array.T if transpose else array))
    pieces = list(tensor.pieces(0, tensor.size))
    assert [piece.size for piece in pieces] == lengths
    assert np.shares_memory(pieces[0], array) is not transpose
