"""Decides which value of an exported model is which tensor that a call of a module gave.

Knows calls, values and their forms. Must not know sessions, recorders or torch.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import onnx

from tracediff.errors import UsageError
from tracediff.events.element_types import resolve_element_type
from tracediff.integrations.onnx_names import ExportNotes
from tracediff.recording.recordable import Tensor

Form: TypeAlias = tuple[str, tuple[int, ...]]
"""Element type and shape of a tensor."""


@dataclass(frozen=True, slots=True)
class SourceCall:
    """One call of a module: the tensors that it gave, and names of what it gave beside them.

    `content` are the digests of the tensors.
    """

    component: str
    tensors: Mapping[str, Form]
    content: tuple[str, ...]
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pairs:
    """What is compared: by call, which value of the model is which tensor that the call gave.

    `calls` are in the order of their ends, the network's own last; `left_out` are the names of
    what is not compared.
    """

    calls: tuple[SourceCall, ...]
    values: tuple[Mapping[str, str], ...]
    left_out: tuple[str, ...]

    @property
    def components(self) -> list[str]:
        """The modules of which a call is compared, each once."""
        pairs = zip(self.calls, self.values, strict=True)
        return list(dict.fromkeys(call.component for call, found in pairs if found))


def possible_values(
    notes: ExportNotes, present: Collection[str], calls: Sequence[SourceCall]
) -> list[list[str]]:
    """Return for each call the values that it may have given and that are `present`.

    There is none for a module of which two calls gave the same: the exporter may have made one of
    them.
    """
    contents: dict[str, list[tuple[str, ...]]] = {}
    for call in calls:
        contents.setdefault(call.component, []).append(call.content)
    found = {
        path: iter(notes.call_values(path, len(held)) if len(set(held)) == len(held) else ())
        for path, held in contents.items()
    }
    by_call: list[list[str]] = [next(found[call.component], []) for call in calls]
    return [[name for name in names if name in present] for names in by_call]


def pair_values(
    model: onnx.ModelProto,
    calls: Sequence[SourceCall],
    possible: Sequence[Sequence[str]],
    values: Mapping[str, Any],
) -> Pairs:
    """Return what is compared of `calls`, of which the last is that of the network.

    The outputs of the model are the network's results in their order. A tensor of another module
    is a value that alone may be it and has its form, in every call of the module. Raises
    UsageError for another number of results.
    """
    forms = {name: _form(value) for name, value in values.items()}
    *inner, results = calls
    chosen = [_choose(call, found, forms) for call, found in zip(inner, possible, strict=True)]
    chosen.append(_choose_results(model, results))
    both = list(zip(calls, chosen, strict=True))
    lacking = {name for call, found in both for name in call.tensors if name not in found}
    chosen = [{n: v for n, v in found.items() if n not in lacking} for found in chosen]
    # A call that alone had nothing to compare would be missing on one side.
    empty = {call.component for call, found in zip(calls, chosen, strict=True) if not found}
    kept = [{} if c.component in empty else f for c, f in zip(calls, chosen, strict=True)]
    names = [(name, f) for c, f in zip(calls, kept, strict=True) for name in _names(c)]
    left_out = dict.fromkeys(name for name, found in names if name not in found)
    return Pairs(tuple(calls), tuple(kept), tuple(left_out))


def _choose(
    call: SourceCall, possible: Sequence[str], forms: Mapping[str, Form | None]
) -> dict[str, str]:
    """Return the value of each tensor that a call gave, where one alone has its form."""
    given = list(call.tensors.values())
    found = {}
    for name, form in call.tensors.items():
        fitting = [value for value in possible if forms.get(value) == form]
        if len(fitting) == given.count(form) == 1:
            found[name] = fitting[0]
    return found


def _choose_results(model: onnx.ModelProto, results: SourceCall) -> dict[str, str]:
    """Return which output of the model is which result of the network: they stand in one order."""
    names = [held.name for held in model.graph.output]
    if len(names) != len(results.tensors):
        raise UsageError(
            f"the model gives {', '.join(names)}, and the network {', '.join(results.tensors)}: "
            "those must be as many"
        )
    return dict(zip(results.tensors, names, strict=True))


def _names(call: SourceCall) -> tuple[str, ...]:
    """Return the names of what a call gave, and that of the module where it gave nothing."""
    return (*call.tensors, *call.others) or (call.component,)


def _form(value: Any) -> Form | None:
    if isinstance(value, Tensor):
        array = np.asarray(value.array)
        return str(value.dtype), array.shape
    if not isinstance(value, np.ndarray):
        return None
    try:
        return resolve_element_type(value)[0].name, value.shape
    except TypeError:
        return None
