"""Tells origins from victims: which divergences have a divergent ancestor.

Knows the alignment and which pairs diverged. Must not know why.
"""

from __future__ import annotations

from collections.abc import Collection

from tracediff.diff.align import Alignment, Pair
from tracediff.diff.topology import Topology


class Lineage:
    """Remembers, in walking order, which events diverged or descend from one that did."""

    def __init__(self, alignment: Alignment) -> None:
        self._alignment = alignment
        self._tainted_left: set[int] = set()
        self._tainted_right: set[int] = set()

    def is_victim(self, pair: Pair) -> bool:
        """Whether an ancestor of the pair, on either side, diverged."""
        left, right = self._alignment.left, self._alignment.right
        return _has_tainted_parent(left, pair.left, self._tainted_left) or _has_tainted_parent(
            right, pair.right, self._tainted_right
        )

    def add(self, pair: Pair, *, diverged: bool) -> None:
        """Note the pair, in walking order: what diverged or descends from such is tainted."""
        if not diverged and not self.is_victim(pair):
            return
        self._tainted_left.add(pair.left)
        self._tainted_right.add(pair.right)


def _has_tainted_parent(topology: Topology, position: int, tainted: Collection[int]) -> bool:
    if position < 0:
        return False
    parent = topology.parents[position]
    return (parent >= 0 and parent in tainted) or any(
        join in tainted for join in topology.joins[position]
    )
