"""A file that has its name only when it is complete.

Knows the `.partial` name, the lock on it, and the rename at the end; must not know what is
written.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, Final

from tracediff.errors import StorageError
from tracediff.storage.compression import Output, open_compressed
from tracediff.storage.names import compression_of, partial_path, trace_name

_BUFFER: Final = 1 << 16
_REASONS: Mapping[int, str] = MappingProxyType(
    {
        errno.ENOSPC: "the disk is full",
        errno.EDQUOT: "the disk quota is used up",
        errno.EFBIG: "the file would be larger than the system allows",
        errno.EACCES: "it may not be written there (permission denied)",
        errno.EPERM: "it may not be written there (not permitted)",
        errno.EROFS: "the disk is read-only",
        errno.ENOTDIR: "a part of the path is no folder",
        errno.EEXIST: "a part of the path is no folder",
        errno.ENAMETOOLONG: "the name is too long",
        errno.ELOOP: "its .partial is a symbolic link, which is not followed; remove it",
    }
)


class PartialFile:
    """Bytes on their way into the file `path`, compressed as its name says.

    Until `publish` they are in `path` with `.partial` after its name, and what `path` held before
    is untouched. A `.partial` that a killed run left is overwritten; one that another writer is
    writing is refused. The folder must exist. All methods raise StorageError.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with storage_errors(path):
            if path.exists() and not path.is_file():
                kind = "a folder" if path.is_dir() else "no regular file"
                raise StorageError(f"cannot write {path}: it exists and is {kind}")
            self._raw: BinaryIO = os.fdopen(_open_locked(path), "wb", buffering=_BUFFER)
            try:
                self._stream: Output = open_compressed(self._raw, path)
            except BaseException:
                self._raw.close()
                partial_path(path).unlink()
                raise

    def write(self, content: bytes) -> None:
        """Append `content`."""
        try:
            self._stream.write(content)
        except OSError as error:
            raise storage_error(self.path, error) from error

    def flush(self) -> None:
        """Hand what was written to the system, so that it survives the end of this process.

        Compressed files are not flushed: where a flush falls would show in their bytes.
        """
        if not compression_of(self.path):
            with storage_errors(self.path):
                self._raw.flush()

    def seal(self) -> None:
        """End the content and have the system write it to the disk."""
        with storage_errors(self.path):
            self._end_stream()
            os.fsync(self._raw.fileno())

    def publish(self) -> None:
        """Give the sealed file its name, in one step, in place of what had it before."""
        with storage_errors(self.path):
            if sys.platform == "win32":  # an open file cannot be renamed there
                self._raw.close()
            partial_path(self.path).replace(self.path)
            self._raw.close()  # only now: closing gives up the lock on the partial name
            _sync_folder(self.path.parent)

    def abandon(self) -> None:
        """Leave what was written in the `.partial`; an error here would hide the reason for it."""
        if self._raw.closed:
            return
        with suppress(OSError):
            self._end_stream()
        with suppress(OSError):
            _unlock(self._raw.fileno())
        with suppress(OSError):
            self._raw.close()

    def _end_stream(self) -> None:
        if self._stream is not self._raw:
            self._stream.close()
        self._raw.flush()


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Raise StorageError for what the system refuses inside the block."""
    try:
        yield
    except OSError as error:
        raise storage_error(path, error) from error


def storage_error(path: Path, error: OSError) -> StorageError:
    """Return the error that tells the user why `path` could not be written."""
    reason = _REASONS.get(error.errno or 0, str(error.strerror))
    missing = path.parent
    if error.errno == errno.ENOENT and not missing.exists():
        while not missing.parent.exists():
            missing = missing.parent
        reason = f"the folder {missing} does not exist; create it first"
    return StorageError(f"cannot write {path}: {reason}")


def _open_locked(path: Path) -> int:
    """Return a descriptor of the empty `.partial` of `path`, locked."""
    partial = partial_path(path)
    while True:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        descriptor = os.open(partial, flags, 0o666)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise StorageError(f"cannot write {path}: {partial} is no regular file; remove it")
            _lock(descriptor, path)
            # Between opening and locking, its writer may have given the file its final name.
            if partial.exists() and os.path.samestat(os.fstat(descriptor), partial.stat()):
                os.truncate(descriptor, 0)
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


if sys.platform == "win32":

    def _lock(descriptor: int, path: Path) -> None:
        """Do nothing: there a file that is open for writing cannot be renamed or replaced."""

    def _unlock(descriptor: int) -> None:
        """Do nothing."""

else:
    import fcntl

    def _lock(descriptor: int, path: Path) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StorageError(
                f"cannot write {path}: it is being written at this moment; wait for that, or "
                "choose another name"
            ) from None
        except OSError as error:
            if error.errno not in {errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS}:
                raise  # file systems without locks are written without

    def _unlock(descriptor: int) -> None:
        # Closing is not enough: a child process may have inherited the descriptor.
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def _sync_folder(folder: Path) -> None:
    """Have the rename itself written to the disk, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_beside(path: Path, ending: str, content: bytes) -> Path:
    """Write `content` beside the trace at `path`, as NAME.ENDING; return where.

    Like a trace the file has its name only when it is whole. Raises StorageError.
    """
    name = trace_name(path)
    return write_whole(name.with_name(f"{name.name}.{ending}"), content)


def write_whole(path: Path, content: bytes) -> Path:
    """Write a file that has its name only when it is whole, and return `path`.

    What the path held before stays until then. Raises StorageError.
    """
    file = PartialFile(path)
    try:
        file.write(content)
        file.seal()
        file.publish()
    except BaseException:
        file.abandon()
        raise
    return path
