"""Aligns two traces: which event of left corresponds to which event of right.

Knows graphs, lanes, types, steps and local ids. Must not know whether corresponding events agree.
Linear on ordinary traces; on hostile ones the search for resynchronisation has a budget, and what
it does not reach stays unmatched, which is a divergence and never a pass.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Container, Hashable, Mapping
from dataclasses import dataclass

from tracediff.diff.order import group_by_causes
from tracediff.diff.resync import Budget, Pool, resynchronise
from tracediff.diff.shift import is_out_of_step
from tracediff.diff.siblings import Matches, bindings, full_key, match_siblings
from tracediff.diff.side import Side
from tracediff.diff.topology import Topology, build_topology
from tracediff.events import Trace

RESYNC_BUDGET_PER_EVENT = 10


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
    """All events of both sides, each exactly once, in the order in which they are compared.

    `tangles` numbers the pairs between which the two sides contradict each other about what comes
    first; pairs of one number are one tangle, and most pairs are in none.
    """

    left: Topology
    right: Topology
    pairs: tuple[Pair, ...]
    left_to_right: dict[int, int]
    right_to_left: dict[int, int]
    tangles: Mapping[Pair, int]


def align(left: Trace, right: Trace) -> Alignment:
    """Return the alignment of two structurally valid traces."""
    search = _Search(build_topology(left.events), build_topology(right.events))
    return search.run()


class _Search:
    """The growing set of matches."""

    def __init__(self, left: Topology, right: Topology) -> None:
        self.left = left
        self.right = right
        self.sides = Side(left), Side(right)
        self.left_to_right: dict[int, int] = {}
        self.right_to_left: dict[int, int] = {}
        self.skipped: set[int] = set()
        self.reparented: set[int] = set()
        self.bound: dict[str, str] = {}
        self.queue: deque[tuple[int, int]] = deque()
        events = len(left.events) + len(right.events)
        self.budget = Budget(10_000 + RESYNC_BUDGET_PER_EVENT * events)

    def run(self) -> Alignment:
        self._match(self.left.order[0], self.right.order[0])
        self._drain()
        if len(self.left_to_right) < max(len(self.left.events), len(self.right.events)):
            self._match_moved()
            self._match_leftovers()
        pairs, tangles = self._ordered_pairs(), {}
        groups = None if self._is_regular() else group_by_causes(pairs, self.left, self.right)
        if groups is not None:
            tangles = {
                pairs[place]: number
                for number, group in enumerate(groups)
                for place in group
                if len(group) > 1
            }
            pairs = tuple(pairs[place] for group in groups for place in group)
        return Alignment(
            self.left, self.right, pairs, self.left_to_right, self.right_to_left, tangles
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
            if len(left_pool) == len(right_pool) == 1 and self._alike(left_pool[0], right_pool[0]):
                self._match(left_pool[0], right_pool[0])  # a chain: nothing to choose from
                continue
            for x, y in self._siblings(left_pool, right_pool):
                if not is_out_of_step(*self.sides, x, y):
                    self._match(x, y)
            left_rest = [c for c in left_pool if c not in self.left_to_right]
            right_rest = [c for c in right_pool if c not in self.right_to_left]
            if left_rest or right_rest:
                self._resynchronise(left_rest, right_rest)

    def _alike(self, i: int, j: int) -> bool:
        same_key = full_key(self.left.events[i]) == full_key(self.right.events[j])
        return same_key and not is_out_of_step(*self.sides, i, j)

    def _siblings(self, left_pool: list[int], right_pool: list[int]) -> Matches:
        return match_siblings(
            self.left.events,
            self.right.events,
            left_pool,
            right_pool,
            self.bound,
            (self.sides[0].fingerprints, self.sides[1].fingerprints),
        )

    def _resynchronise(self, left_rest: list[int], right_rest: list[int]) -> None:
        """Match below unmatched siblings what goes on alike there."""
        left = Pool(self.sides[0], left_rest, self.left_to_right)
        right = Pool(self.sides[1], right_rest, self.right_to_left)
        for i, j in resynchronise(left, right, self.budget):
            self.skipped.add(i)
            self._match(i, j)

    def _match_moved(self) -> None:
        """Pair unmatched events that exist once on each side but have different parents."""
        left_keys = _unique_keys(self.left, self.left_to_right)
        right_keys = _unique_keys(self.right, self.right_to_left)
        both = [(i, right_keys[kind]) for kind, i in left_keys.items() if kind in right_keys]
        for i, j in sorted(both, key=self._combined_rank):
            # Draining one pair may match others of the list.
            if i not in self.left_to_right and j not in self.right_to_left:
                self.reparented.add(i)
                self._match(i, j)
                self._drain()

    def _combined_rank(self, pair: tuple[int, int]) -> tuple[int, int, str]:
        """Return a place in the order that is the same whichever side is called left."""
        ranks = self.left.rank[pair[0]], self.right.rank[pair[1]]
        return sum(ranks), min(ranks), str(full_key(self.left.events[pair[0]]))

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

    def _is_regular(self) -> bool:
        """Whether every event has a counterpart whose only parent is its parent's counterpart."""
        events = len(self.left.events), len(self.right.events)
        return (
            events == (len(self.left_to_right), len(self.right_to_left))
            and not (self.skipped or self.reparented)
            and not (any(self.left.joins) or any(self.right.joins))
        )

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


def _unique_keys(topology: Topology, matched: Container[int]) -> dict[Hashable, int]:
    """Return the unmatched events whose lane, type and step no other unmatched one has."""
    found: dict[Hashable, list[int]] = defaultdict(list)
    for node in topology.order:
        if node not in matched:
            found[full_key(topology.events[node])].append(node)
    return {key: nodes[0] for key, nodes in found.items() if len(nodes) == 1}
