"""Which files below a folder are traces by their names, so that none is overlooked.

Knows names and kinds of files. Must not know how traces are compared.
"""

from __future__ import annotations

import gzip
import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tracediff.errors import StorageError, UsageError
from tracediff.storage.names import is_timing_name

_TRACE_NAME: Final = re.compile(r"\.jsonl(\.gz|\.zst)?(\.partial)?$|(?<!\.npy)\.partial$", re.I)
_TENSOR_FILE: Final = re.compile(r"\.npy(\.[0-9a-f]+\.partial)?$")
_TRACE_START: Final = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*"trace_id"')
_GZIP_START: Final = b"\x1f\x8b"
_LEADS_NOWHERE: Final = "this link leads nowhere, so nobody knows what it held"
_ENOUGH: Final = 200
"""Bytes at a file's start that say whether it holds a trace."""


def find_traces(folder: Path) -> dict[str, Path]:
    """Return everything below a folder that is called like a trace, by name without its endings.

    Links are followed, also to folders. What is returned may be no readable file: see
    `refuse_odd_file`. Raises UsageError where two files have one name or a link leads back to
    where it is, and StorageError for a folder that cannot be listed and a link to nothing.
    """
    found: dict[str, Path] = {}
    for path in _walk(folder):
        if not _is_called_trace(path):
            continue
        bare = _TRACE_NAME.sub("", path.name)
        name = str(path.relative_to(folder).with_name(bare or path.name))
        if name in found:
            raise UsageError(f"{folder} holds {found[name].name} and {path.name}: keep one of them")
        found[name] = path
    return found


def find_misnamed(folder: Path) -> list[Path]:
    """Return the files below a folder that hold a trace under a name that is none of a trace."""
    return [path for path in _walk(folder) if not _is_called_trace(path) and _holds_trace(path)]


def refuse_odd_file(path: Path) -> None:
    """Raise StorageError where `path` is no file, so that nobody waits for a pipe to speak."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        reason = _LEADS_NOWHERE if _is_link(path) else f"cannot be read: {error.strerror}"
        raise StorageError(f"{path}: {reason}") from error
    if stat.S_ISDIR(mode):
        raise StorageError(f"{path}: this is a folder with the name of a trace; rename it")
    if not stat.S_ISREG(mode):
        raise StorageError(f"{path}: this is no regular file, so it holds no trace")


def _is_link(path: Path) -> bool:
    try:
        return path.is_symlink()
    except OSError:
        return False


def _is_called_trace(path: Path) -> bool:
    if is_timing_name(path) or _TENSOR_FILE.search(path.name):
        return False
    return _TRACE_NAME.search(path.name) is not None


def _walk(folder: Path, above: Sequence[Path] = ()) -> Iterator[Path]:
    """Yield all that is below a folder: what is called like a trace, and other files."""
    try:
        here = folder.resolve(strict=True)
        names = sorted(os.listdir(folder))  # noqa: PTH208 - iterdir waits with its errors
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise StorageError(f"{folder}: the folder cannot be listed: {reason}") from error
    chain = (*above, here)
    for path in (folder / name for name in names):
        mode = None if _is_called_trace(path) else _mode_of(path)
        if mode is not None and stat.S_ISDIR(mode):
            _refuse_loop(path, chain)
            yield from _walk(path, chain)
        else:
            yield path


def _mode_of(path: Path) -> int:
    """Return what a path is; raise StorageError where nobody can say, as it may hold traces."""
    try:
        return path.stat().st_mode
    except OSError as error:
        reason = _LEADS_NOWHERE if _is_link(path) else f"cannot be looked at: {error.strerror}"
        raise StorageError(f"{path}: {reason}") from error


def _refuse_loop(path: Path, chain: Sequence[Path]) -> None:
    """Raise UsageError where a link leads to a folder that it is in."""
    if path.is_symlink():
        target = path.resolve()
        if any(folder.is_relative_to(target) for folder in chain):
            raise UsageError(f"{path}: this link leads to a folder that it is in; remove it")


def _holds_trace(path: Path) -> bool:
    if _TENSOR_FILE.search(path.name) or not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            start = file.read(_ENOUGH)
            if start.startswith(_GZIP_START):
                file.seek(0)
                start = gzip.GzipFile(fileobj=file).read(_ENOUGH)
    except (OSError, EOFError):
        return False
    return _TRACE_START.match(start) is not None
