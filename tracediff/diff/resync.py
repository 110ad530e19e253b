"""Finds where two traces go on alike below a place where events are missing or extra.

Knows unmatched events below one pair, level by level. Must not know the rest of the alignment.
Symmetric in the two sides.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Container, Hashable, Iterator
from dataclasses import dataclass
from typing import Final

from tracediff.diff.siblings import Matches
from tracediff.diff.side import Side

_PASSES: Final = 4
"""How often events are matched by type: a match may close what another one was meant for."""


@dataclass(slots=True)
class Budget:
    """How many more events may be looked at; what is not reached stays unmatched."""

    left: int


class Pool:
    """Unmatched events of one side below one place, found level by level.

    `matched` holds the events that were matched before: they and what is below them are no matter.
    """

    def __init__(self, side: Side, start: list[int], matched: Container[int]) -> None:
        self.side = side
        self._matched = matched
        self.frontier = list(start)
        self._depths: dict[int, int] = {}
        self._closed: set[int] = set()
        self._counts: Counter[Hashable] = Counter()
        self._by_key: dict[Hashable, deque[int]] = defaultdict(deque)
        self._by_content: dict[bytes, deque[int]] = defaultdict(deque)
        self._add(start, 0)

    def descend(self) -> list[int]:
        """Add the children of the last level and return them."""
        level = [
            child
            for node in self.frontier
            if node not in self._closed
            for child in self.side.topology.children[node]
            if child not in self._depths and child not in self._matched
        ]
        depth = self._depths[self.frontier[0]] + 1 if level else 0
        self.frontier = level
        self._add(level, depth)
        return level

    def content(self, node: int) -> bytes:
        """Return the fingerprint of lane, type, step and all that the event holds."""
        return self.side.fingerprints.own(node)

    def find_equal(self, content: bytes) -> int | None:
        """Return the first open event of this content, if any."""
        return self._first_open(self._by_content.get(content))

    def find_only(self, key: Hashable) -> int | None:
        """Return the open event of this lane, type and step, if there is only one here."""
        return self._first_open(self._by_key.get(key)) if self._counts[key] == 1 else None

    def depth(self, node: int) -> int:
        """Return how many levels below the place an event was found."""
        return self._depths[node]

    def withdraw(self, node: int) -> None:
        """Close an event and what was found below it: that belongs to the event's own pair now."""
        pending = [node]
        while pending:
            current = pending.pop()
            self._closed.add(current)
            pending.extend(c for c in self.side.topology.children[current] if c in self._depths)

    def is_open(self, node: int) -> bool:
        """Whether the event is still to be matched here."""
        return node not in self._closed

    def remaining(self) -> list[int]:
        """Return open events in the order in which they were found."""
        return [node for node in self._depths if node not in self._closed]

    def _add(self, level: list[int], depth: int) -> None:
        for node in level:
            key = self.side.key(node)
            self._depths[node] = depth
            self._counts[key] += 1
            self._by_key[key].append(node)
            self._by_content[self.content(node)].append(node)

    def _first_open(self, queue: deque[int] | None) -> int | None:
        while queue:
            if queue[0] not in self._closed:
                return queue[0]
            queue.popleft()
        return None


def resynchronise(left: Pool, right: Pool, budget: Budget) -> Matches:
    """Match descendants of unmatched events as if they hung at the nearest matched ancestor.

    Both sides are descended level by level. Events that hold the same are matched first, then
    those whose lane, type and step occur once on each side, and, when all is seen, in their order
    those of equal lane and type.
    """
    search = _Resynchronisation((left, right))
    while budget.left > 0 and (left.frontier or right.frontier):
        fresh = (left.descend(), right.descend())
        budget.left -= len(fresh[0]) + len(fresh[1])
        search.match(fresh, by_content=True)
        search.match(fresh, by_content=False)
    search.match_by_type()
    return search.matches


class _Resynchronisation:
    def __init__(self, pools: tuple[Pool, Pool]) -> None:
        self.matches: Matches = []
        self._pools = pools

    def match(self, fresh: tuple[list[int], list[int]], *, by_content: bool) -> None:
        """Match the events of the newest levels with those seen on the other side.

        The shallowest counterparts come first, so that events do not cross.
        """
        candidates = [
            (depth, str(pool.side.key(node)), pool.content(node), side, node)
            for side, pool in enumerate(self._pools)
            for node in fresh[side]
            if (depth := self._counterpart_depth(side, node, by_content=by_content)) is not None
        ]
        for *_, side, node in sorted(candidates, key=lambda found: found[:3]):
            if not self._pools[side].is_open(node):
                continue
            counterpart = self._counterpart(side, node, by_content=by_content)
            if counterpart is not None:
                self._take(*((node, counterpart) if side == 0 else (counterpart, node)))

    def match_by_type(self) -> None:
        """Match what is left by lane and type, the shallowest first and the n-th with the n-th."""
        for _ in range(_PASSES):
            taken = len(self.matches)
            for _, _, i, j in sorted(self._typed_candidates(), key=lambda found: found[:2]):
                if self._pools[0].is_open(i) and self._pools[1].is_open(j):
                    self._take(i, j)
            if len(self.matches) == taken:
                return

    def _typed_candidates(self) -> Iterator[tuple[int, str, int, int]]:
        left, right = self._pools
        places: dict[Hashable, deque[int]] = defaultdict(deque)
        for j in right.remaining():
            places[right.side.kind(j)].append(j)
        for i in left.remaining():
            kind = left.side.kind(i)
            if places[kind]:
                j = places[kind].popleft()
                yield left.depth(i) + right.depth(j), str(kind), i, j

    def _take(self, i: int, j: int) -> None:
        self._pools[0].withdraw(i)
        self._pools[1].withdraw(j)
        self.matches.append((i, j))

    def _counterpart_depth(self, side: int, node: int, *, by_content: bool) -> int | None:
        if not self._pools[side].is_open(node):
            return None
        found = self._counterpart(side, node, by_content=by_content)
        return None if found is None else self._pools[1 - side].depth(found)

    def _counterpart(self, side: int, node: int, *, by_content: bool) -> int | None:
        mine, other = self._pools[side], self._pools[1 - side]
        if by_content:
            return other.find_equal(mine.content(node))
        key = mine.side.key(node)
        return other.find_only(key) if mine.find_only(key) == node else None
