"""Puts values of ONNX Runtime into the sections of an event: numbers as tensors, the rest exactly.

Knows arrays, sequences and maps. Must not know sessions or graphs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tracediff.errors import UsageError
from tracediff.integrations.nested import find_leaves
from tracediff.recording.recordable import Tensor

MOST_STRINGS: Final = 1024
"""Elements up to which a tensor of strings stands in a trace."""

_NUMBERS: Final[Mapping[str, npt.DTypeLike]] = MappingProxyType(
    {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64}
)
"""Types of the values of a map, which arrive as Python's numbers."""


def make_sections(
    section: str, values: Mapping[str, Any], types: Mapping[str, str]
) -> dict[str, Any]:
    """Return tensors as `section`, and what is no number as `state` (of inputs) or `choice`.

    The numbers of a map are one tensor in the order of its keys, and those keys are exact, as
    `NAME.keys`; so is a sequence of maps with the same keys, one row each. `types` are those of
    ONNX Runtime, by name. Raises UsageError for too many strings.
    """
    tensors: dict[str, Any] = {}
    discrete: dict[str, Any] = {}
    for name, value in values.items():
        leaves = find_leaves(name, _without_maps(value, types.get(name, "")), _is_array)
        discrete |= leaves.scalars
        for leaf, array in leaves.tensors.items():
            if isinstance(array, Tensor) or array.dtype.kind not in "OUS":
                tensors[leaf] = array
            elif array.size <= MOST_STRINGS:
                discrete[leaf] = np.asarray(array, dtype=str).tolist()
            else:
                raise UsageError(
                    f"{leaf} holds {array.size} strings; at most {MOST_STRINGS} can be recorded: "
                    "leave it out with include="
                )
    named = {section: tensors, "state" if section == "inputs" else "choice": discrete}
    return {name: held for name, held in named.items() if held}


def _without_maps(value: Any, kind: str) -> Any:
    """Return a value with its maps as arrays of their values, and of their keys."""
    if isinstance(value, Mapping):
        keys = sorted(value)
        return {"keys": _as_text(keys), "values": _as_array([value[k] for k in keys], kind)}
    if not isinstance(value, list) or not value or not isinstance(value[0], Mapping):
        return value
    keys = sorted(value[0])
    if any(sorted(row) != keys for row in value):
        return [_without_maps(row, kind) for row in value]
    rows = [[row[key] for key in keys] for row in value]
    return {"keys": _as_text(keys), "values": _as_array(rows, kind)}


def _as_text(keys: Sequence[Any]) -> Any:
    """Return the keys of a map as an array of strings, which is compared exactly."""
    return np.array([str(key) for key in keys], dtype=object)


def _as_array(numbers: Sequence[Any], kind: str) -> Any:
    found = [held for name, held in _NUMBERS.items() if name in kind]
    return np.array(numbers, dtype=found[0] if found else None)


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic | Tensor)
