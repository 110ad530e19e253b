"""Where the goldens of a test file are, and which names they may have.

Goldens of `test_decode.py` are in `test_decode.traces/` beside it: the folder sorts next to its
test file, names need to be unique in one file only, and which goldens are obsolete can be said as
soon as that one file was run.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from tracediff.errors import UsageError

FOLDER_ENDING: Final = ".traces"
TRACE_ENDING: Final = ".jsonl"
SIDECAR_ENDING: Final = ".timing.jsonl"

_NAME: Final = re.compile(r"[\w+=,-]([\w.+=,-]{0,98}[\w+=,-])?")
_RESERVED: Final = (".jsonl", ".gz", ".zst", ".partial", ".timing")
"""Endings that mean something in the name of a trace's file."""


def goldens_folder(test_file: Path) -> Path:
    """Return the folder with the goldens of a test file; it need not exist."""
    return test_file.with_name(test_file.stem + FOLDER_ENDING)


def golden_path(test_file: Path, name: str) -> Path:
    """Return the golden's file; raise UsageError for a name that is no plain file name."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise UsageError(
            f"{name!r:.120} cannot name a golden: allowed are 1 to 100 letters, digits and ._+=,- "
            "without a dot at either end"
        )
    for ending in _RESERVED:
        if name.endswith(ending):
            raise UsageError(f"{name!r} cannot name a golden: give the name without {ending}")
    return goldens_folder(test_file) / (name + TRACE_ENDING)


def list_goldens(folder: Path) -> list[Path]:
    """Return the goldens of a folder in the order of their names."""
    found = sorted(folder.glob(f"*{TRACE_ENDING}"))
    return [path for path in found if not path.name.endswith(SIDECAR_ENDING)]
