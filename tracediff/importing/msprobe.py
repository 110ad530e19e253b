"""msprobe's `dump.json` as a trace: one event a recorded call, each following the one before it.

Knows the format that msprobe writes for PyTorch and MindSpore at its levels L0, L1 and mix: under
`data`, one entry a call, with `input_args`, `input_kwargs`, `input`, `output`, `parameters` and
their gradients; each tensor as dtype, shape, Max, Min, Mean, Norm and, where asked for, `md5`.
That key holds an MD5 of the bytes, which proves equality, or a checksum: a CRC-32, an exclusive
or. A dump does not say which, and 32 bits are few, so a checksum proves nothing. Tensor files
beside the dump are pickles and not read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tracediff.errors import UsageError
from tracediff.importing.input_files import read_text_file
from tracediff.importing.recording import record_import
from tracediff.importing.summaries import WEAK_HEADER, summarise_elsewhere, weak_digest
from tracediff.recording.recordable import Summarised

STATISTICS: Mapping[str, str] = MappingProxyType(
    {"Max": "max", "Min": "min", "Mean": "mean", "Norm": "l2"}
)
SIDES: Mapping[str, str] = MappingProxyType(
    {
        **{"parameters": "inputs", "input_args": "inputs", "input_kwargs": "inputs"},
        **{"input": "inputs", "output": "outputs"},
    }
)
"""Where the parts of an entry go; parameters first, so that a changed weight is named first. What
else an entry holds is the gradient of a parameter, an output."""

CALL = "call"
MOST_LEVELS = 20
WHOLE_NUMBERS = range(-(1 << 63), 1 << 64)
"""What the elements of an integer tensor may be."""

MD5 = re.compile(r"[0-9a-f]{32}")
NAMES_OF_DTYPES: Mapping[str, str] = MappingProxyType(
    {"float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int32"}
)


@dataclass(slots=True)
class _Call:
    """What is recorded of one entry."""

    inputs: dict[str, Summarised] = field(default_factory=dict)
    outputs: dict[str, Summarised] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)


def import_msprobe(source: Path, sink: Path) -> int:
    """Record the calls of a dump and return how many there are.

    Raises UsageError naming the entry that is not as msprobe writes it, and StorageError.
    """
    entries = _entries(source)
    with record_import(sink, tensors="digest", header=WEAK_HEADER) as recorder:
        recorder.event("import", "msprobe.read")
        for name, entry in entries.items():
            call = _read_call(name, entry, f"{source}, entry {name!r:.120}")
            component, event_type, number = _split(name)
            recorder.event(
                component,
                event_type,
                logical_step=number,
                state=call.state or None,
                inputs=call.inputs or None,
                outputs=call.outputs or None,
            )
    return len(entries)


def _entries(source: Path) -> Mapping[str, Any]:
    try:
        # NaN and infinities stand as bare words: that is how msprobe writes them.
        found = json.loads(read_text_file(source), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{source} is no JSON document: {error!s:.200}") from None
    data = found.get("data") if isinstance(found, dict) else None
    if not isinstance(data, dict):
        raise UsageError(f"{source} is no dump of msprobe: expected an object with `data`")
    if not data:
        raise UsageError(f"{source} holds no call: `data` is empty")
    return data


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r:.80} occurs twice in an object")
    return found


def _split(name: str) -> tuple[str, str, int]:
    """Return what was called, its name with the direction, and which call it was.

    `Module.conv2.Conv2d.forward.0` counts at the end, `Functional.relu.0.forward` before it.
    """
    parts = name.split(".")
    for place in (-1, -2):
        if len(parts) > 2 and re.fullmatch(r"[0-9]{1,15}", parts[place]):
            number = int(parts.pop(place))
            return parts[0] or CALL, ".".join(parts[1:]), number
    return parts[0] or CALL, ".".join(parts[1:]) or CALL, 0


def _read_call(name: str, entry: Any, where: str) -> _Call:
    if not isinstance(entry, dict):
        raise UsageError(f"{where}: expected an object")
    call = _Call()
    base = ".".join(_split(name)[:2])
    sides = {part: SIDES[part] for part in SIDES if part in entry}
    sides |= {part: "outputs" for part in entry if part not in sides}
    seen: set[str] = set()
    for part, side in sides.items():
        tensors = call.inputs if side == "inputs" else call.outputs
        for path, leaf in _leaves(entry[part], part, where):
            if path in seen:
                raise UsageError(
                    f"{where}: two values are both called {path!r:.200} once lists and objects are "
                    "written with dots; rename one of the keys"
                )
            seen.add(path)
            if not _is_tensor(leaf):
                call.state[path] = _plain(leaf)
                continue
            try:
                tensors[f"{base}.{path}"] = _read_tensor(leaf)
            except ValueError as error:
                raise UsageError(f"{where}, {path}: {error}") from None
    return call


def _leaves(
    found: Any, path: str, where: str, levels: int = MOST_LEVELS
) -> Iterator[tuple[str, Any]]:
    """Yield tensors and plain arguments with their place in nested lists and objects.

    A list or an object that is empty is a value itself, because nothing in it tells that it was
    there; not so a part of the entry, which is empty where a call has no such arguments.
    """
    if levels == 0:
        raise UsageError(f"{where}, {path:.200}: nested more than {MOST_LEVELS} levels deep")
    items = _items(found)
    if items is None or (not items and levels < MOST_LEVELS):
        yield path, found
        return
    for key, item in items:
        yield from _leaves(item, f"{path}.{key}", where, levels - 1)


def _items(found: Any) -> list[tuple[Any, Any]] | None:
    """Return the items of a list or an object, None for a tensor or a plain argument."""
    if isinstance(found, list):
        return list(enumerate(found))
    if not isinstance(found, dict) or _is_tensor(found):
        return None
    return list(found.items()) if "type" not in found or _holds_tensor(found) else None


def _holds_tensor(found: Any) -> bool:
    pending = [found]
    while pending:
        item = pending.pop()
        if _is_tensor(item):
            return True
        if isinstance(item, dict | list):
            pending.extend(item.values() if isinstance(item, dict) else item)
    return False


def _is_tensor(leaf: Any) -> bool:
    return isinstance(leaf, dict) and "dtype" in leaf and "shape" in leaf


def _read_tensor(leaf: Mapping[str, Any]) -> Summarised:
    dtype, shape = leaf["dtype"], leaf["shape"]
    if not isinstance(dtype, str) or not dtype:
        raise ValueError("dtype is no text")
    if not isinstance(shape, list):
        raise ValueError("shape is no list")
    dtype = dtype.rpartition(".")[2].lower()
    dtype = NAMES_OF_DTYPES.get(dtype, dtype)
    statistics: dict[str, float | int | None] = {}
    if not dtype.startswith("complex"):  # there msprobe measures magnitudes
        for key, own in STATISTICS.items():
            statistics[own] = _number(key, leaf.get(key))
    return summarise_elsewhere(dtype, shape, _digest(leaf.get("md5")), statistics)


def _number(key: str, found: Any) -> float | int | None:
    if found is None or isinstance(found, bool):
        return None if found is None else int(found)
    if isinstance(found, str):
        try:
            return float(found)
        except ValueError:
            raise ValueError(f"{key} is {found!r:.40}, no number") from None
    if not isinstance(found, int | float):
        raise ValueError(f"{key} is no number")
    if isinstance(found, int) and found not in WHOLE_NUMBERS:
        raise ValueError(f"{key} is a whole number beyond 64 bits")
    return found


def _digest(found: Any) -> str:
    text = "" if found is None else str(found).lower()
    if MD5.fullmatch(text):
        return f"md5:{text}"
    return weak_digest(checksum=text or None)


def _plain(leaf: Any) -> Any:
    """Return a plain argument; where it was stored is no part of it."""
    if not isinstance(leaf, dict):
        return leaf
    kept = {key: value for key, value in leaf.items() if key != "data_name"}
    return kept["value"] if set(kept) == {"type", "value"} else kept
