"""Identifies the parameters and buffers of a module, so that a changed one is named.

Knows tensors and exact sums of their bits. Must not know events.
"""

from __future__ import annotations

import torch
from torch.nn.parameter import is_lazy

from tracediff.errors import UsageError
from tracediff.events.element_types import resolve_element_type
from tracediff.integrations.torch_tensors import as_array, dense_parts, digest_array


def identify_parameters(
    module: torch.nn.Module, prefix: str = ""
) -> tuple[dict[str, str], dict[str, list[int]]]:
    """Return what identifies each parameter and buffer by name, and sums that locate a change.

    An identity is `DTYPE[SHAPE] DIGEST`. The sums of a tensor, taken as rows of words w of its
    bits ([N, ...] is N rows, [N] one), are, modulo 2^64: sum w, sum r w, sum r^2 w, sum c w,
    sum c^2 w over rows r and columns c. One element that changes by d moves them by d, r d, r^2 d,
    c d and c^2 d, which gives r and c. Tensors that share memory are read once. Raises UsageError
    for tensors that a trace cannot hold.
    """
    identities: dict[str, str] = {}
    places: dict[str, list[int]] = {}
    known: dict[tuple[object, ...], tuple[str, list[int]]] = {}
    named = [
        *module.named_parameters(remove_duplicate=False),
        *module.named_buffers(remove_duplicate=False),
    ]
    for path, tensor in named:
        if is_lazy(tensor):
            raise UsageError(
                f"cannot record {prefix}{plain_path(path)}: it has no shape before the first call "
                "of its lazy module; call the model once before it is recorded"
            )
        for name, part in dense_parts(prefix + plain_path(path), tensor.detach()):
            key = (part.data_ptr(), part.dtype, part.shape, part.stride(), part.device)
            if part.is_meta or key not in known:
                known[key] = _identify(name, part)
            identities[name], places[name] = known[key]
    return identities, places


def identify(name: str, tensor: torch.Tensor) -> dict[str, str]:
    """Return the identity of each dense part of a tensor, by name."""
    return {part: _identity(part, dense) for part, dense in dense_parts(name, tensor.detach())}


def plain_path(path: str) -> str:
    """Return a module's path without what `torch.compile` puts into it."""
    return ".".join(part for part in path.split(".") if part != "_orig_mod")


def _identity(name: str, tensor: torch.Tensor) -> str:
    array, dtype = as_array(name, tensor)
    element, array = resolve_element_type(array, dtype)
    return f"{element.name}[{','.join(map(str, array.shape))}] {digest_array(element, array)}"


def _identify(name: str, tensor: torch.Tensor) -> tuple[str, list[int]]:
    array, dtype = as_array(name, tensor)
    _, array = resolve_element_type(array, dtype)
    words = torch.from_numpy(array.view(f"i{array.itemsize}")) if array.itemsize <= 8 else None
    sums = [0] * 5 if words is None or not array.size else _locating_sums(words)
    return _identity(name, tensor), sums


def _locating_sums(words: torch.Tensor) -> list[int]:
    rows = words.reshape(1, -1) if words.dim() < 2 else words.reshape(len(words), -1)
    by_row = rows.sum(1, dtype=torch.int64)
    by_column = rows.sum(0, dtype=torch.int64)
    sums = [by_row.sum()]
    for totals in (by_row, by_column):
        places = torch.arange(len(totals), dtype=torch.int64)
        sums += [(places * totals).sum(), (places * places * totals).sum()]
    return [int(total) for total in sums]
