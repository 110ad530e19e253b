"""Logs of PyTorch's DebugMode as traces: one event an operator, each following the one before it.

Knows the text that `DebugMode.debug_string()` of `torch.utils` returns, with the hashes that
`DebugMode.log_tensor_hashes` adds. Those are a sum of magnitudes (`norm`) or an exclusive or of
all elements (`hash_tensor`): unequal ones show a difference, equal ones prove nothing, because
tensors with the same elements in another order share both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracediff.errors import UsageError
from tracediff.importing.debugmode_line import Call, Signature, flat_hashes, is_cut_off, parse_call
from tracediff.importing.input_files import read_text_file
from tracediff.importing.recording import record_import
from tracediff.importing.summaries import WEAK_HEADER, summarise_elsewhere, weak_digest
from tracediff.recording.recordable import Summarised

MODULE = "[nn.Mod] "
ADDRESS = re.compile(r" at 0x[0-9a-f]+(?=>)")
"""Where Python happened to put a function: no part of its name."""

COMMENT = "# "
KERNEL_HASHES = ("# pre-kernel hashes: ", "# post-kernel hashes: ")


@dataclass(frozen=True, slots=True)
class _Line:
    """A logical line: its number in the file, its indentation, its text."""

    number: int
    depth: int
    text: str


def import_debugmode(source: Path, sink: Path) -> int:
    """Record the operators of a log and return how many there are.

    Raises UsageError naming the line that is none of DebugMode's, and StorageError.
    """
    calls = 0
    with record_import(sink, tensors="digest", header=WEAK_HEADER) as recorder:
        recorder.event("import", "debugmode.read")
        for line, module, call in _calls(source):
            try:
                base = f"{module}.{call.name}" if module else call.name
                inputs = _summaries(call.inputs, call.input_hashes, f"{base}.input")
                outputs = _summaries(call.outputs, call.output_hashes, f"{base}.output")
            except ValueError as error:
                raise UsageError(f"{source}:{line}: {error}") from None
            recorder.event(
                module or call.component,
                call.name,
                state={"call": call.signature},
                inputs=inputs or None,
                outputs=outputs or None,
            )
            calls += 1
        if not calls:
            raise UsageError(
                f"{source} holds no operator; expected what DebugMode.debug_string() returns"
            )
    return calls


def _calls(source: Path) -> Iterator[tuple[int, str, Call]]:
    """Yield line number, innermost module and call of each operator."""
    modules: list[tuple[int, str]] = []
    lines = list(_lines(source))
    _check_end(source, lines)
    for place, line in enumerate(lines):
        if line.text.startswith(COMMENT):
            continue
        while modules and modules[-1][0] >= line.depth:
            modules.pop()
        if line.text.startswith(MODULE):
            modules.append((line.depth, line.text.removeprefix(MODULE)))
            continue
        kernel = []
        for following in lines[place + 1 : place + 1 + len(KERNEL_HASHES)]:
            if not following.text.startswith(KERNEL_HASHES):
                break
            kernel.append(following.text)
        try:
            call = parse_call(line.text, kernel)
        except ValueError as error:
            raise UsageError(f"{source}:{line.number}: {error}") from None
        yield line.number, modules[-1][1] if modules else "", call


def _check_end(source: Path, lines: Sequence[_Line]) -> None:
    """Refuse a log whose last line is not whole; in the middle of a log no line ends early."""
    if not lines:
        return
    last = lines[-1]
    other = last.text.startswith(COMMENT) and not last.text.startswith(KERNEL_HASHES)
    if not other and is_cut_off(last.text):
        raise UsageError(
            f"{source}:{last.number}: the last line ends too early: {last.text[-40:]!r}; the log "
            "was cut off, write it again or remove that line"
        )


def _lines(source: Path) -> Iterator[_Line]:
    """Yield logical lines: what is not indented goes on with the line before it."""
    held: _Line | None = None
    for number, text in enumerate(read_text_file(source).split("\n"), start=1):
        bare = ADDRESS.sub("", text.strip())
        if not bare:
            continue
        depth = len(text) - len(text.lstrip(" "))
        if depth == 0:
            if held is None:
                raise UsageError(
                    f"{source}:{number}: the first line is not indented, as those of "
                    "DebugMode.debug_string() are; remove what was printed before it"
                )
            held = _Line(held.number, held.depth, f"{held.text} {bare}")
            continue
        if held is not None:
            yield held
        held = _Line(number, depth, bare)
    if held is not None:
        yield held


def _summaries(signatures: tuple[Signature, ...], hashes: Any, name: str) -> dict[str, Summarised]:
    found = {}
    known = flat_hashes(hashes, len(signatures))
    for index, (signature, own) in enumerate(zip(signatures, known, strict=True)):
        label = signature.name or str(index)
        norm = own.get("l1")
        # What is not finite in the tensor makes its norm so.
        statistics = {"l1": norm} if isinstance(norm, float) else {}
        found[f"{name}.{label}"] = summarise_elsewhere(
            signature.dtype, signature.shape, weak_digest(**own), statistics
        )
    return found
