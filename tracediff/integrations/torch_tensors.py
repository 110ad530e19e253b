"""Turns torch tensors into what a recorder takes: snapshots of small ones, summaries of large ones.

Knows torch's layouts, devices and element types. Must not know modules or events. A digest is over
the tensor's bytes, so a tensor of another device is copied to the CPU in any case; from there on
everything is as for numpy arrays, to the bit: equal digests come with equal statistics, whatever
the device. Torch's own operations would not be faster: on a CPU the same sums made of elementwise
operations took 1.5 times as long as numpy's, and its reductions depend on the machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

import numpy as np
import torch

from tracediff.errors import UsageError
from tracediff.events.digest import TensorDigest
from tracediff.events.element_types import (
    RAW_BIT_TYPES,
    Array,
    ElementType,
    resolve_element_type,
)
from tracediff.recording.flat_tensor import BLOCK, flatten
from tracediff.recording.levels import TensorLevel
from tracediff.recording.recordable import Snapshot, Summarised
from tracediff.recording.scratch import Workspace
from tracediff.recording.summary import summarise_tensor
from tracediff.recording.tensor_records import Recordable

_RAW_BITS: Final[Mapping[torch.dtype, tuple[str, torch.dtype]]] = MappingProxyType(
    {
        torch.bfloat16: ("bfloat16", torch.uint16),
        torch.float8_e4m3fn: ("float8_e4m3fn", torch.uint8),
        torch.float8_e5m2: ("float8_e5m2", torch.uint8),
    }
)
"""Types that numpy lacks: their name in a trace, and the integers that hold their bits."""

_NUMPY_HAS: Final = frozenset(
    (
        *(torch.float16, torch.float32, torch.float64, torch.complex64, torch.complex128),
        *(torch.bool, torch.int8, torch.int16, torch.int32, torch.int64),
        *(torch.uint8, torch.uint16, torch.uint32, torch.uint64),
    )
)

_FLOAT32: Final = torch.float32

EXACT_VALUES: Final = 1024
"""Integers and booleans are compared exactly: up to so many are kept themselves, so that a
difference has a place."""

_QUANTISED: Final = frozenset((torch.qint8, torch.quint8, torch.qint32))
_SPARSE: Final[Mapping[torch.layout, tuple[str, ...]]] = MappingProxyType(
    {
        torch.sparse_coo: ("indices", "values"),
        torch.sparse_csr: ("crow_indices", "col_indices", "values"),
        torch.sparse_csc: ("ccol_indices", "row_indices", "values"),
        torch.sparse_bsr: ("crow_indices", "col_indices", "values"),
        torch.sparse_bsc: ("ccol_indices", "row_indices", "values"),
    }
)


def is_tensor(value: object) -> bool:
    """Whether `value` is a tensor of torch."""
    return isinstance(value, torch.Tensor)


def record_tensor(
    name: str,
    tensor: torch.Tensor,
    level: TensorLevel,
    *,
    known: Recordable | None = None,
    workspace: Workspace | None = None,
) -> Iterator[tuple[str, Recordable]]:
    """Yield what stands in a trace for `tensor`, called `name`, as it is now.

    `known` is what stood for it before: it does so again if the bytes are still the same;
    `workspace` is memory that the calling thread keeps.

    A dense tensor of any layout, view, device and element type of a trace is one record. A sparse
    one is those of its parts, `name.indices` and `name.values` for example, a quantised one
    `name.int_repr`, `name.scale` and `name.zero_point`. Raises UsageError for a tensor without
    numbers (meta, fake, transformed by functorch), a nested one, and types that a trace lacks.
    """
    for part, dense in dense_parts(name, tensor):
        array, dtype = as_array(part, dense)
        if known is not None and _is_still(known, array):
            yield part, known
        else:
            yield part, _record(array, dtype, level, workspace)


def plain_array(tensor: torch.Tensor) -> Array | None:
    """Return the numbers of the usual tensor where they are; None where more is to be done.

    The usual tensor is a dense one of float32 in the memory of the CPU, with at least one number.
    """
    if tensor.dtype is not _FLOAT32:
        return None
    try:
        # Refuses all that has no such memory: other devices and layouts, bits that mean "negative".
        array: Array = (tensor.detach() if tensor.requires_grad else tensor).numpy()
    except (RuntimeError, TypeError):
        return None
    return array if array.size else None


def record_plain(
    array: Array, level: TensorLevel, known: Recordable | None, workspace: Workspace
) -> Recordable:
    """Return what `record_tensor` yields for a tensor of which `plain_array` is the array."""
    if known is not None and _is_still(known, array):
        return known
    return _record(array, None, level, workspace)


def stored_snapshot(stored: bytes, shape: tuple[int, ...], level: TensorLevel) -> Snapshot:
    """Return the snapshot of float32 numbers from their bytes, in C order.

    Bytes are copied faster than an array is made.
    """
    return Snapshot(np.frombuffer(stored, np.float32).reshape(shape), level=level)


def snapshot_plain(tensor: torch.Tensor, level: TensorLevel) -> Snapshot | None:
    """Return the snapshot of the usual tensor of at most BLOCK numbers, None for anything else."""
    array = plain_array(tensor)
    if array is None or array.size > BLOCK:
        return None
    return stored_snapshot(array.tobytes(), array.shape, level)


def dense_parts(name: str, tensor: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the dense tensors that make up `tensor`, by name; raise UsageError as above."""
    if tensor.is_nested:
        for index, part in enumerate(tensor.detach().unbind()):
            yield from dense_parts(f"{name}[{index}]", part)
    elif tensor.layout in _SPARSE:
        held = tensor.detach()
        held = held.coalesce() if tensor.layout is torch.sparse_coo else held
        for part in _SPARSE[tensor.layout]:
            yield f"{name}.{part}", getattr(held, part)()
    elif tensor.layout is not torch.strided:
        yield name, tensor.detach().to_dense()
    elif tensor.dtype in _QUANTISED:
        yield f"{name}.int_repr", tensor.int_repr()
        per_tensor = tensor.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric)
        scale = tensor.q_scale() if per_tensor else tensor.q_per_channel_scales()
        zero = tensor.q_zero_point() if per_tensor else tensor.q_per_channel_zero_points()
        yield f"{name}.scale", torch.as_tensor(scale, dtype=torch.float64)
        yield f"{name}.zero_point", torch.as_tensor(zero, dtype=torch.int64)
    else:
        yield name, tensor


def as_array(name: str, tensor: torch.Tensor) -> tuple[Array, str | None]:
    """Return a dense tensor as a numpy array, and its type's name where that holds raw bits.

    On the CPU the array is a view of the tensor's memory. Raises UsageError as `record_tensor`.
    """
    if tensor.is_meta:
        raise _refuse(name, tensor, "it is on the meta device and holds no numbers")
    dtype = tensor.dtype
    raw = _RAW_BITS.get(dtype)
    if raw is None and dtype not in _NUMPY_HAS:
        raise _refuse(name, tensor, "a trace has no such element type")
    try:
        held = tensor.detach()
        held = held if held.device.type == "cpu" else held.cpu()
        if held.is_conj() or held.is_neg():
            held = held.resolve_conj().resolve_neg()
        array: Array = held.numpy() if raw is None else held.view(raw[1]).numpy()
    except (RuntimeError, TypeError, NotImplementedError, ValueError) as error:
        reason = str(error).partition("\n")[0].rstrip(". ")
        if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
            reason = "it is inside of torch.func (grad, jvp, vmap), where it has no numbers yet"
        raise _refuse(name, tensor, reason) from None
    return array, None if raw is None else raw[0]


def _record(
    array: Array, dtype: str | None, level: TensorLevel, workspace: Workspace | None
) -> Recordable:
    if array.size <= BLOCK:
        if level.name == "sketch" and array.dtype.kind in "iub" and dtype is None:
            level = TensorLevel("values", EXACT_VALUES)
        return Snapshot(np.array(array, order="C"), dtype=dtype, level=level)
    summary = summarise_tensor(array, dtype=dtype, level=level, threads=1, workspace=workspace)
    return Summarised(summary, array=array.copy() if level.name == "full" else None)


def _is_still(known: Recordable, array: Array) -> bool:
    """Whether what was recorded before stands for the bytes of `array` now."""
    match known:
        case Snapshot():
            held = known.array
            same = held.shape == array.shape and held.dtype == array.dtype
            return same and held.tobytes() == array.tobytes()
        case Summarised():
            summary = known.summary
            if summary.shape != array.shape:
                return False
            element, array = resolve_element_type(
                array, summary.dtype if summary.dtype in RAW_BIT_TYPES else None
            )
            return summary.digest == digest_array(element, array)
    return False


def digest_array(element: ElementType, array: Array) -> str:
    """Return the digest of an array of the element's storage type."""
    digest = TensorDigest(element.name, array.shape)
    held = flatten(element, array)
    for piece in held.pieces(0, held.size):
        digest.update(piece)
    return digest.text()


def _refuse(name: str, tensor: torch.Tensor, reason: str) -> UsageError:
    shape = "of several shapes" if tensor.is_nested else str(list(tensor.shape))
    kind = f"{type(tensor).__name__} of {str(tensor.dtype).removeprefix('torch.')}, {shape}"
    return UsageError(
        f"cannot record {name or 'a tensor'} ({kind}): {reason}; leave the module out with include="
    )
