"""Two folders of traces, compared pair by pair; the pairs are found by name.

Knows which files belong together. Must not know how two of them are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from tracediff.comparison.files import diff_files
from tracediff.comparison.listing import find_traces, refuse_odd_file
from tracediff.comparison.processes import OnDone, spread_work, tell_nobody
from tracediff.diff import DiffOptions, Outcome, TraceDiff
from tracediff.errors import StorageError, UsageError

WORTH_PROCESSES = 4
"""Pairs from which starting further processes pays."""


def diff_folders(
    left: Path,
    right: Path,
    options: DiffOptions | None = None,
    *,
    jobs: int | None = None,
    on_done: OnDone = tell_nobody,
) -> list[TraceDiff]:
    """Compare all traces of two folders, below them too, in the order of their names.

    A trace that only one folder holds is a divergence. `jobs` is the number of processes, as many
    as there are processors if not given; `on_done` is told how many pairs are compared. Raises
    UsageError where neither folder holds a trace, and what `find_traces` raises.
    """
    pairs = find_pairs(left, right)
    compare = partial(_compare, options or DiffOptions())
    jobs = jobs if len(pairs) >= WORTH_PROCESSES else 1
    return spread_work(compare, pairs, jobs=jobs, on_done=on_done)


def find_pairs(left: Path, right: Path) -> Sequence[tuple[Path | None, Path | None]]:
    """Return the traces of both folders by name, None for a side that lacks one."""
    sides = [find_traces(folder) for folder in (left, right)]
    names = sorted({*sides[0], *sides[1]})
    if not names:
        raise UsageError(f"neither {left} nor {right} holds a trace (a file ending in .jsonl)")
    return [(sides[0].get(name), sides[1].get(name)) for name in names]


def diff_listed(left: Path, right: Path, options: DiffOptions | None = None) -> TraceDiff:
    """Compare two files of folders by `diff_files`; what is no file is unreadable."""
    try:
        for path in (left, right):
            refuse_odd_file(path)
    except StorageError as error:
        return TraceDiff(Outcome.UNREADABLE, str(left), str(right), message=str(error))
    return diff_files(left, right, options)


def _compare(options: DiffOptions, pair: tuple[Path | None, Path | None]) -> TraceDiff:
    left, right = pair
    if left is not None and right is not None:
        return diff_listed(left, right, options)
    lacking = "right" if right is None else "left"
    return TraceDiff(
        Outcome.DIVERGED,
        str(left or "(missing)"),
        str(right or "(missing)"),
        message=f"the {lacking} folder has no such trace",
    )
