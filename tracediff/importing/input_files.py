"""Reading a file that somebody else wrote: present, regular, not larger than memory allows.

Knows files and sizes; must not know formats.
"""

from __future__ import annotations

import stat
from pathlib import Path

from tracediff.errors import StorageError, UsageError

LARGEST_TEXT = 1 << 30
"""Bytes of a JSON dump or a log, which is parsed whole in memory."""


def check_regular(path: Path) -> int:
    """Return the size of a regular file; raise StorageError for anything else."""
    try:
        found = path.stat()
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}") from None
    if not stat.S_ISREG(found.st_mode):
        kind = "a folder" if stat.S_ISDIR(found.st_mode) else "no regular file"
        raise StorageError(f"cannot read {path}: it is {kind}")
    return found.st_size


def read_text_file(path: Path) -> str:
    """Return a file's text; raise StorageError or UsageError for one that cannot be text."""
    size = check_regular(path)
    if size > LARGEST_TEXT:
        raise UsageError(f"{path} has {size} bytes; at most {LARGEST_TEXT} are read as one text")
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is no text in UTF-8 (byte {error.start})") from None
