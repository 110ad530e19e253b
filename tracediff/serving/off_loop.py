"""Runs a generator's steps in worker threads, so that the event loop goes on between them.

Knows generators and threads. Must not know what is generated.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import suppress
from typing import Generic, TypeVar

Item = TypeVar("Item")


class OffLoop(Generic[Item]):
    """Takes items from a generator, one step a call, each in a thread of `executor`."""

    def __init__(self, items: Iterator[Item], executor: Executor) -> None:
        self._items = items
        self._executor = executor
        self._lock = threading.Lock()
        self._is_over = False

    async def next(self) -> Item | None:
        """Return the next item, None after the last; raise what the generator raises."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, self._advance)

    def abandon(self) -> None:
        """Have the generator closed, after a step that is under way; return at once."""
        if not self._is_over:
            # Where the executor is gone, so is the process that would have read the trace's end.
            with suppress(RuntimeError):
                self._executor.submit(self._close)

    def _advance(self) -> Item | None:
        with self._lock:
            try:
                return next(self._items)
            except BaseException as error:
                self._is_over = True
                if isinstance(error, StopIteration):
                    return None
                raise

    def _close(self) -> None:
        with self._lock:
            self._is_over = True
            close = getattr(self._items, "close", None)
            if close is not None:
                close()
