"""Which value of an exported ONNX model is what a module of its PyTorch source gives.

Knows the places that torch's exporter notes at nodes. Must not know sessions or traces.
"""

from __future__ import annotations

import ast
from typing import Final

from tracediff.errors import UsageError
from tracediff.integrations.onnx_graph import Model, load_model

SCOPES: Final = "pkg.torch.onnx.name_scopes"
"""The property with a node's modules from the outermost in, and the name of the call itself."""


def module_values(model: Model) -> dict[str, str]:
    """Return the value that each module gives, by the module's path, in graph order.

    It is the last value that the exporter notes as made inside of the module. Of a module that is
    called more than once it is that of the last call; of modules that give the same value, the
    innermost is named. Raises UsageError for a model without such notes: those of
    `torch.onnx.export(..., dynamo=True)` have them.
    """
    found: dict[str, str] = {}
    for node in load_model(model).graph.node:
        noted = {entry.key: entry.value for entry in node.metadata_props}.get(SCOPES)
        for path in () if noted is None else ast.literal_eval(noted)[:-1]:
            found.pop(path, None)  # in the order of last values
            found[path] = node.output[0]
    if not found:
        raise UsageError(
            "no node says which module it comes from; export the model with "
            "torch.onnx.export(..., dynamo=True), or write the rules by hand"
        )
    innermost: dict[str, str] = {}
    for path in sorted(found, key=len):
        innermost[found[path]] = path
    return {path: value for path, value in found.items() if path and innermost[value] == path}


def map_rules(model: Model, name: str) -> str:
    """Return rules for `tracediff diff --map` from the trace of a module to that of its export.

    The left trace is one of `record_module` for a module of class `name`, the right one of
    `record_session` with `joins=False`; both include only what `module_values` names, and `""`
    (the module as a whole) on the left.
    """
    loaded = load_model(model)
    rules = [f"event:{name} -> model", "event:module.called -> node.computed"]
    results = [held.name for held in loaded.graph.output]
    for index, result in enumerate(results):
        place = f"[{index}]" if len(results) > 1 else ""
        rules.append(f"tensor:output{place} -> output.{result}")
    for path, value in module_values(loaded).items():
        rules += [f"event:{path} -> {value}", f"tensor:{path}.output -> {value}"]
    return "\n".join(rules) + "\n"
