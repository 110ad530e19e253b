"""The plugin's part of the terminal summary: what was written, and which goldens nothing uses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tracediff.pytest_plugin.ledger import Ledger


def summary_lines(ledger: Ledger, folder: Path) -> Iterator[str]:
    """Yield the lines, none where there is nothing to say; paths are seen from `folder`."""
    for path, done in sorted(ledger.written):
        verb, separator, reason = done.partition(": ")
        yield f"{verb:<9} {_seen_from(folder, Path(path))}{separator}{reason}"
    for golden in ledger.find_obsolete():
        yield f"obsolete  {_seen_from(folder, golden)}: no test uses it; delete it"


def _seen_from(folder: Path, path: Path) -> Path:
    return path.relative_to(folder) if path.is_relative_to(folder) else path
