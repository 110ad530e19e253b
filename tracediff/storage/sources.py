"""Where bytes come from: a path or an open stream.

Knows how the ways in which a file cannot be read are called; must not know what it holds.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, cast

from tracediff.errors import StorageError
from tracediff.storage.names import partial_path

Source = Path | str | BinaryIO
"""A path, or a stream of bytes whose `name` says how it is compressed and what messages call it."""

_REASONS: Mapping[int, str] = MappingProxyType(
    {
        errno.ENOENT: "there is no such file",
        errno.ENOTDIR: "there is no such file: a part of the path is no folder",
        errno.EISDIR: "this is a folder; name a trace file in it",
        errno.EACCES: "the file may not be read (permission denied)",
    }
)


def source_name(source: Source) -> str:
    """Return what messages call `source`: its path, or the stream's name."""
    if isinstance(source, Path | str):
        return str(source)
    return str(getattr(source, "name", "<stream>"))


@contextmanager
def open_source(source: Source) -> Iterator[BinaryIO]:
    """Open `source` for reading; a stream is handed on and stays open.

    Raises StorageError where opening it, or reading from it inside the block, fails.
    """
    try:
        if isinstance(source, Path | str):
            with _open(source) as stream:
                yield stream
        else:
            yield source
    except OSError as error:
        raise StorageError(f"{source_name(source)}: {_reason(source, error)}") from error


def can_be_read_again(source: Source) -> bool:
    """Whether opening `source` a second time starts at its beginning."""
    try:
        return isinstance(source, Path | str) and Path(source).is_file()
    except OSError:
        return False


def _open(path: Path | str) -> BinaryIO:
    try:
        return cast("BinaryIO", Path(path).open("rb", buffering=0))
    except ValueError as error:
        raise StorageError(f"{path!r} is no path: {error}") from error


def _reason(source: Source, error: OSError) -> str:
    reason = _REASONS.get(error.errno or 0, f"cannot be read: {error.strerror}")
    unfinished = error.errno == errno.ENOENT and isinstance(source, Path | str)
    if unfinished and partial_path(Path(cast("str", source))).exists():
        reason += "; a recording that was not finished is there, with .partial after the name"
    return reason
