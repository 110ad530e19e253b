"""What a pipeline's call returned: its pictures or latents, and whatever else, nothing left out.

Knows the forms of a result of diffusers: a dataclass, or the tuple of its fields. Must not know
events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Final

import numpy as np
import torch

from tracediff.errors import UsageError
from tracediff.integrations.diffusers_pictures import as_tensor, is_array

RETURNED: Final = "returned"
"""The name of what a call returned, as it returned it."""


@dataclass(frozen=True, slots=True)
class Returned:
    """The first value that a call returned, picture by picture, and the others.

    Each of `pictures` is of PIL, or a tensor or an array; of one array for all, a batch of one.
    `tensors` are those among the other values, `facts` the plain ones, both by name.
    """

    pictures: tuple[Any, ...]
    tensors: Mapping[str, torch.Tensor]
    facts: Mapping[str, Any]


def read_returned(result: Any) -> Returned:
    """Return what `result` holds; raise UsageError for what a trace cannot hold."""
    first, *others = _values(result)
    tensors: dict[str, torch.Tensor] = {}
    facts: dict[str, Any] = {}
    for index, value in enumerate(others, start=1):
        for name, held in _leaves(f"{RETURNED}[{index}]", value):
            if isinstance(held, torch.Tensor):
                tensors[name] = held
            else:
                facts[name] = held
    return Returned(tuple(_pictures(first)), tensors, facts)


def _values(result: Any) -> list[Any]:
    """Return the values of a result in order; a tuple in a tuple is several of them."""
    if is_dataclass(result) and not isinstance(result, type):
        return [getattr(result, field.name) for field in fields(result)]
    if not isinstance(result, tuple):
        return [result]
    found: list[Any] = []
    for value in result:
        found.extend(value if isinstance(value, tuple) else [value])
    return found or [None]


def _pictures(value: Any) -> Iterator[Any]:
    """Yield the pictures that stand in one array, in a list, or alone."""
    if isinstance(value, torch.Tensor | np.ndarray) and value.ndim > 0:
        for index in range(len(value)):
            yield value[index : index + 1]
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _pictures(item) if isinstance(item, list | tuple) else (_picture(item),)
    elif value is not None:
        yield _picture(value)


def _picture(value: Any) -> Any:
    if not is_array(value):
        raise _unknown(RETURNED, type(value).__name__)
    return value


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield tensors and plain values by name; None says nothing, as a missing field does."""
    if is_array(value):
        yield name, as_tensor(name, value)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _leaves(f"{name}[{index}]", item)
    elif isinstance(value, bool | int | float | str):
        yield name, value
    elif value is not None:
        raise _unknown(name, type(value).__name__)


def _unknown(name: str, found: str) -> UsageError:
    return UsageError(
        f"the pipeline's result holds {found} as {name}, which a trace cannot hold and diff could "
        "not compare; pictures of PIL, arrays, tensors, numbers and texts are possible"
    )
