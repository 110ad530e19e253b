"""Runs a session and fetches its values, also those of element types that numpy lacks.

Knows ONNX Runtime's values. Must not know graphs or events.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime

from tracediff.recording.recordable import Tensor

_RAW_BITS: Final[Mapping[str, tuple[str, npt.DTypeLike]]] = MappingProxyType(
    {
        "tensor(bfloat16)": ("bfloat16", np.uint16),
        "tensor(float8e4m3fn)": ("float8_e4m3fn", np.uint8),
        "tensor(float8e5m2)": ("float8_e5m2", np.uint8),
    }
)
"""Types of ONNX Runtime that numpy lacks: their name in a trace, and integers for their bits."""


def fetch_values(
    session: onnxruntime.InferenceSession, names: Sequence[str], inputs: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the named outputs of a session: arrays, what nests of them, and raw bits.

    Raw bits, of types that numpy lacks, are a `Tensor` with its `dtype`; they take a second run.
    Errors are those of ONNX Runtime.
    """
    feeds = {name: _ort_value(value) for name, value in inputs.items()}
    types = {output.name: output.type for output in session.get_outputs()}
    raw = [name for name in names if types[name] in _RAW_BITS]
    plain = [name for name in names if name not in set(raw)]
    found: dict[str, Any] = {}
    if plain:
        found = dict(zip(plain, session.run(plain, feeds), strict=True))
    if raw:
        values = session.run_with_ort_values(raw, feeds)
        pairs = zip(raw, values, strict=True)
        found |= {name: _read_bits(value, *_RAW_BITS[types[name]]) for name, value in pairs}
    return {name: found[name] for name in names}


def _ort_value(value: Any) -> onnxruntime.OrtValue:
    array = np.asarray(value)
    if array.dtype.kind != "V" and array.dtype.isbuiltin == 1:
        return onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array))
    kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    bits = np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, kind)


def _read_bits(value: onnxruntime.OrtValue, dtype: str, storage: npt.DTypeLike) -> Tensor:
    held = ctypes.string_at(value.data_ptr(), value.tensor_size_in_bytes())
    return Tensor(np.frombuffer(held, storage).reshape(value.shape()), dtype=dtype)
