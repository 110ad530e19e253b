"""Identifies the initializers of an ONNX model, so that a changed one is named before its effect.

Knows tensors and exact sums of their bits, as `torch_parameters` writes them. Must not know
sessions or events.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt
import onnx
from blake3 import blake3

from tracediff.events.digest import TensorDigest, digest_text
from tracediff.events.element_types import Array, resolve_element_type
from tracediff.integrations.onnx_graph import subgraphs


def identify_initializers(
    model: onnx.ModelProto,
) -> tuple[dict[str, str], dict[str, list[int]]]:
    """Return what identifies each initializer by name, and sums that locate a change.

    Both are those of `torch_parameters.identify_parameters`. Initializers of a graph inside a node
    are called `NODE.ATTRIBUTE.NAME`; the tensor of a Constant is called as its output.
    """
    identities: dict[str, str] = {}
    sums: dict[str, list[int]] = {}
    for name, tensor in _tensors(model.graph, ""):
        identities[name], sums[name] = _identify(tensor)
    for sparse in model.graph.sparse_initializer:
        name = sparse.values.name
        for part, tensor in (("values", sparse.values), ("indices", sparse.indices)):
            identities[f"{name}.{part}"], sums[f"{name}.{part}"] = _identify(tensor)
    return identities, sums


def _tensors(graph: onnx.GraphProto, prefix: str) -> Iterator[tuple[str, onnx.TensorProto]]:
    for tensor in graph.initializer:
        yield prefix + tensor.name, tensor
    for node in graph.node:
        name = prefix + next(iter(node.output), node.name)
        if node.op_type == "Constant":
            yield from ((name, held) for held in map(_constant, node.attribute) if held is not None)
        for attribute, inner in subgraphs(node):
            yield from _tensors(inner, f"{name}.{attribute}.")


def _constant(attribute: onnx.AttributeProto) -> onnx.TensorProto | None:
    """Return the tensor of a Constant, whichever way it is written; None for a sparse one."""
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, onnx.TensorProto):
        return value
    if isinstance(value, onnx.SparseTensorProto):
        return None
    kind = {"f": np.float32, "i": np.int64, "s": np.object_}[
        attribute.name.removeprefix("value_")[0]
    ]
    return onnx.numpy_helper.from_array(np.array(value, kind))


def _identify(tensor: onnx.TensorProto) -> tuple[str, list[int]]:
    """Return what identifies the content of a tensor, in whichever field that is stored."""
    shape = ",".join(map(str, tensor.dims))
    kind = onnx.TensorProto.DataType.Name(tensor.data_type).lower()
    if tensor.data_type == onnx.TensorProto.STRING:
        return f"{kind}[{shape}] {_digest_strings(tensor.string_data)}", [0] * 5
    held = onnx.numpy_helper.to_array(tensor)
    try:
        element, array = resolve_element_type(held, None)
    except TypeError:  # types that a trace cannot hold, such as int4
        bits = _plain_bits(kind, held)
        return f"{kind}[{shape}] {digest_text(blake3(bits.tobytes()))}", _locating_sums(bits)
    digest = TensorDigest(element.name, array.shape)
    array = np.ascontiguousarray(array)
    digest.update(array.reshape(-1))
    return f"{element.name}[{shape}] {digest.text()}", _locating_sums(array)


def _digest_strings(strings: Iterable[bytes]) -> str:
    digest = blake3()
    for string in strings:
        digest.update(len(string).to_bytes(8, "little"))  # so that "ab", "c" is not "a", "bc"
        digest.update(string)
    return digest_text(digest)


def _plain_bits(kind: str, array: Array) -> Array:
    """Return the bits of elements: of those below a byte, without what fills the byte up."""
    bits: Array = np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")
    narrow = re.match(r"u?int([24])$|float(4)", kind)
    width = int(narrow[1] or narrow[2]) if narrow else 8 * bits.dtype.itemsize
    plain: Array = bits & bits.dtype.type(2**width - 1)
    return plain


def _locating_sums(array: Array) -> list[int]:
    """Return sums over rows and columns of the words of an array, modulo 2^64."""
    if not array.size or array.dtype.itemsize > 8:
        return [0] * 5
    words = array.view(f"i{array.dtype.itemsize}").astype(np.int64)
    rows = words.reshape(1, -1) if words.ndim < 2 else words.reshape(len(words), -1)
    sums = [int(rows.sum())]
    for totals in (rows.sum(1), rows.sum(0)):
        places: npt.NDArray[np.int64] = np.arange(len(totals), dtype=np.int64)
        sums += [int((places * totals).sum()), int((places * places * totals).sum())]
    return sums
