"""Hands inputs to a session and fetches its values, also those that numpy has no type for.

Knows ONNX Runtime's values. Must not know graphs or events.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime

from tracediff.errors import UsageError
from tracediff.events.element_types import Array, resolve_element_type
from tracediff.recording.recordable import Tensor

_RAW_BITS: Final[Mapping[str, tuple[str, npt.DTypeLike]]] = MappingProxyType(
    {
        "tensor(bfloat16)": ("bfloat16", np.uint16),
        "tensor(float8e4m3fn)": ("float8_e4m3fn", np.uint8),
        "tensor(float8e5m2)": ("float8_e5m2", np.uint8),
    }
)
"""Types of ONNX Runtime that numpy lacks: their name in a trace, and integers for their bits."""

_UNREADABLE: Final = ("int4", "uint4", "int2", "uint2", "float4e2m1", "fnuz", "float8e8m0")
"""Parts of the names of element types that neither numpy nor a trace can hold."""


class Fetched(NamedTuple):
    """Values by name, and ONNX Runtime's types of them, such as `seq(map(int64,tensor(float)))`."""

    values: dict[str, Any]
    types: dict[str, str]


def is_readable(kind: str) -> bool:
    """Whether values of one of ONNX Runtime's types can be read."""
    elements = kind.replace(")", "(").split("(")
    return not any(e.endswith(_UNREADABLE) for e in elements)


def read_input(name: str, value: Any, is_sequence: bool) -> Any:
    """Return an input as arrays in the machine's order of bytes: one, or a list for a sequence.

    Raises UsageError for what is no array.
    """
    if is_sequence:
        return [_read_array(f"{name}[{index}]", item) for index, item in enumerate(value)]
    return value if isinstance(value, Mapping) else _read_array(name, value)


def fetch_values(
    session: onnxruntime.InferenceSession,
    names: Sequence[str],
    inputs: Mapping[str, Any],
    draws: bool,
) -> Fetched:
    """Return the named outputs of a session: arrays, what nests of them, and raw bits.

    Raw bits, of types that numpy lacks, are a `Tensor` with its `dtype`. All is fetched in one
    run, or in two where there are both raw bits and values that are no tensors. Raises UsageError
    for the latter where the model `draws` random numbers, which would be others in a second run,
    and for raw bits where an input holds strings or is no tensor. Other errors are those of ONNX
    Runtime.
    """
    feeds = {name: _as_feed(value) for name, value in inputs.items()}
    types = {output.name: output.type for output in session.get_outputs()}
    raw = [name for name in names if types[name] in _RAW_BITS]
    nested = [name for name in names if not types[name].startswith("tensor(")]
    if not raw:
        found = dict(zip(names, session.run(list(names), feeds), strict=True))
        return Fetched(found, types)
    if any(not isinstance(feed, onnxruntime.OrtValue) for feed in feeds.values()):
        raise UsageError(
            f"{raw[0]} is a {types[raw[0]]}, which cannot be read where an input holds strings or "
            "is a sequence or map; leave it out with include="
        )
    if nested and draws:
        raise UsageError(
            f"{raw[0]} ({types[raw[0]]}) and {nested[0]} ({types[nested[0]]}) cannot be read in "
            "one run, and in a second one the model would draw other random numbers; leave one of "
            "the two out with include="
        )
    tensors = [name for name in names if name not in set(nested)]
    given = zip(tensors, session.run_with_ort_values(tensors, feeds), strict=True)
    found = {name: _read_tensor(value, types[name]) for name, value in given}
    if nested:
        found |= dict(zip(nested, session.run(nested, feeds), strict=True))
    return Fetched({name: found[name] for name in names}, types)


def _read_array(name: str, value: Any) -> Array:
    try:
        array = np.asarray(value)
    except ValueError:
        raise UsageError(
            f"the input {name} is no array: its parts have several shapes; only inputs that the "
            "model takes as a sequence can be a list of arrays"
        ) from None
    if array.dtype.kind in "US":
        return array.astype(object)
    if array.dtype.kind == "O" and not all(isinstance(v, str | bytes) for v in array.flat):
        raise UsageError(f"the input {name} is an array of objects; allowed are numbers or strings")
    if array.dtype.kind == "O":
        return array
    try:
        resolve_element_type(array)
    except TypeError:
        raise UsageError(
            f"the input {name} is an array of {array.dtype}, which a trace cannot hold; begin the "
            "model with a Cast from another type"
        ) from None
    return array.astype(array.dtype.newbyteorder("="), order="C", copy=False)


def _as_feed(value: Any) -> Any:
    """Return a tensor as ONNX Runtime's own value; strings, sequences and maps have none."""
    if not isinstance(value, np.ndarray) or value.dtype.kind == "O":
        return value
    if value.dtype.kind != "V" and value.dtype.isbuiltin == 1:
        return onnxruntime.OrtValue.ortvalue_from_numpy(value)
    kind = onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
    bits = value.view(f"u{value.dtype.itemsize}")
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, kind)


def _read_tensor(value: onnxruntime.OrtValue, kind: str) -> Array | Tensor:
    if kind not in _RAW_BITS:
        array: Array = value.numpy()
        return array
    dtype, storage = _RAW_BITS[kind]
    held = ctypes.string_at(value.data_ptr(), value.tensor_size_in_bytes())
    return Tensor(np.frombuffer(held, storage).reshape(value.shape()), dtype=dtype)
