"""Which modules are recorded, and what their calls, arguments and results are called.

Knows module paths, globs and signatures. Must not know the recorder.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import torch

from tracediff.errors import UsageError
from tracediff.integrations.nested import Leaves
from tracediff.integrations.torch_leaves import find_tensors
from tracediff.integrations.torch_parameters import plain_path


@dataclass(frozen=True, slots=True)
class ModulePlace:
    """One module of a recording.

    `component` names it in events, `prefix` goes before the names of its tensors, `output` is that
    of its result; `is_outer` says
    that it is the module that was asked for, `is_leaf` that no recorded module is in it,
    `is_recorded` that its calls are events. `positional` are the names of its arguments.
    """

    component: str
    prefix: str
    output: str
    positional: tuple[str, ...]
    is_outer: bool
    is_leaf: bool
    is_recorded: bool

    def arguments(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], leave_out: Sequence[str]
    ) -> Leaves:
        """Return the leaves of a call's arguments by their names in the signature."""
        leaves = Leaves({}, {}, {})
        for index, value in enumerate(args):
            known = index < len(self.positional)
            name = self.positional[index] if known else f"[{index}]"
            find_tensors(name, value, leaves, leave_out=leave_out, names_code=True)
        for name, value in kwargs.items():
            find_tensors(name, value, leaves, leave_out=leave_out, names_code=True)
        return leaves


def find_places(
    module: torch.nn.Module, include: str | Sequence[str], name: str
) -> dict[torch.nn.Module, ModulePlace]:
    """Return the place of the module and of each in it whose path fits a glob of `include`.

    A module that stands at several paths has the first. What `torch.compile` puts into paths is
    left out. Raises UsageError for a glob that fits no path.
    """
    globs = (include,) if isinstance(include, str) else tuple(include)
    paths = {held: plain_path(path) for path, held in reversed([*module.named_modules()])}
    paths = dict(reversed(paths.items()))
    unused = [g for g in globs if not any(fnmatchcase(path, g) for path in paths.values())]
    if unused or not globs:
        some = ", ".join([path for path in paths.values() if path][:5])
        raise UsageError(
            f"include {unused[0] if unused else '()'!r} fits no module; paths are such as {some}"
        )
    taken = {
        held: any(fnmatchcase(path, glob) for glob in globs)
        for held, path in paths.items()
        if held is not module and not _is_wrapped(held, module)
    }
    outer = any(fnmatchcase("", glob) for glob in globs)
    recorded = {module: outer, **{held: True for held, wanted in taken.items() if wanted}}
    containers = {parent for held in recorded for parent in _parents(paths[held])}
    named = {held: _joined(name, paths[held]) for held in recorded}
    prefixes = {held: f"{path}." if path else "" for held, path in named.items()}
    return {
        held: ModulePlace(
            component=named[held] or type(_unwrapped(held)).__name__,
            prefix=prefixes[held],
            output=f"{prefixes[held]}output",
            positional=_positional(held),
            is_outer=held is module,
            is_leaf=paths[held] not in containers or len(recorded) == 1,
            is_recorded=wanted,
        )
        for held, wanted in recorded.items()
    }


def _parents(path: str) -> list[str]:
    """Return the paths of the modules that a module is in."""
    parts = path.split(".") if path else []
    return [".".join(parts[:count]) for count in range(len(parts))]


def _joined(name: str, path: str) -> str:
    return f"{name}.{path}" if name and path else name or path


def _unwrapped(module: torch.nn.Module) -> torch.nn.Module:
    """Return the module that `torch.compile` wrapped, or the module itself."""
    held = getattr(module, "_orig_mod", None)
    return module if held is None else held


def _is_wrapped(module: torch.nn.Module, outer: torch.nn.Module) -> bool:
    """Whether `module` is what `torch.compile` wrapped as `outer`: they are one module."""
    return _unwrapped(outer) is module


def _positional(module: torch.nn.Module) -> tuple[str, ...]:
    try:
        parameters = inspect.signature(_unwrapped(module).forward).parameters.values()
    except (TypeError, ValueError):
        return ()
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return tuple(parameter.name for parameter in parameters if parameter.kind in kinds)
