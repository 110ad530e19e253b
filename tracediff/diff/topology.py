"""The graph of one trace: children, and the order in which events are walked.

Knows parents and joins. Must not know the other trace.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from tracediff.events import Event


@dataclass(frozen=True, slots=True)
class Topology:
    """Events by index, their tree children in file order, and their topological ranks.

    `parents[i]` is the index of the tree parent (-1 for the root); `joins[i]` those of further
    parents; `order` lists indices parents first, ties by file order; `rank` inverts it.
    """

    events: Sequence[Event]
    parents: list[int]
    joins: list[tuple[int, ...]]
    children: list[list[int]]
    order: list[int]
    rank: list[int]


def build_topology(events: Sequence[Event]) -> Topology:
    """Return the graph of structurally valid events."""
    index = {event.event_id: position for position, event in enumerate(events)}
    parents = [
        -1 if event.parent_event_id is None else index[event.parent_event_id] for event in events
    ]
    joins = [tuple(index[parent] for parent in event.payload.get("joins", ())) for event in events]
    children: list[list[int]] = [[] for _ in events]
    for position, parent in enumerate(parents):
        if parent >= 0:
            children[parent].append(position)
    order = _topological_order(parents, joins)
    rank = [0] * len(order)
    for place, position in enumerate(order):
        rank[position] = place
    return Topology(events, parents, joins, children, order, rank)


def _topological_order(parents: list[int], joins: list[tuple[int, ...]]) -> list[int]:
    if _is_ordered(parents, joins):
        return list(range(len(parents)))
    waiting = [0] * len(parents)
    followers: list[list[int]] = [[] for _ in parents]
    for position, parent in enumerate(parents):
        causes = {*joins[position], parent} - {-1}
        waiting[position] = len(causes)
        for cause in causes:
            followers[cause].append(position)
    ready = [position for position, count in enumerate(waiting) if count == 0]
    order = []
    while ready:
        position = heapq.heappop(ready)
        order.append(position)
        for follower in followers[position]:
            waiting[follower] -= 1
            if waiting[follower] == 0:
                heapq.heappush(ready, follower)
    return order


def _is_ordered(parents: list[int], joins: list[tuple[int, ...]]) -> bool:
    return all(
        parent < position and all(join < position for join in joins[position])
        for position, parent in enumerate(parents)
    )
