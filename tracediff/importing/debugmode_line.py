"""One line of a DebugMode log: an operator, its tensors, its hashes.

Knows the line's grammar, `NAME(ARGUMENTS)  ->  RESULT  # {HASHES}`, and PyTorch's short names of
dtypes. Must not know files or events.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

ARROW = "  ->  "
HASHES = "  # {"
CUT_OFF = ("  -", "  ->", "  #")
TRITON = "[triton] "
LONGEST = 1_000_000
"""Characters of a line that is parsed."""

DTYPES: Mapping[str, str] = MappingProxyType(
    {
        **{"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16"},
        **{"f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2"},
        **{"i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8", "b8": "bool"},
        **{"u64": "uint64", "u32": "uint32", "u16": "uint16", "u8": "uint8"},
        **{"c64": "complex64", "c128": "complex128"},
    }
)
TENSOR = re.compile(
    r"(?:(?P<name>\w+)=)?'?\b(?:t|dt|ft)(?:\$\d+)?: (?P<dtype>[a-z]\w*)\[(?P<shape>[0-9, ]*)\]"
)
IDENTITY = re.compile(r"\b(t|dt|ft)\$\d+(?=: )")
BARE = re.compile(r"(?<![\w.'\"])(-?)(nan|inf)(?![\w'\"])")


@dataclass(frozen=True, slots=True)
class Signature:
    """A tensor as the line names it; `name` is that of a keyword argument, else empty."""

    dtype: str
    shape: tuple[int, ...]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """One operator: `signature` is its arguments and result as text, numbers of tensors left out.

    Hashes are as the log nests them, None where there are none.
    """

    component: str
    name: str
    signature: str
    inputs: tuple[Signature, ...]
    outputs: tuple[Signature, ...]
    input_hashes: Any = None
    output_hashes: Any = None


def parse_call(text: str, kernel_hashes: Sequence[str] = ()) -> Call:
    """Return the call of a line; `kernel_hashes` are the lines that follow a Triton kernel.

    Raises ValueError that says what was expected.
    """
    if len(text) > LONGEST:
        raise ValueError(f"the line has {len(text)} characters; at most {LONGEST} are read")
    call, mark, hashes = text.rpartition(HASHES)
    call, hashes = (call, "{" + hashes) if mark else (text, "{}")
    call, _, result = call.partition(ARROW)
    name, bracket, arguments = call.partition("(")
    if name.startswith("<"):  # <method 'topk' of …>(…)
        name, bracket, arguments = call.partition(">(")
        name += ">"
    if not bracket or not name.strip():
        raise ValueError(f"{text!r:.80} is no line of DebugMode: expected NAME(ARGUMENTS)")
    found = _read_hashes(hashes)
    inputs = tuple(_signatures(arguments))
    if name.startswith(TRITON):
        return _triton(name, arguments, inputs, kernel_hashes)
    return Call(
        "operator" if "::" in name else "function",
        name,
        IDENTITY.sub(r"\1", f"({arguments}{ARROW if result else ''}{result}"),
        inputs,
        tuple(_signatures(result)),
        found.get("input_hash"),
        found.get("hash"),
    )


def is_cut_off(text: str) -> bool:
    """Whether a line ends within its brackets or before what a mark announces."""
    opened, closed = (sum(map(text.count, brackets)) for brackets in ("([{", ")]}"))
    return opened > closed or text.endswith(CUT_OFF)


def flat_hashes(found: Any, tensors: int) -> list[dict[str, Any]]:
    """Return the hashes of so many tensors in order: `l1` for a float, `xor64` for an integer.

    Empty ones where the log has none or another number than one or two for each.
    """
    leaves = list(_leaves(found))
    share = len(leaves) // tensors if tensors else 0
    if share not in (1, 2) or share * tensors != len(leaves):
        return [{} for _ in range(tensors)]
    return [
        {_kind(leaf): leaf for leaf in leaves[index * share : (index + 1) * share]}
        for index in range(tensors)
    ]


def _triton(
    name: str, arguments: str, inputs: tuple[Signature, ...], hashes: Sequence[str]
) -> Call:
    """Return the call of a kernel: its arguments before and after it ran."""
    found = {line.partition(" hashes: ")[0]: line.partition(" hashes: ")[2] for line in hashes}
    before, after = (found.get(f"# {when}-kernel", "") for when in ("pre", "post"))
    return Call(
        "triton",
        name.removeprefix(TRITON),
        IDENTITY.sub(r"\1", f"({arguments}"),
        inputs,
        inputs if after else (),
        _named_hashes(before, inputs),
        _named_hashes(after, inputs),
    )


def _named_hashes(text: str, tensors: Sequence[Signature]) -> Any:
    """Return the hashes of `{in_ptr0: 1.5, out_ptr0: 2.5}` in the order of the tensors."""
    known: dict[str, Any] = {}
    for name, value in re.findall(r"(\w+): (\([^()]*\)|[^,}]+)", text):
        known[name] = _literal(value)
    if any(tensor.name not in known for tensor in tensors):
        return None
    return tuple(known[tensor.name] for tensor in tensors)


def _signatures(text: str) -> Iterator[Signature]:
    for found in TENSOR.finditer(text):
        shape = tuple(int(part) for part in found["shape"].split(",") if part.strip())
        yield Signature(DTYPES.get(found["dtype"], found["dtype"]), shape, found["name"] or "")


def _read_hashes(text: str) -> dict[str, Any]:
    found = _literal(text)
    if not isinstance(found, dict):
        raise ValueError(f"{text!r:.80} are no hashes of DebugMode")
    return found


def _literal(text: str) -> Any:
    """Return the value of a Python literal in which nan and inf may stand as bare words."""
    try:
        return ast.literal_eval(BARE.sub(lambda m: f"'{m[1]}{m[2]}'", text.strip()))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        raise ValueError(f"the hashes {text!r:.80} cannot be read") from None


def _leaves(found: Any) -> Iterator[Any]:
    """Yield the hashes of a nested value in order, with explicit depth; None is no hash."""
    pending = [found]
    while pending:
        item = pending.pop()
        if isinstance(item, tuple | list):
            pending.extend(reversed(item))
        elif isinstance(item, dict):
            pending.extend(reversed(item.values()))
        elif isinstance(item, str) and item.lstrip("-") in ("nan", "inf"):
            yield float(item)
        elif item is not None:
            yield item


def _kind(leaf: Any) -> str:
    if isinstance(leaf, float):
        return "l1"
    return "xor64" if isinstance(leaf, int) else "text"
