"""Reads arrays of whatever kind as numpy arrays: numpy's own, JAX's, PyTorch's.

Knows arrays by their form. Must not import an engine: what is read was made by one that is loaded.
"""

from __future__ import annotations

import sys
from typing import Any, Final

import numpy as np

from tracediff.errors import UsageError
from tracediff.events.element_types import Array

_KEY: Final = "key<"
"""Starts the dtype of JAX's typed random keys: the generator's name stands in the brackets."""


def is_array(value: object) -> bool:
    """Whether `value` is an array: it has a dtype and a shape, and numpy can read it."""
    return all(hasattr(value, name) for name in ("dtype", "shape", "__array__"))


def read_array(name: str, array: Any) -> tuple[Array, dict[str, Any]]:
    """Return the numbers of an array called `name`, and what else tells it from others.

    Gradients are left behind; the numbers of a random key of JAX are its state, and the name of its
    generator is told beside. Raises UsageError for what numpy cannot read: an array without
    numbers (inside of `jax.jit`, `grad` or `vmap`), a deleted one.
    """
    detach = getattr(array, "detach", None)
    held = array if detach is None else detach()
    kind = str(held.dtype)
    try:
        if kind.startswith(_KEY):
            data = sys.modules["jax"].random.key_data(held)
            return np.asarray(data), {"generator": kind.removeprefix(_KEY).rstrip(">")}
        return np.asarray(held), {}
    except (TypeError, ValueError, RuntimeError) as error:
        reason = str(error).partition("\n")[0].rstrip(". ")
        if _is_traced(held):
            reason = (
                "JAX traces it (jit, grad, vmap …), where it has no numbers yet; record around "
                "what is transformed: @recorded(recorder) above @jax.jit"
            )
        raise UsageError(f"cannot record the array {name}: {reason}") from None


def _is_traced(array: object) -> bool:
    return any(
        held.__name__ == "Tracer" and held.__module__.partition(".")[0] == "jax"
        for held in type(array).__mro__
    )
