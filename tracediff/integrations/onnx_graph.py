"""Reads the graph of an ONNX model: its nodes, what each reads, and which values can be outputs.

Knows the format of models. Must not know sessions or recorders.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, TypeAlias

import onnx
from blake3 import blake3
from google.protobuf.message import DecodeError

from tracediff.errors import StorageError, UsageError
from tracediff.events.digest import digest_text

LARGEST_MODEL: Final = 2**31 - 1
"""Bytes of a model in one piece, weights included: more than that protobuf cannot hold."""

LONGEST_ATTRIBUTE: Final = 64
"""Characters up to which an attribute stands in a trace itself."""

_PLAIN: Final = frozenset(
    (
        *(onnx.AttributeProto.FLOAT, onnx.AttributeProto.INT, onnx.AttributeProto.STRING),
        *(onnx.AttributeProto.FLOATS, onnx.AttributeProto.INTS, onnx.AttributeProto.STRINGS),
    )
)

_RANDOM: Final = frozenset(
    (
        *("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"),
        *("Bernoulli", "Multinomial"),
    )
)
"""Operators that draw; a Dropout does so with a third input, `training_mode`."""

Model: TypeAlias = str | Path | bytes | onnx.ModelProto
"""A model: its path, the bytes of its file, or itself."""


@dataclass(frozen=True, slots=True)
class GraphNode:
    """One recorded node: its name is that of its first recorded output.

    `op` is its operator, with the opset in which that got its present meaning (if ONNX knows it)
    and its attributes: `Softmax-13 axis=-1`. `parents` are the recorded nodes that it reads from,
    directly or through nodes that are not recorded, in order.
    """

    name: str
    op: str
    outputs: tuple[str, ...]
    parents: tuple[str, ...]


def load_model(model: Model) -> onnx.ModelProto:
    """Return a model with its weights; raise StorageError, or UsageError for what is no model."""
    if isinstance(model, onnx.ModelProto):
        return model
    try:
        if isinstance(model, bytes):
            return onnx.load_from_string(model)
        loaded = onnx.load(model, load_external_data=False)
        _refuse_large(loaded, str(model))
        onnx.load_external_data_for_model(loaded, str(Path(model).parent))
    except OSError as error:
        raise StorageError(f"cannot read {_where(model)}: {error.strerror or error}") from None
    except (DecodeError, onnx.checker.ValidationError) as error:
        raise UsageError(f"{_where(model)}: no ONNX model that can be read ({error})") from None
    return loaded


def read_nodes(model: onnx.ModelProto, include: str | Sequence[str]) -> list[GraphNode]:
    """Return the nodes with an output that a glob of `include` fits, in graph order.

    Raises UsageError for a glob that fits none.
    """
    globs = (include,) if isinstance(include, str) else tuple(include)
    unused = set(globs)
    opsets = {held.domain: held.version for held in model.opset_import}
    recorded: list[GraphNode] = []
    sources: dict[str, tuple[str, ...]] = {}
    for node in model.graph.node:
        outputs = tuple(name for name in node.output if name and _fits(name, globs, unused))
        read = (source for name in names_read(node) for source in sources.get(name, ()))
        parents = tuple(dict.fromkeys(read))
        if outputs:
            recorded.append(_graph_node(node, opsets, outputs, parents))
        for name in filter(None, node.output):  # no name: an optional output that is left out
            sources[name] = (recorded[-1].name,) if outputs else parents
    if unused and model.graph.node:
        raise UsageError(
            f"include {sorted(unused)[0]!r} fits no value of the model; allowed are globs over "
            f"names such as {', '.join(n for n in model.graph.node[0].output if n)}"
        )
    return recorded


def expose(model: onnx.ModelProto, names: Sequence[str]) -> onnx.ModelProto:
    """Return a copy of the model that gives these values as outputs."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    known = {output.name for output in copy.graph.output}
    # ONNX Runtime infers types and shapes itself.
    copy.graph.output.extend(onnx.ValueInfoProto(name=n) for n in names if n not in known)
    return copy


def draws_random(model: onnx.ModelProto) -> bool:
    """Whether a node draws random numbers; a seed makes no second run of a session the same."""
    bodies = (model.graph.node, *(function.node for function in model.functions))
    return any(_draws(node) for body in bodies for node in body)


def subgraphs(node: onnx.NodeProto) -> Iterator[tuple[str, onnx.GraphProto]]:
    """Yield the graphs that a node holds, by the name of the attribute."""
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield attribute.name, attribute.g
        elif attribute.type == onnx.AttributeProto.GRAPHS:
            for index, graph in enumerate(attribute.graphs):
                yield f"{attribute.name}[{index}]", graph


def names_read(node: onnx.NodeProto) -> Iterator[str]:
    """Yield what a node reads, and what the graphs in it read from outside of them."""
    yield from filter(None, node.input)  # no name: an optional input that is left out
    for _, graph in subgraphs(node):
        for inner in graph.node:
            yield from names_read(inner)
        yield from (output.name for output in graph.output)


def _draws(node: onnx.NodeProto) -> bool:
    if node.op_type in _RANDOM or (node.op_type == "Dropout" and any(node.input[2:])):
        return True
    return any(_draws(inner) for _, graph in subgraphs(node) for inner in graph.node)


def _where(model: str | Path | bytes) -> str:
    return "the bytes given" if isinstance(model, bytes) else str(model)


def _fits(name: str, globs: Sequence[str], unused: set[str]) -> bool:
    # A name that is one of the globs is meant, even if it has brackets in it.
    fitting = [glob for glob in globs if glob == name or fnmatchcase(name, glob)]
    unused.difference_update(fitting)
    return bool(fitting)


def _graph_node(
    node: onnx.NodeProto,
    opsets: Mapping[str, int],
    outputs: tuple[str, ...],
    parents: tuple[str, ...],
) -> GraphNode:
    return GraphNode(outputs[0], _describe(node, opsets), outputs, parents)


def _describe(node: onnx.NodeProto, opsets: Mapping[str, int]) -> str:
    domain = node.domain if node.domain != "ai.onnx" else ""
    op = f"{domain}.{node.op_type}" if domain else node.op_type
    attributes = {held.name: held for held in node.attribute}
    try:
        schema = onnx.defs.get_schema(node.op_type, opsets.get(domain, 1), domain)
    except onnx.defs.SchemaError:
        pass
    else:
        op = f"{op}-{schema.since_version}"
        # An optimised graph spells some defaults out.
        defaults = {name: held.default_value for name, held in schema.attributes.items()}
        attributes = {name: held for name, held in defaults.items() if held.type} | attributes
    return " ".join([op, *(f"{name}={spell(attributes[name])}" for name in sorted(attributes))])


def spell(attribute: onnx.AttributeProto) -> str:
    """Return a plain attribute as text; graphs, tensors and long ones by the digest."""
    if attribute.type not in _PLAIN:
        held = attribute.SerializeToString(deterministic=True)
        return digest_text(blake3(held))
    value = onnx.helper.get_attribute_value(attribute)
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    if len(text) <= LONGEST_ATTRIBUTE:
        return text
    return digest_text(blake3(text.encode()))


def _refuse_large(model: onnx.ModelProto, where: str) -> None:
    size = model.ByteSize()
    for tensor in model.graph.initializer:
        entries = {entry.key: entry.value for entry in tensor.external_data}
        size += int(entries.get("length", 0))
    if size > LARGEST_MODEL:
        raise UsageError(
            f"{where}: {size} bytes with its weights; models up to {LARGEST_MODEL} bytes can be "
            "recorded, larger ones in parts (onnx.utils.extract_model)"
        )
