"""Tells of files that hold a trace and are not compared, because their names are those of none."""

from __future__ import annotations

from pathlib import Path

from tracediff.cli.output import print_problem
from tracediff.comparison.listing import find_misnamed

SHOWN = 5


def note_misnamed(*folders: Path) -> None:
    """Print a line on stderr for each such file, of more than 5 a count."""
    found = [path for folder in folders if folder.is_dir() for path in find_misnamed(folder)]
    for path in found[:SHOWN]:
        print_problem(
            f"ignored: {path} holds a trace, and is compared only under a name that ends in .jsonl "
            "(and not in .timing.jsonl)"
        )
    if len(found) > SHOWN:
        print_problem(f"ignored: {len(found) - SHOWN} more files like these")
