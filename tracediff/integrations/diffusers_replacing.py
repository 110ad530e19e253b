"""Stands around methods of an object, and around its call, for a while.

Knows how Python looks methods up. Must not know pipelines.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import ExitStack
from types import MethodType
from typing import Any


def call_through(stack: ExitStack, called: Any, around: Callable[..., Any]) -> None:
    """Let calls of the object `called` go through `around` until `stack` is left.

    Python looks `__call__` up in the class, so an attribute of the object would not be called.
    """
    kind = type(called)

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return around(MethodType(kind.__call__, self), *args, **kwargs)

    held = {"__call__": call, "__module__": kind.__module__}
    stack.callback(setattr, called, "__class__", kind)
    called.__class__ = type(kind.__name__, (kind,), held)


def replace_method(stack: ExitStack, owner: Any, name: str, around: Callable[..., Any]) -> None:
    """Let calls of `owner.name` go through `around` until `stack` is left."""
    found = getattr(owner, name)
    if name in vars(owner):
        stack.callback(setattr, owner, name, found)
    else:
        stack.callback(delattr, owner, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        return around(found, *args, **kwargs)

    # What a pipeline may pass is read off the signature: `eta` is, if the scheduler takes it.
    call.__signature__ = inspect.signature(found)  # type: ignore[attr-defined]
    setattr(owner, name, call)
