"""Two folders of traces, compared pair by pair; the pairs are found by name.

Knows which files belong together. Must not know how two of them are compared.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from tracediff.comparison.files import diff_files
from tracediff.diff import DiffOptions, Outcome, TraceDiff
from tracediff.errors import UsageError

TRACE_ENDINGS = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".partial")
SIDECAR = ".timing.jsonl"
WORTH_PROCESSES = 4
"""Pairs from which starting further processes pays."""


def diff_folders(
    left: Path, right: Path, options: DiffOptions | None = None, *, jobs: int | None = None
) -> list[TraceDiff]:
    """Compare all traces of two folders, below them too, in the order of their names.

    A trace that only one folder holds is a divergence. `jobs` is the number of processes, as many
    as there are processors if not given. Raises UsageError where neither folder holds a trace.
    """
    pairs = find_pairs(left, right)
    count = min(jobs or os.cpu_count() or 1, len(pairs))
    compare = partial(_compare, options or DiffOptions())
    if count <= 1 or len(pairs) < WORTH_PROCESSES:
        return [compare(pair) for pair in pairs]
    # Loaded for folders of many traces only.
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(count) as processes:
        return list(processes.map(compare, pairs))


def find_pairs(left: Path, right: Path) -> Sequence[tuple[Path | None, Path | None]]:
    """Return the traces of both folders by name, None for a side that lacks one."""
    sides = [_traces(folder) for folder in (left, right)]
    names = sorted({*sides[0], *sides[1]})
    if not names:
        raise UsageError(f"neither {left} nor {right} holds a trace (a file ending in .jsonl)")
    return [(sides[0].get(name), sides[1].get(name)) for name in names]


def _traces(folder: Path) -> dict[str, Path]:
    """Return the traces below a folder by name, whatever their compression."""
    found: dict[str, Path] = {}
    for path in sorted(folder.rglob("*")):
        if not path.name.endswith(TRACE_ENDINGS) or path.name.endswith(SIDECAR):
            continue
        if not path.is_file():
            continue
        relative = path.relative_to(folder)
        name = str(relative).partition(".jsonl")[0]
        if name in found:
            raise UsageError(f"{folder} holds {found[name].name} and {path.name}: keep one of them")
        found[name] = path
    return found


def _compare(options: DiffOptions, pair: tuple[Path | None, Path | None]) -> TraceDiff:
    left, right = pair
    if left is not None and right is not None:
        return diff_files(left, right, options)
    lacking = "right" if right is None else "left"
    return TraceDiff(
        Outcome.DIVERGED,
        str(left or "(missing)"),
        str(right or "(missing)"),
        message=f"the {lacking} folder has no such trace",
    )
