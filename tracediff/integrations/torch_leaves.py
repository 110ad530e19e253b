"""The tensors and plain values in arguments and results of modules; numpy's arrays are tensors too.

Knows torch and arrays by their form. Must not know modules or events.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from tracediff.errors import UsageError
from tracediff.integrations.nested import Leaves, find_leaves
from tracediff.integrations.python_arrays import is_array


def find_tensors(
    name: str,
    value: Any,
    leaves: Leaves | None = None,
    *,
    leave_out: Sequence[str] = (),
    names_code: bool = False,
) -> Leaves:
    """Return the leaves of `value` as `find_leaves` does, every array as a tensor."""
    leaves = find_leaves(
        name, value, _is_tensor, leaves, leave_out=leave_out, names_code=names_code
    )
    for inner, held in leaves.tensors.items():
        if not isinstance(held, torch.Tensor):
            leaves.tensors[inner] = _as_tensor(inner, held)
    return leaves


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor) or is_array(value)


def _as_tensor(name: str, array: Any) -> torch.Tensor:
    try:
        return torch.from_numpy(np.array(array, order="C"))
    except (TypeError, ValueError) as error:
        reason = str(error).partition("\n")[0].rstrip(". ")
        raise UsageError(
            f"cannot record {name} (an array of {array.dtype}): {reason}; leave it out with "
            "leave_out="
        ) from None
