"""The pairs around the first divergence, and what became of every pair."""

import numpy as np
from trace_building import chain, event, tensor

from tracediff.diff import diff_traces
from tracediff.diff.result import ComparedPair, Standing
from tracediff.events import Event, Trace


def numbered(count: int, wrong: int | None = None, *, value: float = 1.0) -> Trace:
    """Return a chain whose event number `wrong` has another state; every one has a tensor."""
    return chain(
        *(
            event(
                f"e{index}",
                step=index,
                state={"n": -1 if index == wrong else index},
                outputs=[tensor("x", np.array([value]))],
            )
            for index in range(count)
        )
    )


def names(pairs: tuple[ComparedPair, ...]) -> list[int]:
    return [pair.left.logical_step for pair in pairs if pair.left is not None]


def test_three_before_and_after() -> None:
    """The neighbours are the first divergence, three pairs before it and three after."""
    found = diff_traces(numbered(20), numbered(20, 10)).neighbours
    assert names(found) == list(range(7, 14))
    assert [pair.standing for pair in found] == [
        *[Standing.EQUAL] * 3,
        Standing.ORIGIN,
        *[Standing.EQUAL] * 3,
    ]


def test_no_neighbours_of_nothing() -> None:
    """Equal traces have no neighbours."""
    assert diff_traces(numbered(5), numbered(5)).neighbours == ()


def test_first_and_last_event() -> None:
    """At the ends there are fewer neighbours."""
    assert names(diff_traces(numbered(3), numbered(3, 0)).neighbours) == [0, 1, 2]
    assert names(diff_traces(numbered(3), numbered(3, 2)).neighbours) == [0, 1, 2]


def test_watch_sees_every_pair() -> None:
    """Every pair is told once, in walking order, with its standing."""
    seen: list[ComparedPair] = []
    left, right = numbered(4), numbered(5, 1, value=1.0 + 1e-7)
    found = diff_traces(left, right, watch=seen.append)
    assert [pair.standing for pair in seen] == [
        Standing.WITHIN_TOLERANCE,
        Standing.ORIGIN,
        *[Standing.WITHIN_TOLERANCE] * 2,
        Standing.DOWNSTREAM,
    ]
    assert seen[-1].left is None
    assert isinstance(seen[-1].right, Event)
    assert [pair.divergence for pair in seen if pair.standing is Standing.ORIGIN] == [found.first]
