"""Puts aligned pairs into an order in which causes come first on both sides.

Knows which pair each event is in. Where the two sides contradict each other (one event before the
other on the left, behind it on the right) no such order exists: these pairs are one tangle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from tracediff.diff.topology import Topology


class Aligned(Protocol):
    """Indices of corresponding events, -1 on a side that has none."""

    @property
    def left(self) -> int:
        """Index of the left event."""

    @property
    def right(self) -> int:
        """Index of the right event."""


def group_by_causes(
    pairs: Sequence[Aligned], left: Topology, right: Topology
) -> list[list[int]] | None:
    """Return the places of pairs in groups, causes first; None where that is the given order.

    Groups of several are tangles: all pairs that are, by either side, causes of each other
    (strongly connected components; Tarjan 1972, without recursion).
    """
    places = _places(pairs, left, right)
    if all(cause < place for place, pair in enumerate(pairs) for cause in _causes(pair, *places)):
        return None
    return _components([list(_causes(pair, *places)) for pair in pairs])


class _Places:
    """In which pair each event of one side is."""

    def __init__(self, topology: Topology, positions: Iterable[int]) -> None:
        self._topology = topology
        self._places = [0] * len(topology.events)
        for place, position in enumerate(positions):
            if position >= 0:
                self._places[position] = place

    def causes(self, position: int) -> Iterator[int]:
        """Yield the pairs of an event's parent and of what it joins."""
        if position < 0:
            return
        parent = self._topology.parents[position]
        if parent >= 0:
            yield self._places[parent]
        for join in self._topology.joins[position]:
            yield self._places[join]


def _places(pairs: Sequence[Aligned], left: Topology, right: Topology) -> tuple[_Places, _Places]:
    return (
        _Places(left, (pair.left for pair in pairs)),
        _Places(right, (pair.right for pair in pairs)),
    )


def _causes(pair: Aligned, left: _Places, right: _Places) -> Iterator[int]:
    yield from left.causes(pair.left)
    yield from right.causes(pair.right)


def _components(causes: list[list[int]]) -> list[list[int]]:
    search = _Search(causes)
    for place in range(len(causes)):
        if not search.is_seen(place):
            search.start(place)
    return search.components


class _Search:
    def __init__(self, causes: list[list[int]]) -> None:
        self.components: list[list[int]] = []
        self._causes = causes
        self._numbers = [-1] * len(causes)
        self._lowest = [0] * len(causes)
        self._open: list[int] = []
        self._is_open = [False] * len(causes)
        self._count = 0

    def is_seen(self, place: int) -> bool:
        """Whether the place is in a component, or on the way into one."""
        return self._numbers[place] >= 0

    def start(self, first: int) -> None:
        """Find all components that `first` follows from, and its own."""
        path = [(first, iter(self._causes[first]))]
        self._enter(first)
        while path:
            place, rest = path[-1]
            cause = next(rest, None)
            if cause is None:
                path.pop()
                self._leave(place)
                if path:
                    self._lower(path[-1][0], self._lowest[place])
            elif not self.is_seen(cause):
                self._enter(cause)
                path.append((cause, iter(self._causes[cause])))
            elif self._is_open[cause]:
                self._lower(place, self._numbers[cause])

    def _enter(self, place: int) -> None:
        self._numbers[place] = self._lowest[place] = self._count
        self._count += 1
        self._open.append(place)
        self._is_open[place] = True

    def _lower(self, place: int, number: int) -> None:
        self._lowest[place] = min(self._lowest[place], number)

    def _leave(self, place: int) -> None:
        if self._lowest[place] != self._numbers[place]:
            return
        component: list[int] = []
        while not component or component[-1] != place:
            component.append(self._open.pop())
            self._is_open[component[-1]] = False
        self.components.append(sorted(component))
