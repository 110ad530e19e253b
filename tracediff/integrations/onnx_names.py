"""Which values of an exported ONNX model the calls of a module of its source may have given.

Knows the places that torch's exporter notes at nodes. Must not know sessions, traces or torch.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final

import onnx

from tracediff.errors import UsageError
from tracediff.integrations.onnx_graph import names_read

SCOPES: Final = "pkg.torch.onnx.name_scopes"
"""The property with a node's modules from the outermost in, and the name of the operation."""


@dataclass(frozen=True, slots=True)
class NotedNode:
    """A node with the modules that it comes from, outermost first, and torch's operation."""

    modules: tuple[str, ...]
    operation: str
    outputs: tuple[str, ...]


class ExportNotes:
    """What the exporter noted; `names` are the recorded names of paths that are called otherwise.

    Raises UsageError for a model without such notes: those of
    `torch.onnx.export(..., dynamo=True)` have them.
    """

    def __init__(self, graph: onnx.GraphProto, names: Mapping[str, str]) -> None:
        self._nodes: list[NotedNode] = []
        self._readers: dict[str, list[NotedNode | None]] = {}
        self._results = {held.name for held in graph.output}
        for node in graph.node:
            noted = _read_note(node, names)
            if noted is not None:
                self._nodes.append(noted)
            elif node.op_type == "Split":
                # Its results have another shape, or are what it reads: what it reads may be last.
                noted = NotedNode((), "", tuple(node.output))
            for name in names_read(node):
                self._readers.setdefault(name, []).append(noted)
        if not self._nodes:
            raise UsageError(
                "no node says which module it comes from; export the model with "
                "torch.onnx.export(..., dynamo=True)"
            )

    def call_values(self, path: str, count: int) -> list[list[str]]:
        """Return for each of `count` calls of a module the values that it can have given.

        They are those that are made in the call and read outside of it, in graph order. Calls of
        one module are told apart by their operations, which are the same for each and in the same
        modules; there is none where they are not. A value is left out where a node reads it of
        which nobody knows whether it belongs to the call: it may not be the last.
        """
        inside = [node for node in self._nodes if path in node.modules]
        operations = list({node.operation: node for node in inside}.values())
        if not operations or len(operations) % count:
            return []
        size = len(operations) // count
        calls = [operations[start : start + size] for start in range(0, len(operations), size)]
        if len({tuple(_kind(node, path) for node in call) for call in calls}) > 1:
            return []
        names = [{node.operation for node in call} for call in calls]
        return [self._given([node for node in inside if node.operation in n]) for n in names]

    def _given(self, call: Sequence[NotedNode]) -> list[str]:
        held = frozenset(call)
        return [name for node in call for name in node.outputs if self._leaves(name, held)]

    def _leaves(self, value: str, call: Set[NotedNode]) -> bool:
        """Whether a value that is made in a call is known to be read outside of it."""
        readers = self._readers.get(value, [])
        if None in readers:
            return False
        return value in self._results or any(reader not in call for reader in readers)


def _read_note(node: onnx.NodeProto, names: Mapping[str, str]) -> NotedNode | None:
    for entry in node.metadata_props:
        if entry.key == SCOPES:
            *modules, operation = ast.literal_eval(entry.value)
            paths = tuple(names.get(path, path) for path in modules)
            return NotedNode(paths, operation, tuple(filter(None, node.output)))
    return None


def _kind(node: NotedNode, path: str) -> tuple[tuple[str, ...], str]:
    """Return a node's modules from `path` in, and its operation without torch's number."""
    modules = node.modules[node.modules.index(path) :]
    return modules, re.sub(r"_\d+$", "", node.operation)
