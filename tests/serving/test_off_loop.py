"""Steps of a generator in threads: order, errors, and a close that waits for the step before it."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tracediff.serving.off_loop import OffLoop


def test_items_in_order() -> None:
    """Items come in order, then None for ever."""

    async def take() -> list[int | None]:
        with ThreadPoolExecutor(2) as executor:
            steps = OffLoop(iter([1, 2]), executor)
            return [await steps.next() for _ in range(4)]

    assert asyncio.run(take()) == [1, 2, None, None]


def test_errors_come_through() -> None:
    """What the generator raises is raised where the item is awaited."""

    def failing() -> Iterator[int]:
        yield 1
        raise LookupError("no")

    async def take() -> None:
        with ThreadPoolExecutor(1) as executor:
            steps = OffLoop(failing(), executor)
            assert await steps.next() == 1
            await steps.next()

    with pytest.raises(LookupError, match="no"):
        asyncio.run(take())


def test_close_waits_for_the_step_under_way() -> None:
    """A generator is never closed while a step of it runs, and it is closed in the end."""
    begun, go_on = threading.Event(), threading.Event()
    seen: list[str] = []

    def slow() -> Iterator[int]:
        try:
            begun.set()
            go_on.wait(10)
            seen.append("step")
            yield 1
        finally:
            seen.append("closed")

    async def leave() -> None:
        steps = OffLoop(slow(), executor)
        task = asyncio.create_task(steps.next())
        await asyncio.to_thread(begun.wait, 10)
        task.cancel()
        steps.abandon()
        go_on.set()

    with ThreadPoolExecutor(2) as executor:
        asyncio.run(leave())
    assert seen == ["step", "closed"]


def test_abandoned_after_the_end() -> None:
    """Giving up what is over does nothing, also when the executor is gone."""

    async def take() -> None:
        with ThreadPoolExecutor(1) as executor:
            over = OffLoop(iter([1]), executor)
            begun = OffLoop(iter([1]), executor)
            assert [await over.next(), await over.next()] == [1, None]
        over.abandon()
        begun.abandon()

    asyncio.run(take())
