"""The record of one tensor, as a line holds it.

Knows the record's fields and how they map to JSON; how the summaries are computed is
`recording`'s matter, how two are compared `diff`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class TensorRecord:
    """What a trace keeps of one tensor.

    `dtype` is a numpy/safetensors name; `shape` the extents; `logical` says where the tensor sits
    (layer, positions, timestep, slot); `digest` covers dtype, shape and C-order little-endian
    bytes; `stats` holds counts and float64 statistics of the finite part; `sketch` 64 numbers of
    a linear projection; `values` the elements in C order (non-finite ones as strings); `file` the
    name of the `.npy` in the trace's tensor folder.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    digest: str
    stats: Mapping[str, Any]
    logical: Mapping[str, Any] = field(default_factory=dict)
    sketch: tuple[Any, ...] | None = None
    values: tuple[Any, ...] | None = None
    file: str | None = None

    @property
    def size(self) -> int:
        """Number of elements."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count


def tensor_to_json(record: TensorRecord) -> dict[str, Any]:
    """Return the JSON object of `record`, keys in the schema's order."""
    found: dict[str, Any] = {
        "name": record.name,
        "dtype": record.dtype,
        "shape": list(record.shape),
        "logical": dict(record.logical),
        "digest": record.digest,
        "stats": dict(record.stats),
    }
    if record.sketch is not None:
        found["sketch"] = list(record.sketch)
    if record.values is not None:
        found["values"] = list(record.values)
    if record.file is not None:
        found["file"] = record.file
    return found


def tensor_from_json(found: Mapping[str, Any]) -> TensorRecord:
    """Return the record of a validated JSON object."""
    sketch, values = found.get("sketch"), found.get("values")
    return TensorRecord(
        name=found["name"],
        dtype=found["dtype"],
        shape=tuple(found["shape"]),
        digest=found["digest"],
        stats=found["stats"],
        logical=found["logical"],
        sketch=None if sketch is None else tuple(sketch),
        values=None if values is None else tuple(values),
        file=found.get("file"),
    )
