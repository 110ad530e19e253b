"""The safetensors format: eight bytes of length, a JSON header, then all elements.

Knows the format as its specification gives it; every offset is checked before it is used. Elements
are mapped into memory, so that only the tensor at hand takes some.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from tracediff.errors import UsageError
from tracediff.events.element_types import ELEMENT_TYPES
from tracediff.importing.input_files import check_regular
from tracediff.importing.natural_order import natural_key
from tracediff.recording.recordable import Tensor

LENGTH_BYTES = 8
LARGEST_HEADER = 100_000_000
"""Bytes; the limit of the format's own library."""

DTYPES: Mapping[str, str] = MappingProxyType(
    {
        **{"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"},
        **{"F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "C64": "complex64"},
        **{"I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8"},
        **{"U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8", "BOOL": "bool"},
    }
)


def read_safetensors(path: Path) -> Iterator[tuple[str, Tensor]]:
    """Yield names and tensors in natural order of the names; raise UsageError naming the entry."""
    size = check_regular(path)
    header, start = _read_header(path, size)
    entries = {key: entry for key, entry in header.items() if key != "__metadata__"}
    places = {name: _place(path, name, entry, size - start) for name, entry in entries.items()}
    for name in sorted(places, key=natural_key):
        dtype, shape, begin, _ = places[name]
        element = ELEMENT_TYPES[dtype]
        storage = element.storage.newbyteorder("<")
        if math.prod(shape) == 0:
            array = np.empty(shape, storage)
        else:
            array = np.memmap(path, storage, "r", start + begin, shape)
        yield name, Tensor(array, dtype=dtype)


def _read_header(path: Path, size: int) -> tuple[Mapping[str, Any], int]:
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(LENGTH_BYTES), "little")
        if size < LENGTH_BYTES or length > min(LARGEST_HEADER, size - LENGTH_BYTES):
            raise UsageError(
                f"{path} is no safetensors file: its header would reach beyond its end"
            )
        content = stream.read(length)
    try:
        header = json.loads(content, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: its header is no JSON object ({error!s:.200})") from None
    if not isinstance(header, dict):
        raise UsageError(f"{path}: its header is no JSON object")
    return header, LENGTH_BYTES + length


def _place(
    path: Path, name: str, entry: Any, available: int
) -> tuple[str, tuple[int, ...], int, int]:
    """Return element type, shape, and first and last byte of an entry that keeps the rules."""
    where = f"{path}, tensor {name!r:.80}"
    if not isinstance(entry, dict) or not {"dtype", "shape", "data_offsets"} <= entry.keys():
        raise UsageError(f"{where}: expected an object with dtype, shape and data_offsets")
    if entry["dtype"] not in DTYPES:
        raise UsageError(
            f"{where}: elements of type {entry['dtype']!r:.40} are not read; known are "
            f"{', '.join(DTYPES)}"
        )
    shape, offsets = entry["shape"], entry["data_offsets"]
    if not _are_counts(shape) or not _are_counts(offsets) or len(offsets) != 2:
        raise UsageError(f"{where}: shape and data_offsets are lists of integers from 0")
    dtype = DTYPES[entry["dtype"]]
    needed = math.prod(shape) * ELEMENT_TYPES[dtype].storage.itemsize
    begin, end = offsets
    if end - begin != needed or end > available:
        raise UsageError(
            f"{where}: bytes {begin} to {end} of {available} cannot hold {shape} of {dtype}"
        )
    return dtype, tuple(shape), begin, end


def _are_counts(found: Any) -> bool:
    return isinstance(found, list) and all(type(part) is int and part >= 0 for part in found)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice")
    return found
