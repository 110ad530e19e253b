"""Walks arguments and results of calls, which may nest in any way, to named leaves.

Knows Python's containers, objects, model outputs (ordered dictionaries) and caches of keys and
values by their form. Must not know any engine: what a tensor is, the caller says.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections import deque
from collections.abc import (
    Callable,
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    Sequence,
    Set,
    ValuesView,
)
from copyreg import __newobj__  # type: ignore[attr-defined]
from enum import Enum
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from tracediff.errors import UsageError

MOST_LEVELS: Final = 20
"""Containers inside each other; what nests deeper is refused."""

MOST_LEAVES: Final = 100_000
"""Leaves of one call; a value with more, such as a large graph of objects, is refused."""

MOST_BYTES: Final = 64
"""Bytes up to which they are kept themselves, and a digest of longer ones."""

IsTensor = Callable[[Any], bool]


class Leaves(NamedTuple):
    """What was found: tensors and plain values by name, and lengths of caches by layer."""

    tensors: dict[str, Any]
    scalars: dict[str, Any]
    cache_lengths: dict[str, list[int]]


def find_leaves(
    name: str,
    value: Any,
    is_tensor: IsTensor,
    leaves: Leaves | None = None,
    *,
    names_code: bool = False,
    leave_out: Sequence[str] = (),
) -> Leaves:
    """Return the leaves of `value`, which is called `name`, added to `leaves` if they are given.

    `name[0]` is the first item of a sequence, `name.key` an entry of a mapping (`name['a.b']` where
    the key is no plain word), field of a dataclass, of a named tuple or of another object; a
    sequence of one value, with nothing but None behind it, gives it the sequence's own name. A
    container without items is a plain value. Objects are taken apart as pickle does; what was set
    on a mapping or a dataclass beside its own entries belongs to it. Of a cache of keys and values,
    only the lengths are taken: its tensors are as large as all earlier steps together. None has no
    leaf. With `names_code`, functions, classes and callable objects are recorded by their qualified
    name. What a glob of `leave_out` names is not looked at.

    Raises UsageError that names whatever cannot be recorded: iterators, locks, open files, code
    (without `names_code`), what contains itself, nests too deep or is too large, and two leaves of
    one name.
    """
    leaves = Leaves({}, {}, {}) if leaves is None else leaves
    if not leave_out and is_tensor(value) and name not in leaves.tensors:  # the usual case
        leaves.tensors[name] = value
        return leaves
    _Walk(is_tensor, leaves, leave_out, names_code=names_code).visit(name, value)
    return leaves


class _Walk:
    def __init__(
        self, is_tensor: IsTensor, leaves: Leaves, leave_out: Sequence[str], *, names_code: bool
    ) -> None:
        self._is_tensor = is_tensor
        self._leaves = leaves
        self._leave_out = leave_out
        self._names_code = names_code
        self._inside: list[int] = []

    def visit(self, name: str, value: Any) -> None:
        """Take the leaves of a value."""
        if value is None or any(fnmatchcase(name, glob) for glob in self._leave_out):
            return
        if self._is_tensor(value):
            self._put(self._leaves.tensors, name, value)
        elif isinstance(value, bool | int | float | str) and not isinstance(value, Enum):
            self._put(self._leaves.scalars, name, value)
        elif (lengths := cache_lengths(value)) is not None:
            self._put(self._leaves.cache_lengths, name, lengths)
        elif (text := _plain_text(value)) is not None:
            self._put(self._leaves.scalars, name, text)
        elif callable(value) and not isinstance(value, partial):
            if not self._names_code:
                raise _refusal(name, value, "code cannot be compared")
            self._put(self._leaves.scalars, name, _qualified_name(value))
        else:
            self._enter(name, value)

    def _enter(self, name: str, value: Any) -> None:
        """Take the leaves of a container."""
        if id(value) in self._inside:
            raise _refusal(name, value, "it contains itself")
        if len(self._inside) == MOST_LEVELS:
            raise _refusal(name, value, f"it nests more than {MOST_LEVELS} levels deep")
        self._inside.append(id(value))
        is_empty = True
        for inner, item in _items(name, value):
            is_empty = False
            self.visit(inner, item)
        self._inside.pop()
        if is_empty:
            self._put(self._leaves.scalars, name, {} if isinstance(value, Mapping) else [])

    def _put(self, found: dict[str, Any], name: str, value: Any) -> None:
        if any(name in held for held in self._leaves):
            raise UsageError(f"two values of one call are both called {name}; rename one of them")
        if sum(map(len, self._leaves)) >= MOST_LEAVES:
            raise _refusal(name, value, f"with it there are more than {MOST_LEAVES} values")
        found[name] = value


def _plain_text(value: Any) -> Any:
    """Return what stands for a value that has no parts; None for one that has some."""
    match value:
        case Enum():
            return f"{type(value).__qualname__}.{value.name}"
        case np.dtype():
            return str(value)
        case complex():
            return {"real": value.real, "imaginary": value.imag}
        case bytes() | bytearray() | memoryview():
            held = bytes(value)
            if len(held) <= MOST_BYTES:
                return {"bytes": held.hex()}
            return {"bytes": len(held), "sha256": hashlib.sha256(held).hexdigest()}
    return None


def _qualified_name(value: Any) -> str:
    held = value if hasattr(value, "__qualname__") else type(value)
    return f"{held.__module__}.{held.__qualname__}"


def _items(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the parts of a container and their names; raise UsageError for what has none."""
    match value:
        case Mapping():
            for key, item in value.items():
                is_word = isinstance(key, str) and not set(key) & set(".[]'\"")
                yield (f"{name}.{key}" if is_word else f"{name}[{_spelled(name, key)}]"), item
            yield from _set_beside(name, value, value)
        case list() | tuple() | deque() | Sequence() | KeysView() | ValuesView() | ItemsView():
            yield from _sequence_items(name, value)
        case Set():
            for index, item in enumerate(_in_order(name, value)):
                yield f"{name}[{index}]", item
        case partial():
            yield f"{name}.function", value.func
            for key, held in (("arguments", value.args), ("keywords", value.keywords)):
                if held:
                    yield f"{name}.{key}", held
        case _ if dataclasses.is_dataclass(value):
            fields = [field.name for field in dataclasses.fields(value)]
            for field in fields:
                yield f"{name}.{field}", getattr(value, field, None)
            yield from _set_beside(name, value, fields)
        case Iterator():
            raise _refusal(name, value, "reading it would use it up")
        case _:
            yield from _object_items(name, value)


def _set_beside(name: str, value: Any, own: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the public attributes of an object that are not its own entries."""
    known = set(own)
    for key, item in getattr(value, "__dict__", {}).items():
        if key not in known and not key.startswith("_"):
            yield f"{name}.{key}", item


def _spelled(name: str, key: Any) -> str:
    """Return a key that is no plain word; the spelling of most objects is their address."""
    if not isinstance(key, str | int | float | bool | bytes | tuple | Enum | None):
        raise _refusal(name, key, "only text, numbers and tuples can be keys")
    return repr(key)


def _sequence_items(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    fields = getattr(value, "_fields", None)
    held = list(value)
    is_one = bool(held) and all(item is None for item in held[1:])
    if fields is None and is_one and not isinstance(held[0], list | tuple | None):
        yield name, held[0]
        return
    for index, item in enumerate(held):
        yield (f"{name}.{fields[index]}" if fields else f"{name}[{index}]"), item


def _in_order(name: str, value: Set[Any]) -> list[Any]:
    """Return the items of a set in an order that is the same in every run."""
    for item in value:
        if not isinstance(item, bool | int | float | str | bytes | None):
            raise _refusal(name, item, "only a set of text and numbers has an order")
    return sorted(value, key=lambda item: (type(item).__name__, item))


def _object_items(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the parts of an object as pickle takes it apart."""
    try:
        found = value.__reduce_ex__(4)
    except Exception as error:  # whatever the object's own code raises
        raise _refusal(name, value, str(error) or type(error).__name__) from None
    if isinstance(found, str):  # the name of one of a kind
        yield name, found
        return
    make, args, state, *listed = (*found, None, None, None)[:5]
    is_usual = make is __newobj__
    if is_usual:
        state = object.__getstate__(value)  # all of it, whatever its own method would leave out
    args = args[1:] if is_usual else args
    own, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    has_fields = isinstance(own, dict | None) and isinstance(slots, dict | None)
    fields = {**(own or {}), **(slots or {})} if has_fields else {}
    if args or not fields:
        yield f"{name}.type", _qualified_name(type(value))
    if args:
        yield f"{name}.arguments", [_qualified_name(a) if callable(a) else a for a in args]
    if not has_fields:
        yield f"{name}.state", state
    yield from _items(name, fields)
    for key, items in zip(("items", "entries"), listed, strict=True):
        if items is not None:
            yield f"{name}.{key}", list(items)


def _refusal(name: str, value: Any, reason: str) -> UsageError:
    return UsageError(
        f"cannot record {name} ({type(value).__qualname__}): {reason.rstrip('. ')}; return or pass "
        "tensors, arrays and plain values, or leave it out with leave_out="
    )


def cache_lengths(value: Any) -> list[int] | None:
    """Return how many positions each layer of a cache of keys and values holds.

    -1 stands for a layer without positions, such as one of linear attention. None where `value` is
    no cache. A cache has `get_seq_length(layer)` and a list `layers`, or, in versions of
    transformers before 4.54, `key_cache`.
    """
    measure = getattr(value, "get_seq_length", None)
    layers = getattr(value, "layers", getattr(value, "key_cache", None))
    if measure is None or not isinstance(layers, list):
        return None
    return [_measured(measure, layer) for layer in range(len(layers))]


def _measured(measure: Callable[[int], Any], layer: int) -> int:
    """Return a length that may be an integer, or a tensor of one."""
    try:
        return int(float(measure(layer)))
    except (OverflowError, ValueError):  # infinite, or no length at all
        return -1
