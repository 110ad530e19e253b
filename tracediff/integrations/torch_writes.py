"""What is written beside results: arguments that a call changes, and a module's own tensors.

Knows identity, torch's counts of changes, and content where these say nothing. Must not know events
or how a tensor is recorded.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import torch

from tracediff.integrations.nested import Leaves
from tracediff.integrations.torch_parameters import identify, plain_path

WRITTEN: Final = "written"
"""Ends the names of arguments as a call left them."""


class Arguments:
    """The arguments of a call as they were before it."""

    def __init__(self, leaves: Leaves) -> None:
        self._tensors = {name: (held, _mark(name, held)) for name, held in leaves.tensors.items()}
        self._scalars = dict(leaves.scalars)

    def written(self, after: Leaves) -> Leaves:
        """Return what a call changed or added, as `NAME.written`; None stands for what is gone.

        The lengths of caches are left out: they are told where a module reads them.
        """
        found = Leaves({}, {}, {})
        for name, tensor in after.tensors.items():
            known = self._tensors.get(name)
            if known is None or not _is_same(name, *known, tensor):
                found.tensors[f"{name}.{WRITTEN}"] = tensor
        for name, value in after.scalars.items():
            if name not in self._scalars or self._scalars[name] != value:
                found.scalars[f"{name}.{WRITTEN}"] = value
        for name in (*self._tensors, *self._scalars):
            if name not in after.tensors and name not in after.scalars:
                found.scalars[f"{name}.{WRITTEN}"] = None
        return found


def _is_same(name: str, before: torch.Tensor, mark: object, after: torch.Tensor) -> bool:
    if before is after:
        return mark == _mark(name, after)
    if before.dtype is not after.dtype or before.shape != after.shape:
        return False
    return bool(_content(name, before) == _content(name, after))


def _mark(name: str, tensor: torch.Tensor) -> object:
    """Return what changes with a tensor; inference tensors have no count of their changes."""
    return _content(name, tensor) if tensor.is_inference() else tensor._version


def _content(name: str, tensor: torch.Tensor) -> dict[str, str]:
    return identify(name, tensor)


@dataclass(frozen=True, slots=True)
class _Held:
    """A tensor of a module at a moment.

    `content` is that of buffers, which are small, and of tensors without a count of changes.
    """

    tensor: weakref.ref[torch.Tensor]
    version: int
    content: dict[str, str] | None

    def stands_for(self, tensor: torch.Tensor, content: dict[str, str] | None) -> bool:
        """Whether the tensor is still the same one, unchanged."""
        same = self.tensor() is tensor and self.version == _version(tensor)
        return same and self.content == content


class ModuleTensors:
    """The parameters, buffers and gradients of a module as they were, to find what was changed."""

    def __init__(self, module: torch.nn.Module, prefix: str) -> None:
        self._module = module
        self._prefix = prefix
        self._held = {
            name: _Held(weakref.ref(tensor), _version(tensor), content)
            for name, tensor, content in self._tensors()
        }

    def changed(self) -> dict[str, Any]:
        """Return those that are other ones now, or new, by name; None for those that are gone.

        Of parameters and gradients, torch's count of changes decides: what goes around it (`.data`)
        is not seen.
        """
        found: dict[str, Any] = {}
        now = set()
        for name, tensor, content in self._tensors():
            now.add(name)
            known = self._held.get(name)
            if known is None or not known.stands_for(tensor, content):
                found[name] = tensor
        gone = {name for name in self._held if name not in now and not name.endswith(".grad")}
        return found | dict.fromkeys(sorted(gone))

    def _tensors(self) -> Iterator[tuple[str, torch.Tensor, dict[str, str] | None]]:
        for path, parameter in self._module.named_parameters():
            name = self._prefix + plain_path(path)
            yield name, parameter, _content(name, parameter) if parameter.is_inference() else None
            if parameter.grad is not None:
                yield f"{name}.grad", parameter.grad, None
        for path, buffer in self._module.named_buffers():
            name = self._prefix + plain_path(path)
            yield name, buffer, _content(name, buffer)


def _version(tensor: torch.Tensor) -> int:
    return -1 if tensor.is_inference() else tensor._version
