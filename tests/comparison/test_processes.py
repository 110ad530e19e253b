"""Work spread over processes: the same results in the same order, and a clear end."""

import math
import os

import pytest

from tracediff.comparison.processes import spread_work
from tracediff.errors import TracediffError


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_keep_the_order_of_the_work(jobs: int) -> None:
    """However many processes there are, results come in the order of the items, and are told."""
    told: list[tuple[int, int | None]] = []
    numbers = [9, 3, 0, 7, 5]
    found = spread_work(
        math.factorial, numbers, jobs=jobs, on_done=lambda done, total: told.append((done, total))
    )
    assert found == [math.factorial(number) for number in numbers]
    assert told == [(1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_the_work_raises_is_raised(jobs: int) -> None:
    """An error in one piece of work is the caller's to handle."""
    with pytest.raises(ValueError, match="not defined for negative"):
        spread_work(math.factorial, [1, -1, 2], jobs=jobs)


def test_killed_process_is_said() -> None:
    """A process that ends in the middle of its work is an error with a way out."""
    with pytest.raises(TracediffError, match="--jobs 1"):
        spread_work(os._exit, [9, 9], jobs=2)


def test_nothing_to_do() -> None:
    """No work has no results."""
    assert spread_work(math.factorial, []) == []
