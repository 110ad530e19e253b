"""Tells origins from victims: which divergences have a divergent ancestor.

Knows the alignment and which pairs diverged. Must not know why.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tracediff.diff.align import Alignment, Pair
from tracediff.diff.topology import Topology


class Lineage:
    """Remembers, in walking order, which events diverged or descend from one that did.

    Pairs of one tangle are not each other's ancestors: the two sides contradict each other there.
    """

    def __init__(self, alignment: Alignment) -> None:
        self._alignment = alignment
        self._tainted_left: set[int] = set()
        self._tainted_right: set[int] = set()
        tangles = alignment.tangles
        self._left_tangles = {pair.left: number for pair, number in tangles.items()}
        self._right_tangles = {pair.right: number for pair, number in tangles.items()}

    def is_victim(self, pair: Pair) -> bool:
        """Whether an ancestor of the pair, on either side, diverged."""
        left, right = self._alignment.left, self._alignment.right
        return _has_tainted_parent(
            left, pair.left, self._tainted_left, self._left_tangles
        ) or _has_tainted_parent(right, pair.right, self._tainted_right, self._right_tangles)

    def add(self, pair: Pair, *, diverged: bool) -> None:
        """Note the pair, in walking order: what diverged or descends from such is tainted."""
        if not diverged and not self.is_victim(pair):
            return
        self._tainted_left.add(pair.left)
        self._tainted_right.add(pair.right)


def _has_tainted_parent(
    topology: Topology, position: int, tainted: Collection[int], tangles: Mapping[int, int]
) -> bool:
    if position < 0:
        return False
    own = tangles.get(position)
    causes = (topology.parents[position], *topology.joins[position])
    return any(
        cause >= 0 and cause in tainted and (own is None or tangles.get(cause) != own)
        for cause in causes
    )
