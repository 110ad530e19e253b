"""Whether two chains of events of one type are one or more events out of step with each other.

Knows what a loop's events hold. A loop in which one turn is missing or extra would else seem to
differ in every turn from there on.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracediff.diff.side import Side
from tracediff.events import Event

LOOK_AHEAD = 8
"""Events of the chain that are looked at, the first included."""

LARGEST_NEIGHBOURHOOD = 64
"""Events below one that are looked through for the next one of its type."""


def is_out_of_step(left: Side, right: Side, i: int, j: int) -> bool:
    """Whether the counterpart of one of two events of one type is rather met below the other one.

    So it is where more of the following events hold the same when the chains are shifted than
    when they are not. Events of one step are only shifted where steps tell nothing.
    """
    mine, other = left.topology.events[i], right.topology.events[j]
    same_step = mine.logical_step == other.logical_step
    if (same_step and _hold_same(mine, other)) or mine.payload == other.payload:
        return False
    chains = _chain(left, i), _chain(right, j)
    steps = (_steps(left, chains[0]), _steps(right, chains[1]))
    if max(map(len, chains)) == 1 or (same_step and max(map(len, map(set, steps))) > 1):
        return False
    for loosely in (False, True):
        prints = [
            [_print(side, node, loosely=loosely) for node in chain]
            for side, chain in zip((left, right), chains, strict=True)
        ]
        straight, shifted = _agreement(*prints)
        if straight or shifted:
            return shifted > straight
    return False


def _chain(side: Side, start: int) -> list[int]:
    """Return an event and the next ones of its type below it."""
    wanted = side.kind(start)
    found, level, seen = [start], [start], 1
    while level and len(found) < LOOK_AHEAD and seen <= LARGEST_NEIGHBOURHOOD:
        level = [child for node in level for child in side.topology.children[node]]
        seen += len(level)
        found += [node for node in level if side.kind(node) == wanted]
    return found[:LOOK_AHEAD]


def _print(side: Side, node: int, *, loosely: bool) -> bytes:
    fingerprints = side.fingerprints
    if loosely:
        return fingerprints.seen(node, with_step=False)
    return fingerprints.own(node, with_step=False)


def _hold_same(left: Event, right: Event) -> bool:
    mine, other = left.payload.get, right.payload.get
    return bool(  # spelled out: it is asked for every pair
        mine("state") == other("state")
        and mine("choice") == other("choice")
        and mine("artifacts") == other("artifacts")
        and mine("rng") == other("rng")
        and mine("commit") == other("commit")
    )


def _steps(side: Side, chain: Sequence[int]) -> list[int]:
    return [side.topology.events[node].logical_step for node in chain]


def _agreement(left: Sequence[bytes], right: Sequence[bytes]) -> tuple[int, int]:
    """Return how many events agree unshifted, and how many with the best shift."""
    shifts = [_matches(left[by:], right) for by in range(1, len(left))]
    shifts += [_matches(left, right[by:]) for by in range(1, len(right))]
    return _matches(left, right), max(shifts, default=0)


def _matches(left: Sequence[bytes], right: Sequence[bytes]) -> int:
    return sum(x == y for x, y in zip(left, right, strict=False))
