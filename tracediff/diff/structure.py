"""Check 1 of a pair: are type, parents, lane and step of two corresponding events alike?

Knows the alignment. Must not know what events contain.
"""

from __future__ import annotations

from tracediff.diff.align import Alignment, Pair
from tracediff.diff.fields import FieldComparer
from tracediff.diff.result import MISSING, FieldDifference
from tracediff.diff.topology import Topology


def structural_difference(pair: Pair, alignment: Alignment) -> FieldDifference | None:
    """Return how the two events differ as nodes of their graphs, or None.

    A step number is compared relative to the nearest matched ancestor, so that steps that shift
    after a missing or extra event are not reported again and again.
    """
    left, right = alignment.left.events[pair.left], alignment.right.events[pair.right]
    for name in ("component", "event_type"):
        mine, other = getattr(left, name), getattr(right, name)
        if mine != other:
            return FieldDifference(name, mine, other)
    lane = FieldComparer().first(
        left.payload.get("lane", MISSING), right.payload.get("lane", MISSING), "payload.lane"
    )
    if lane is not None:
        return lane
    if pair.reparented:
        return FieldDifference("parent_event_id", left.parent_event_id, right.parent_event_id)
    return _joins_difference(pair, alignment) or _step_difference(pair, alignment)


def _joins_difference(pair: Pair, alignment: Alignment) -> FieldDifference | None:
    mine, other = alignment.left.joins[pair.left], alignment.right.joins[pair.right]
    if {alignment.left_to_right.get(join, -1) for join in mine} == set(other):
        return None
    return FieldDifference(
        "payload.joins",
        [alignment.left.events[join].event_id for join in mine],
        [alignment.right.events[join].event_id for join in other],
    )


def _step_difference(pair: Pair, alignment: Alignment) -> FieldDifference | None:
    left, right = alignment.left.events[pair.left], alignment.right.events[pair.right]
    shift = right.logical_step - left.logical_step
    if shift == _inherited_shift(pair, alignment) or pair.skipped:
        return None
    return FieldDifference("logical_step", left.logical_step, right.logical_step)


def _inherited_shift(pair: Pair, alignment: Alignment) -> int:
    """Return the step difference of the nearest matched ancestor, 0 above the root."""
    ancestor = _matched_ancestor(alignment.left, pair.left, alignment)
    if ancestor < 0:
        return 0
    counterpart = alignment.left_to_right[ancestor]
    left, right = alignment.left.events[ancestor], alignment.right.events[counterpart]
    return right.logical_step - left.logical_step


def _matched_ancestor(topology: Topology, position: int, alignment: Alignment) -> int:
    parent = topology.parents[position]
    while parent >= 0 and parent not in alignment.left_to_right:
        parent = topology.parents[parent]
    return parent
