"""How far long work has come: one line on stderr, late, and gone when the work is done.

Knows the terminal. Must not know what is being done.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

Tell = Callable[[int, int | None], None]
"""Takes how much is done, and of how much, None if that is not known."""

SHOWN_AFTER = 1.0
"""Seconds of work from which it is worth saying how far it is."""


@contextmanager
def show_progress(what: str, *, quiet: bool = False, after: float = SHOWN_AFTER) -> Iterator[Tell]:
    """Show `what` and a bar while the block works; nothing if `quiet` or where nobody looks.

    The block may call what it gets with how much is done, and of how much (None if unknown).
    Nothing else may be printed on the terminal meanwhile. `after` is in seconds.
    """
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    line = _Line(what)
    timer = threading.Timer(after, line.show)
    timer.daemon = True
    timer.start()
    try:
        yield line.update
    finally:
        timer.cancel()
        line.remove()


class _Line:
    """The line on the terminal; `show` is called by another thread than the rest."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._lock = threading.Lock()
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._count: tuple[int, int | None] = (0, None)
        self._removed = False

    def show(self) -> None:
        """Start to show the line, unless the work is done already."""
        # Loaded only for work that takes long.
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[count]}", markup=False),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        with self._lock:
            if self._removed:
                return
            self._progress = progress
            self._task = progress.add_task(self._what, total=None, count="")
            self._tell()
            progress.start()

    def update(self, done: int, total: int | None) -> None:
        """Take how much is done, and of how much."""
        with self._lock:
            self._count = (done, total)
            self._tell()

    def remove(self) -> None:
        """Take the line away for good."""
        with self._lock:
            self._removed = True
            if self._progress is not None:
                self._progress.stop()

    def _tell(self) -> None:
        if self._progress is None or self._task is None:
            return
        done, total = self._count
        count = f"{done} of {total}" if total is not None else ""
        self._progress.update(self._task, completed=done, total=total, count=count)
