"""Causes seen in how a tensor is kept: its element type, its shape, the order of its axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations
from typing import Any, Final

from tracediff.diff.causes.findings import Findings, Record
from tracediff.diff.causes.numeric import (
    own_statistics,
    same_elements,
    same_numbers,
    tensor_records,
    values_of,
)
from tracediff.diff.result import Cause

_MOST_AXES: Final = 6
"""Tensors of more axes are not tried in every order of them."""


def attributes(findings: Findings) -> Cause | None:
    """The element type or the shape differs."""
    records = tensor_records(findings)
    if records is None:
        return None
    for kind in ("dtype", "shape"):
        mine, other = records[0][kind], records[1][kind]
        if mine != other:
            return Cause(
                kind,
                findings.component,
                f"the {kind} of {records[0]['name']} is {mine} on the left, {other} on the right",
                {"left": mine, "right": other},
            )
    return None


def nan_in_another_type(findings: Findings) -> Cause | None:
    """NaN appears on one side only, which keeps the tensor in another element type."""
    records = tensor_records(findings)
    if records is None or records[0]["dtype"] == records[1]["dtype"]:
        return None
    counts = [record["stats"].get("nan", 0) for record in records]
    if counts[0] == counts[1]:
        return None
    types = [record["dtype"] for record in records]
    text = f"{counts[0]} NaN in {types[0]} on the left, {counts[1]} in {types[1]} on the right"
    facts = {"nan": counts, "dtype": types}
    return Cause("nan-born", findings.component, text, facts)


def layout_only(findings: Findings) -> Cause | None:
    """Both sides hold the same elements, and only the shape or the order of axes differs."""
    records = tensor_records(findings)
    if records is None or records[0]["dtype"] != records[1]["dtype"]:
        return None
    left, right = records
    if left["shape"] == right["shape"]:
        return None
    how = _layout_change(left, right)
    if how is None:
        return None
    return Cause(
        "layout-only",
        findings.component,
        f"the elements of {left['name']} are the same, {how}",
        {"left": left["shape"], "right": right["shape"]},
    )


def _layout_change(left: Record, right: Record) -> str | None:
    if math.prod(left["shape"]) != math.prod(right["shape"]):
        return None
    reshaped = f"shaped {left['shape']} on the left, {right['shape']} on the right"
    transposed = f"with axes in another order: {left['shape']} against {right['shape']}"
    values = values_of(left, right)
    if values is not None:
        if same_elements(*values):
            return reshaped
        return transposed if _is_transposed(left["shape"], right["shape"], *values) else None
    if not own_statistics(left, right):
        return None
    if left["stats"] == right["stats"]:  # sums in a fixed order: the order is the same
        return reshaped
    same_axes = sorted(left["shape"]) == sorted(right["shape"])
    return transposed if same_axes and same_numbers(left, right) else None


def _is_transposed(
    shape: Sequence[int], target: Sequence[int], left: Sequence[Any], right: Sequence[Any]
) -> bool:
    if len(shape) != len(target) or len(shape) > _MOST_AXES:
        return False
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    return any(
        [shape[axis] for axis in axes] == list(target)
        and same_elements(_read(left, target, [strides[axis] for axis in axes]), right)
        for axes in permutations(range(len(shape)))
    )


def _read(values: Sequence[Any], shape: Sequence[int], strides: Sequence[int]) -> list[Any]:
    places = [0]
    for extent, stride in zip(shape, strides, strict=True):
        places = [place + step * stride for place in places for step in range(extent)]
    return [values[place] for place in places]
