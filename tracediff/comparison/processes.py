"""Work spread over processes: the results in the order of the work, and a clean end.

Knows processes and signals only. Must not know what is computed.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import TypeVar

from tracediff.errors import TracediffError

Item = TypeVar("Item")
Result = TypeVar("Result")

Handler = Callable[[int, FrameType | None], object]

OnDone = Callable[[int, int | None], None]
"""Is told how many pieces of work are done, and of how many."""


def tell_nobody(done: int, total: int | None) -> None:
    """Take the count of what is done, for those who do not ask."""


def spread_work(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    jobs: int | None = None,
    on_done: OnDone = tell_nobody,
) -> list[Result]:
    """Return `work(item)` of all items, by `jobs` processes: as many as processors if not given.

    `work` is a function of a module, and items and results can be pickled. Raises what `work`
    raises, and TracediffError where a process is killed.
    """
    count = min(jobs or os.cpu_count() or 1, len(items))
    if count > 1:
        return _spread(work, items, count, on_done)
    results = []
    for item in items:
        results.append(work(item))
        on_done(len(results), len(items))
    return results


def _spread(
    work: Callable[[Item], Result], items: Sequence[Item], count: int, on_done: OnDone
) -> list[Result]:
    # Loaded only where further processes are started.
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import active_children, get_context

    # Forked processes would share the locks of threads that they do not have.
    context = get_context("spawn")
    pool: ProcessPoolExecutor | None = None
    with ExitStack() as pools:
        try:
            # An interruption in between would leave semaphores and half-started processes behind.
            with _held_back_interruptions():
                pool = pools.enter_context(
                    ProcessPoolExecutor(count, mp_context=context, initializer=_end_with_children)
                )
                with _masked_interruption():
                    futures = [pool.submit(work, item) for item in items]
            for done, _ in enumerate(as_completed(futures), 1):
                on_done(done, len(items))
            return [future.result() for future in futures]
        except BaseException as error:
            if pool is not None:
                pool.shutdown(wait=False, cancel_futures=True)
            for child in active_children():
                child.terminate()
            if isinstance(error, BrokenProcessPool):
                raise TracediffError(
                    "a process that did part of the work was killed (for want of memory?); "
                    "--jobs 1 does without further processes"
                ) from error
            raise


@contextmanager
def _held_back_interruptions() -> Iterator[None]:
    """Have interruptions wait while the block starts processes."""
    waiting: list[int] = []
    handlers: dict[int, Handler] = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if callable(handler):
                handlers[number] = handler
                signal.signal(number, lambda number, frame: waiting.append(number))
    try:
        yield
    finally:
        for held, handler in handlers.items():
            signal.signal(held, handler)
        if waiting:
            signal.raise_signal(waiting[0])


@contextmanager
def _masked_interruption() -> Iterator[None]:
    """Have processes that are started inside the block get no Ctrl-C: they inherit the mask.

    The one that started them ends them.
    """
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_children() -> None:
    """Have a request to end reach the processes that this one has started, too."""

    def end(number: int, frame: FrameType | None) -> None:
        from multiprocessing import active_children

        for child in active_children():
            child.terminate()
        os._exit(2)

    signal.signal(signal.SIGTERM, end)
