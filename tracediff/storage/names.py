"""How the files of one trace are called.

Knows names only; opens nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

PARTIAL: Final = ".partial"
"""What a file's name ends in while it is written."""

COMPRESSIONS: Final = (".gz", ".zst")
_TRACE = ".jsonl"
_TIMING = ".timing.jsonl"


def trace_name(path: Path) -> Path:
    """Return `path` without `.partial`, the compression and `.jsonl`: folder and bare name.

    Of `runs/a.jsonl`, `runs/a.jsonl.gz` and `runs/a.jsonl.gz.partial` it is `runs/a`. A name that
    consists of endings alone is kept.
    """
    name = path.name.removesuffix(PARTIAL)
    for ending in COMPRESSIONS:
        name = name.removesuffix(ending)
    name = name.removesuffix(_TRACE)
    return path.with_name(name) if name else path


def partial_path(path: Path) -> Path:
    """Return what `path` is called while it is written."""
    return path.with_name(path.name + PARTIAL)


def timing_path(path: Path) -> Path:
    """Return the timing sidecar of the trace at `path`."""
    name = trace_name(path)
    return name.with_name(f"{name.name}{_TIMING}")


def is_timing_name(path: Path) -> bool:
    """Whether a file is called like a timing sidecar, also while it is written."""
    return path.name.lower().removesuffix(PARTIAL).endswith(_TIMING)


def tensor_folder_path(path: Path) -> Path:
    """Return the folder with the full tensors of the trace at `path`."""
    name = trace_name(path)
    return name.with_name(f"{name.name}.tensors")


def compression_of(path: Path) -> str:
    """Return `.gz`, `.zst` or an empty string, whether `path` is finished or partial."""
    name = path.name.removesuffix(PARTIAL)
    return next((ending for ending in COMPRESSIONS if name.endswith(ending)), "")
