"""Walks arguments and results of calls, which may nest in any way, to named leaves.

Knows Python's containers, dataclasses, model outputs (ordered dictionaries) and caches of keys and
values by their form. Must not know any engine: what a tensor is, the caller says.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

MOST_LEVELS: Final = 20
"""Containers inside each other; what lies deeper is not looked at."""

IsTensor = Callable[[Any], bool]
Scalar = bool | int | float | str


class Leaves(NamedTuple):
    """What was found: tensors and plain values by name, and lengths of caches by layer."""

    tensors: dict[str, Any]
    scalars: dict[str, Scalar]
    cache_lengths: dict[str, list[int]]


def find_leaves(name: str, value: Any, is_tensor: IsTensor, leaves: Leaves | None = None) -> Leaves:
    """Return the leaves of `value`, which is called `name`, added to `leaves` if they are given.

    `name[0]` is the first item of a sequence, `name.key` an entry of a mapping, field of a
    dataclass or of a named tuple; a sequence with one tensor and no other value than None gives
    it the sequence's own name. Of a cache of keys and values, only the lengths are taken: its
    tensors are as large as all earlier steps together. None and objects of other types have none.
    """
    leaves = Leaves({}, {}, {}) if leaves is None else leaves
    if is_tensor(value):  # the usual case
        leaves.tensors[name] = value
        return leaves
    _Walk(is_tensor, leaves).visit(name, value, MOST_LEVELS)
    return leaves


class _Walk:
    def __init__(self, is_tensor: IsTensor, leaves: Leaves) -> None:
        self._is_tensor = is_tensor
        self._leaves = leaves

    def visit(self, name: str, value: Any, levels: int) -> None:
        """Take the leaves of a value; one container inside another costs a level."""
        if value is None or levels == 0:
            return
        if self._is_tensor(value):
            self._leaves.tensors[name] = value
        elif isinstance(value, bool | int | float | str):
            self._leaves.scalars[name] = value
        elif (lengths := cache_lengths(value)) is not None:
            self._leaves.cache_lengths[name] = lengths
        else:
            for inner, item in _items(name, value):
                self.visit(inner, item, levels - 1)


def _items(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the parts of a container and their names; nothing for anything else."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield (f"{name}.{key}" if isinstance(key, str) else f"{name}[{key!r}]"), item
    elif isinstance(value, list | tuple):
        fields = getattr(value, "_fields", None)
        present = [item for item in value if item is not None]
        if fields is None and len(present) == 1 and not isinstance(present[0], list | tuple):
            yield name, present[0]
        else:
            for index, item in enumerate(value):
                yield (f"{name}.{fields[index]}" if fields else f"{name}[{index}]"), item
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield f"{name}.{field.name}", getattr(value, field.name, None)


def cache_lengths(value: Any) -> list[int] | None:
    """Return how many positions each layer of a cache of keys and values holds.

    -1 stands for a layer without positions, such as one of linear attention. None where `value` is
    no cache. A cache has `get_seq_length(layer)` and a list `layers`, or, in versions of
    transformers before 4.54, `key_cache`.
    """
    measure = getattr(value, "get_seq_length", None)
    layers = getattr(value, "layers", getattr(value, "key_cache", None))
    if measure is None or not isinstance(layers, list):
        return None
    return [_measured(measure, layer) for layer in range(len(layers))]


def _measured(measure: Callable[[int], Any], layer: int) -> int:
    """Return a length that may be an integer, or a tensor of one."""
    try:
        return int(float(measure(layer)))
    except (OverflowError, ValueError):  # infinite, or no length at all
        return -1
