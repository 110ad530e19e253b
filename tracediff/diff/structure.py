"""Check 1 of a pair: are type, parents, lane and step of two corresponding events alike?

Knows the alignment. Must not know what events contain.
"""

from __future__ import annotations

from tracediff.diff.align import Alignment, Pair
from tracediff.diff.fields import FieldComparer
from tracediff.diff.result import MISSING, FieldDifference


def structural_difference(pair: Pair, alignment: Alignment) -> FieldDifference | None:
    """Return how the two events differ as nodes of their graphs, or None.

    A step number is compared relative to the parents', so that steps that shift after a missing or
    extra event are not reported again and again.
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
    return _parents_difference(pair, alignment) or _step_difference(pair, alignment)


def _parents_difference(pair: Pair, alignment: Alignment) -> FieldDifference | None:
    """Return how the causes differ; which of several is the parent and which joins is the same."""
    left, right = alignment.left, alignment.right
    mine, other = left.joins[pair.left], right.joins[pair.right]
    if pair.reparented:
        causes = {alignment.left_to_right.get(i, -1) for i in (left.parents[pair.left], *mine)}
        if causes == {right.parents[pair.right], *other}:
            return None
        events = left.events[pair.left], right.events[pair.right]
        return FieldDifference("parent_event_id", *(event.parent_event_id for event in events))
    if {alignment.left_to_right.get(join, -1) for join in mine} == set(other):
        return None
    return FieldDifference(
        "payload.joins",
        [alignment.left.events[join].event_id for join in mine],
        [alignment.right.events[join].event_id for join in other],
    )


def _step_difference(pair: Pair, alignment: Alignment) -> FieldDifference | None:
    if pair.skipped or pair.reparented:
        return None
    left, right = alignment.left.events[pair.left], alignment.right.events[pair.right]
    if right.logical_step - left.logical_step == _inherited_shift(pair, alignment):
        return None
    return FieldDifference("logical_step", left.logical_step, right.logical_step)


def _inherited_shift(pair: Pair, alignment: Alignment) -> int:
    """Return the step difference of the parents, which correspond; 0 above the root."""
    parents = alignment.left.parents[pair.left], alignment.right.parents[pair.right]
    if parents[0] < 0 or parents[1] < 0:
        return 0
    left, right = alignment.left.events[parents[0]], alignment.right.events[parents[1]]
    return right.logical_step - left.logical_step
