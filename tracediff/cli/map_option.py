"""The file that `--map RULES` names."""

from __future__ import annotations

from pathlib import Path

from tracediff.diff.name_map import NameMap, parse_name_map
from tracediff.errors import StorageError, UsageError


def read_name_map(path: str) -> NameMap:
    """Return the rules of a rules file; raise StorageError or UsageError."""
    try:
        text = Path(path).read_text("utf-8-sig")
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is no text in UTF-8, and so no file of rules") from None
    return parse_name_map(text, path)
