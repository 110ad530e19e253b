"""Attaches a recording to modules: hooks, and the border of what `torch.compile` took over.

Knows how torch calls modules. Must not know what is recorded of a call.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any, Protocol

import torch

from tracediff.errors import UsageError
from tracediff.integrations.torch_places import ModulePlace


class CallWatch(Protocol):
    """What is told of calls; `at_border` says that the present thread is in compiled code.

    It calls `come_last` before each call of the outermost module, from outside of what is watched.
    """

    at_border: bool
    come_last: Callable[[], None]

    def enter(
        self,
        place: ModulePlace,
        module: torch.nn.Module,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        """A module is about to be called."""

    def leave(
        self, place: ModulePlace, module: torch.nn.Module, args: tuple[Any, ...], output: Any
    ) -> None:
        """A module has returned."""

    def leave_outer(
        self,
        place: ModulePlace,
        module: torch.nn.Module,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        output: Any,
    ) -> None:
        """The outermost module has returned; these are its arguments, as it leaves them."""

    def meet(
        self, place: ModulePlace, module: torch.nn.Module, args: tuple[Any, ...], output: Any
    ) -> None:
        """A module of which nothing but the output is recorded has returned."""


class ModuleHook(partial[None]):
    """A hook that stays where it is: a copy of its module, or a file of it, gets one that does
    nothing, since the recorder that it leads to can be neither copied nor kept.
    """

    @property
    def __name__(self) -> str:
        """What torch prints."""
        return f"tracediff_{self.func.__name__}"

    @property
    def __globals__(self) -> Any:
        """Raises UsageError: torch.jit.script, which asks for it, would compile the hook."""
        raise UsageError(
            "torch.jit.script cannot compile a module while it is recorded: script it outside of "
            "the recorded block"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (nullcontext(), "__exit__")  # takes anything, does nothing


@contextmanager
def watch_calls(
    places: Mapping[torch.nn.Module, ModulePlace], watch: CallWatch, *, inputs: bool
) -> Iterator[None]:
    """Tell `watch` of the calls of modules while the block runs.

    A module that was compiled in place (`module.compile()`) runs no hooks: its compiled call is
    replaced by one that tells of itself. Raises UsageError at the end for a module that was
    compiled so within the block. Hooks that are registered within the block run before the
    recording's from the next call of the outermost module on.
    """
    handles = []
    hooks: list[tuple[OrderedDict[int, Any], int]] = []
    borders: dict[torch.nn.Module, tuple[Callable[..., Any], Callable[..., Any]]] = {}
    try:
        for module, place in places.items():
            if isinstance(module, torch.jit.ScriptModule):
                raise UsageError(
                    f"cannot record {place.component}: a module of torch.jit runs no hooks; record "
                    "the module that it was made of, or leave it out with include="
                )
            compiled = module._compiled_call_impl
            if compiled is not None:
                border: Callable[..., Any] = partial(
                    _call_at_border, watch, place, module, compiled
                )
                borders[module] = compiled, border
                module._compiled_call_impl = border
                continue
            if inputs or not place.is_leaf or place.is_outer:
                enter = ModuleHook(watch.enter, place)
                handles.append(module.register_forward_pre_hook(enter, with_kwargs=True))
                leave = ModuleHook(watch.leave_outer if place.is_outer else watch.leave, place)
            else:  # a hook before each call costs as much as what it would find
                leave = ModuleHook(watch.meet, place)
            handle = module.register_forward_hook(leave, with_kwargs=place.is_outer)
            handles.append(handle)
            hooks.append((module._forward_hooks, handle.id))
        watch.come_last = partial(_come_last, hooks)
        yield
        for module, place in places.items():
            held = module._compiled_call_impl
            if held is not None and held is not borders.get(module, (None, None))[1]:
                raise UsageError(
                    f"{place.component} was compiled inside the recorded block, where its calls "
                    "cannot be seen; call .compile() before record_module"
                )
    finally:
        for handle in handles:
            handle.remove()
        for module, (compiled, border) in borders.items():
            if module._compiled_call_impl is border:
                module._compiled_call_impl = compiled


def _come_last(hooks: Sequence[tuple[OrderedDict[int, Any], int]]) -> None:
    """Have hooks run behind all others of their modules, which may change what a call gives."""
    for held, key in hooks:
        if next(reversed(held)) != key:
            held.move_to_end(key)


def _call_at_border(
    watch: CallWatch,
    place: ModulePlace,
    module: torch.nn.Module,
    compiled: Callable[..., Any],
    *args: Any,
    **kwargs: Any,
) -> Any:
    """Call compiled code as one call, whatever of it torch leaves uncompiled."""
    if torch.compiler.is_compiling() or watch.at_border:
        return compiled(*args, **kwargs)
    watch.enter(place, module, args, kwargs)
    watch.at_border = True
    try:
        output = compiled(*args, **kwargs)
    finally:
        watch.at_border = False
    watch.leave_outer(place, module, args, kwargs, output)
    return output
