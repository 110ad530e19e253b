"""Aligns two traces: which event of left corresponds to which event of right.

Knows graphs, lanes, types, steps and local ids. Must not know whether corresponding events agree.
Linear on ordinary traces; on hostile ones the search for resynchronisation has a budget, and what
it does not reach stays unmatched, which is a divergence and never a pass.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Container, Hashable
from dataclasses import dataclass

from tracediff.diff.siblings import Matches, bindings, full_key, match_siblings, type_key
from tracediff.diff.topology import Topology, build_topology
from tracediff.events import Trace

RESYNC_BUDGET_PER_EVENT = 20


@dataclass(frozen=True, slots=True)
class Pair:
    """Indices of corresponding events; -1 on the side that has none.

    `skipped` says that an unmatched event lies between this pair and its nearest matched ancestor;
    `reparented` that the two have different parents.
    """

    left: int
    right: int
    skipped: bool = False
    reparented: bool = False


@dataclass(frozen=True, slots=True)
class Alignment:
    """All events of both sides, each exactly once, in the order in which they are compared."""

    left: Topology
    right: Topology
    pairs: tuple[Pair, ...]
    left_to_right: dict[int, int]
    right_to_left: dict[int, int]


def align(left: Trace, right: Trace) -> Alignment:
    """Return the alignment of two structurally valid traces."""
    search = _Search(build_topology(left.events), build_topology(right.events))
    return search.run()


class _Search:
    """The growing set of matches."""

    def __init__(self, left: Topology, right: Topology) -> None:
        self.left = left
        self.right = right
        self.left_to_right: dict[int, int] = {}
        self.right_to_left: dict[int, int] = {}
        self.skipped: set[int] = set()
        self.reparented: set[int] = set()
        self.bound: dict[str, str] = {}
        self.queue: deque[tuple[int, int]] = deque()
        self.budget = 10_000 + RESYNC_BUDGET_PER_EVENT * (len(left.events) + len(right.events))

    def run(self) -> Alignment:
        self._match(self.left.order[0], self.right.order[0])
        self._drain()
        if len(self.left_to_right) < max(len(self.left.events), len(self.right.events)):
            self._match_moved()
            self._match_leftovers()
        return Alignment(
            self.left, self.right, self._ordered_pairs(), self.left_to_right, self.right_to_left
        )

    def _match(self, i: int, j: int) -> None:
        self.left_to_right[i] = j
        self.right_to_left[j] = i
        for mine, other in bindings(self.left.events[i], self.right.events[j]).items():
            self.bound.setdefault(mine, other)
        self.queue.append((i, j))

    def _drain(self) -> None:
        """Match everything below the queued pairs."""
        while self.queue:
            i, j = self.queue.popleft()
            left_pool = [c for c in self.left.children[i] if c not in self.left_to_right]
            right_pool = [c for c in self.right.children[j] if c not in self.right_to_left]
            if not left_pool and not right_pool:
                continue
            for x, y in self._siblings(left_pool, right_pool):
                self._match(x, y)
            left_rest = [c for c in left_pool if c not in self.left_to_right]
            right_rest = [c for c in right_pool if c not in self.right_to_left]
            if left_rest or right_rest:
                self._resynchronise(left_rest, right_rest)

    def _siblings(self, left_pool: list[int], right_pool: list[int]) -> Matches:
        return match_siblings(
            self.left.events, self.right.events, left_pool, right_pool, self.bound
        )

    def _resynchronise(self, left_rest: list[int], right_rest: list[int]) -> None:
        """Match descendants of unmatched events as if they hung at the nearest matched ancestor.

        Both sides are descended level by level; an event is matched with the first one of the
        other side that has its lane, type and step, and, when all is seen, its lane and type.
        """
        sides = (_Pool(self.left, left_rest), _Pool(self.right, right_rest))
        while self.budget > 0 and (sides[0].frontier or sides[1].frontier):
            for side, other in ((0, 1), (1, 0)):
                for node in sides[side].descend():
                    self.budget -= 1
                    found = sides[other].take(full_key(sides[side].topology.events[node]))
                    if found is not None:
                        self._match_below(sides, side, node, found)
        remaining = [pool.remaining() for pool in sides]
        for x, y in _pair_by_type(sides[0], sides[1], *remaining):
            if sides[0].is_open(x) and sides[1].is_open(y):
                self._match_below(sides, 0, x, y)

    def _match_below(self, sides: tuple[_Pool, _Pool], side: int, node: int, found: int) -> None:
        i, j = (node, found) if side == 0 else (found, node)
        self.skipped.add(i)
        sides[0].withdraw(i)
        sides[1].withdraw(j)
        self._match(i, j)

    def _match_moved(self) -> None:
        """Pair unmatched events that exist once on each side but have different parents."""
        left_keys = _unique_keys(self.left, self.left_to_right)
        right_keys = _unique_keys(self.right, self.right_to_left)
        for kind, i in left_keys.items():
            j = right_keys.get(kind)
            # Draining one pair may match others of the list.
            if j is not None and i not in self.left_to_right and j not in self.right_to_left:
                self.reparented.add(i)
                self._match(i, j)
                self._drain()

    def _match_leftovers(self) -> None:
        """Pair the single leftover children of a matched pair, one each side, of any type."""
        for i in self.left.order:
            j = self.left_to_right.get(i)
            if j is None:
                continue
            left_rest = [c for c in self.left.children[i] if c not in self.left_to_right]
            right_rest = [c for c in self.right.children[j] if c not in self.right_to_left]
            if len(left_rest) == 1 and len(right_rest) == 1:
                self._match(left_rest[0], right_rest[0])
                self._drain()

    def _ordered_pairs(self) -> tuple[Pair, ...]:
        """Left's topological order; what only right has stands behind its predecessor there."""
        following: dict[int, list[int]] = defaultdict(list)
        anchor = -1
        for j in self.right.order:
            if j in self.right_to_left:
                anchor = self.right_to_left[j]
            else:
                following[anchor].append(j)
        pairs = [Pair(-1, j) for j in following[-1]]
        for i in self.left.order:
            pairs.append(
                Pair(i, self.left_to_right.get(i, -1), i in self.skipped, i in self.reparented)
            )
            pairs.extend(Pair(-1, j) for j in following.get(i, ()))
        return tuple(pairs)


class _Pool:
    """Unmatched events of one side below one place, by key, found level by level."""

    def __init__(self, topology: Topology, start: list[int]) -> None:
        self.topology = topology
        self.frontier = list(start)
        self._seen = dict.fromkeys(start)
        self._closed: set[int] = set()
        self._by_key: dict[Hashable, deque[int]] = defaultdict(deque)
        for node in start:
            self._by_key[full_key(topology.events[node])].append(node)

    def descend(self) -> list[int]:
        """Add the children of the last level; return those that are still open."""
        level = [
            child
            for node in self.frontier
            if node not in self._closed
            for child in self.topology.children[node]
            if child not in self._seen
        ]
        self.frontier = level
        for node in level:
            self._seen[node] = None
            self._by_key[full_key(self.topology.events[node])].append(node)
        return [node for node in level if node not in self._closed]

    def take(self, key: Hashable) -> int | None:
        """Return the first open event of this key, if any."""
        queue = self._by_key.get(key)
        while queue:
            node = queue[0]
            if node not in self._closed:
                return node
            queue.popleft()
        return None

    def withdraw(self, node: int) -> None:
        """Close an event and what was found below it: that belongs to the event's own pair now."""
        pending = [node]
        while pending:
            current = pending.pop()
            self._closed.add(current)
            pending.extend(c for c in self.topology.children[current] if c in self._seen)

    def is_open(self, node: int) -> bool:
        """Whether the event is still to be matched here."""
        return node not in self._closed

    def remaining(self) -> list[int]:
        """Return open events in the order in which they were found."""
        return [node for node in self._seen if node not in self._closed]


def _pair_by_type(
    left: _Pool, right: _Pool, left_open: list[int], right_open: list[int]
) -> Matches:
    places: dict[Hashable, deque[int]] = defaultdict(deque)
    for j in right_open:
        places[type_key(right.topology.events[j])].append(j)
    matches: Matches = []
    for i in left_open:
        queue = places.get(type_key(left.topology.events[i]))
        if queue:
            matches.append((i, queue.popleft()))
    return matches


def _unique_keys(topology: Topology, matched: Container[int]) -> dict[Hashable, int]:
    """Return the unmatched events whose lane, type and step no other unmatched one has."""
    found: dict[Hashable, list[int]] = defaultdict(list)
    for node in topology.order:
        if node not in matched:
            found[full_key(topology.events[node])].append(node)
    return {key: nodes[0] for key, nodes in found.items() if len(nodes) == 1}
