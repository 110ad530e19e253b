"""What a report shows of two tensors: distances, worst elements, grids, pictures."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from trace_building import chain, event, tensor

from tracediff.comparison import pair_up
from tracediff.diff.panels import TensorPanel, tensor_panels
from tracediff.errors import StorageError
from tracediff.events import TensorRecord


@dataclass(frozen=True)
class Kept:
    """Full values of one tensor, or the error of a file that cannot be read."""

    array: Any

    def load(self, record: TensorRecord) -> Any:
        if isinstance(self.array, Exception):
            raise self.array
        return self.array


def panels(
    left: Any, right: Any, level: str = "values=4096", name: str = "x", files: bool = False
) -> tuple[TensorPanel, ...]:
    arrays = [np.asarray(side) for side in (left, right)]
    records = [tensor(name, array, level=level) for array in arrays]
    if files:
        records = [{**record, "file": "0" * 32 + ".npy"} for record in records]
    traces = [
        chain(event("root", state={"n": 1}), event("e", outputs=[record])) for record in records
    ]
    pair = pair_up(*traces).pairs[1]
    sources = [Kept(array) if files else None for array in arrays]
    return tensor_panels(pair, *sources)


def test_worst_elements() -> None:
    """The elements with the largest errors come first, the first of equal ones before others."""
    left = np.zeros((2, 3))
    (panel,) = panels(left, [[0.0, 1.0, 0.0], [-4.0, 0.0, 1.0]])
    found = [(e.index, e.left, e.right, e.absolute, e.relative) for e in panel.worst]
    assert found == [
        ((1, 0), 0.0, -4.0, 4.0, 1.0),
        ((0, 1), 0.0, 1.0, 1.0, 1.0),
        ((1, 2), 0.0, 1.0, 1.0, 1.0),
    ]
    assert panel.differing == 3
    assert panel.difference is not None


@pytest.mark.parametrize(
    ("left", "right", "differing", "worst"),
    [
        pytest.param([np.nan, 1.0], [np.nan, 2.0], 1, (1,), id="nan-equals-nan"),
        pytest.param([np.nan, 1.0], [3.0, 2.0], 2, (0,), id="nan-against-a-number"),
        pytest.param([np.inf, 1.0], [-np.inf, 1.0], 1, (0,), id="signs-of-infinity"),
        pytest.param([np.inf, 1.0], [np.inf, 2.0], 1, (1,), id="same-infinity"),
        pytest.param([2**60, 1], [2**60 + 1, 1], 1, (0,), id="large-integers"),
        pytest.param([True, False], [True, True], 1, (1,), id="booleans"),
        pytest.param([1 + 1j, 0], [1 + 3j, 0], 1, (0,), id="complex"),
        pytest.param(1.0, 2.0, 1, (), id="scalar"),
    ],
)
def test_kinds(left: Any, right: Any, differing: int, worst: tuple[int, ...]) -> None:
    """Numbers of every kind are counted and found."""
    (panel,) = panels(left, right)
    assert (panel.differing, panel.worst[0].index) == (differing, worst)


def test_negative_zero_is_no_error() -> None:
    """Other bytes without a distance have no worst element."""
    (panel,) = panels([0.0, 1.0], [-0.0, 1.0])
    assert (panel.differing, panel.worst, panel.distance) == (0, (), 0.0)


@pytest.mark.parametrize(
    ("shape", "grid"),
    [
        pytest.param((), (1, 1), id="scalar"),
        pytest.param((5,), (1, 5), id="short"),
        pytest.param((1000,), (32, 32), id="wrapped"),
        pytest.param((2, 3, 4), (6, 4), id="axes"),
        pytest.param((100, 3), (64, 3), id="shrunk"),
    ],
)
def test_grids(shape: tuple[int, ...], grid: tuple[int, int]) -> None:
    """The last axis makes the columns; one long row is wrapped."""
    (panel,) = panels(np.zeros(shape), np.ones(shape))
    assert panel.grid is not None
    assert (panel.grid.rows, panel.grid.columns) == grid


@pytest.mark.parametrize(
    ("name", "dtype", "shape", "picture"),
    [
        pytest.param("pixels", "uint8", (2, 3, 8, 9), (8, 9), id="channels-first"),
        pytest.param("frame", "uint8", (8, 9, 3), (8, 9), id="channels-last"),
        pytest.param("latent", "float32", (1, 4, 8, 8), (8, 8), id="latent"),
        pytest.param("epsilon", "float32", (1, 4, 8, 8), None, id="another-name"),
        pytest.param("pixels", "uint8", (3, 2, 2), None, id="too-small"),
        pytest.param("ids", "uint8", (64,), None, id="one-axis"),
        pytest.param("mask", "uint8", (8, 8), None, id="two-axes"),
    ],
)
def test_pictures(
    name: str, dtype: str, shape: tuple[int, ...], picture: tuple[int, int] | None
) -> None:
    """Pictures and latents come as pictures, everything else as a grid."""
    left, right = np.zeros(shape, dtype), np.zeros(shape, dtype)
    right.flat[-1] = 9
    (panel,) = panels(left, right, "values=65536", name)
    assert (panel.pictures is None) == (panel.grid is not None) == (picture is None)
    if panel.pictures is not None:
        found = panel.pictures
        assert (found.left.height, found.left.width) == picture
        assert (found.difference.rows, found.difference.columns) == picture
        assert (found.number, found.count) == ((2, 2) if shape[0] == 2 else (1, 1))
        assert found.difference.high == 9


@pytest.mark.parametrize(
    ("level", "is_known"), [pytest.param("sketch", True), pytest.param("digest", False)]
)
def test_without_values(level: str, is_known: bool) -> None:
    """Sketches tell a distance and nothing else; digests do not even tell that."""
    (panel,) = panels(np.zeros(100), np.ones(100), level)
    assert (panel.distance is not None) == is_known
    assert (panel.differing, panel.worst, panel.grid) == (None, (), None)


def test_files() -> None:
    """Full tensors are read where the records name files."""
    (panel,) = panels(np.zeros(5000), np.ones(5000), "sketch", files=True)
    assert (panel.differing, panel.distance) == (5000, 1.0)


def test_unreadable_files() -> None:
    """A file that cannot be read leaves what the records tell, and the reason."""
    record = {**tensor("x", np.zeros(100), level="sketch"), "file": "0" * 32 + ".npy"}
    other = {**tensor("x", np.ones(100), level="sketch"), "file": "1" * 32 + ".npy"}
    traces = [
        chain(event("root", state={"n": 1}), event("e", outputs=[r])) for r in (record, other)
    ]
    broken = Kept(StorageError("it is torn"))
    (panel,) = tensor_panels(pair_up(*traces).pairs[1], broken, broken)
    assert (panel.trouble, panel.differing) == ("it is torn", None)
    assert panel.distance is not None


@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param(np.zeros(3), np.zeros(4), id="shape"),
        pytest.param(np.zeros(3), np.zeros(3, np.float32), id="dtype"),
    ],
)
def test_other_attributes(left: Any, right: Any) -> None:
    """Tensors of another shape or dtype have statistics and nothing measured."""
    (panel,) = panels(left, right)
    assert (panel.differing, panel.distance, panel.grid) == (None, None, None)


def test_equal_tensors_have_no_panel() -> None:
    """The same content needs no look."""
    assert panels([1.0], [1.0]) == ()


def test_lone_events_have_no_panel() -> None:
    """There is nothing to compare with."""
    traces = chain(event("a", state={"n": 1})), chain(event("a", state={"n": 1}), event("b"))
    assert tensor_panels(pair_up(*traces).pairs[1], None, None) == ()
