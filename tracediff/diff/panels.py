"""What a report shows of two tensors that are not the same: numbers, worst elements, pictures.

Knows records and where full values can be had. Must not know how anything is drawn, and decides
nothing: what is tolerable was decided by the comparison.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from tracediff.diff.drift import relative_distance
from tracediff.diff.result import ComparedPair, TensorDifference
from tracediff.errors import StorageError
from tracediff.events import TensorRecord
from tracediff.events.event import TENSOR_SECTIONS
from tracediff.events.tensors import tensor_from_json
from tracediff.events.trace import TensorSource

if TYPE_CHECKING:
    from tracediff.diff.elements import Array
    from tracediff.diff.error_grid import ErrorGrid, Picture

WORST_SHOWN: Final = 8


@dataclass(frozen=True, slots=True)
class ElementError:
    """One element that differs: its multi-index in C order, both values, both errors."""

    index: tuple[int, ...]
    left: float
    right: float
    absolute: float
    relative: float


@dataclass(frozen=True, slots=True)
class PicturePair:
    """Two pictures and where they differ; `number` of `count` in the batch, counted from 1.

    `is_latent` says that the colours stand for numbers, the same ones on both sides.
    """

    left: Picture
    right: Picture
    difference: ErrorGrid
    number: int
    count: int
    is_latent: bool


@dataclass(frozen=True, slots=True)
class TensorPanel:
    """Two tensors of one name whose content is not the same.

    `distance` is the relative L2 distance, from values, files or sketches (then an estimate), None
    where nothing tells; `difference` is the comparison's finding if this tensor is what failed.
    `worst` are the elements with the largest errors, the first one the worst; `differing` counts
    all that differ; `grid` covers the tensor as a matrix whose columns are the last axis, or as
    consecutive rows where it has one axis only. `trouble` says why full values could not be read.
    """

    name: str
    section: str
    left: TensorRecord
    right: TensorRecord
    distance: float | None = None
    difference: TensorDifference | None = None
    differing: int | None = None
    worst: tuple[ElementError, ...] = ()
    grid: ErrorGrid | None = None
    pictures: PicturePair | None = None
    trouble: str = ""


def tensor_panels(
    pair: ComparedPair, left: TensorSource | None, right: TensorSource | None
) -> tuple[TensorPanel, ...]:
    """Return a panel for each pair of tensors with other content, the failed one first.

    `left` and `right` reach full tensors, if any are kept. Never raises for files that cannot be
    read: the panel says so.
    """
    if pair.left is None or pair.right is None:
        return ()
    failed = None if pair.divergence is None else pair.divergence.tensor
    panels = [
        _panel(TensorPanel(mine.name, section, mine, other, distance), left, right, failed)
        for section, mine, other, distance in _unlike(pair.left.payload, pair.right.payload)
    ]
    return tuple(sorted(panels, key=lambda panel: panel.difference is None))


def _unlike(
    left: Mapping[str, Any], right: Mapping[str, Any]
) -> Iterator[tuple[str, TensorRecord, TensorRecord, float | None]]:
    for section in TENSOR_SECTIONS:
        counterparts = {record["name"]: record for record in right.get(section, ())}
        for record in left.get(section, ()):
            other = counterparts.get(record["name"])
            if other is not None and other["digest"] != record["digest"]:
                mine, theirs = tensor_from_json(record), tensor_from_json(other)
                yield section, mine, theirs, relative_distance(record, other)


def _panel(
    blank: TensorPanel,
    left_source: TensorSource | None,
    right_source: TensorSource | None,
    failed: TensorDifference | None,
) -> TensorPanel:
    left, right = blank.left, blank.right
    is_failed = failed is not None and (failed.section, failed.name) == (blank.section, left.name)
    panel = replace(blank, difference=failed if is_failed else None)
    if left.dtype != right.dtype or left.shape != right.shape or not left.size:
        return panel
    try:
        mine, other = _load(left, left_source), _load(right, right_source)
    except StorageError as error:
        return replace(panel, trouble=str(error))
    return panel if mine is None or other is None else _measured(panel, mine, other)


def _load(record: TensorRecord, source: TensorSource | None) -> Array | None:
    """Return all elements as a flat array; a complex one is two numbers."""
    # numpy loads here and not before: reports without values do without it.
    from tracediff.diff.elements import decode_values
    from tracediff.events.element_types import decode_elements

    if record.values is not None:
        return decode_values(record)
    stored = None if source is None or record.file is None else source.load(record)
    return None if stored is None else decode_elements(stored, record.dtype)


def _measured(panel: TensorPanel, left: Array, right: Array) -> TensorPanel:
    """Return the panel with what all values of both sides tell."""
    from tracediff.diff.error_grid import grid_of_errors
    from tracediff.diff.picture_pairs import pair_pictures
    from tracediff.diff.worst_elements import (
        absolute_errors,
        as_matrix,
        relative_l2,
        worst_elements,
    )

    errors, shape = absolute_errors(left, right), panel.left.shape
    pictures = pair_pictures(panel.left, left, right, errors)
    return replace(
        panel,
        distance=relative_l2(left, right),
        differing=int((errors > 0).sum()),
        worst=tuple(worst_elements(left, right, errors, shape, WORST_SHOWN)),
        grid=None if pictures is not None else grid_of_errors(as_matrix(errors, shape)),
        pictures=pictures,
    )
