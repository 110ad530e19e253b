"""Where two traces go on alike: loops of one type, twins among siblings, events out of order."""

from collections.abc import Sequence
from typing import Any

import pytest
from trace_building import chain, event, trace

from tracediff.diff import Outcome, diff_traces
from tracediff.diff.align import align
from tracediff.events import Trace

ROOT = event("r", state={"n": 0})


def loop(values: Sequence[Any], steps: Sequence[int] | None = None) -> Trace:
    """Return a chain of events of one type, each with its value and, if given, its step."""
    steps = steps or [0] * len(values)
    turns = zip(values, steps, strict=True)
    events = [event(f"e{i}", step=s, state={"v": v}) for i, (v, s) in enumerate(turns)]
    return chain(ROOT, *events)


def apart(left: Trace, right: Trace) -> list[tuple[str | None, str | None]]:
    """Return the pairs of ids that diverge independently of another."""
    return [
        (d.left.event_id if d.left else None, d.right.event_id if d.right else None)
        for d in diff_traces(left, right).frontier
    ]


# values on the left, on the right, the pair of ids that diverges first
TURNS = {
    "one-missing": ("abcd", "acd", ("e1", None)),
    "one-extra": ("acd", "abcd", (None, "e1")),
    "first-missing": ("abcd", "bcd", ("e0", None)),
    "last-missing": ("abcd", "abc", ("e3", None)),
    "two-extra": ("abcd", "axybcd", (None, "e1")),
}
CHANGES = {
    "one-changed": ("abcd", "axcd", ("e1", "e1")),
    "one-changed-of-equal-ones": ("aaaa", "abaa", ("e1", "e1")),
    "one-missing-of-equal-ones": ("aaaa", "aaa", ("e3", None)),
}


@pytest.mark.parametrize("case", [*TURNS, *CHANGES])
def test_loops_fall_into_step_again(case: str) -> None:
    """A turn that is missing, extra or changed is one difference; the others correspond."""
    mine, other, expected = (TURNS | CHANGES)[case]
    assert apart(loop(mine), loop(other)) == [expected]


@pytest.mark.parametrize("case", TURNS)
def test_numbered_loops_fall_into_step_again(case: str) -> None:
    """The same where each turn has a step number of its own."""
    mine, other, expected = TURNS[case]
    sides = [loop(values, [ord(value) for value in values]) for values in (mine, other)]
    assert apart(*sides) == [expected]


def test_values_that_are_off_by_one_are_no_missing_turn() -> None:
    """Where steps agree, values that run ahead are a difference of values."""
    left, right = loop([1, 2, 3, 4], [1, 2, 3, 4]), loop([1, 3, 4, 5], [1, 2, 3, 4])
    found = diff_traces(left, right)
    assert found.first is not None
    assert (found.first.check, found.coverage.only_left) == ("state", 0)


def test_twins_are_told_apart_by_what_follows() -> None:
    """Siblings that hold the same correspond by their children."""

    def side(order: str) -> Trace:
        parts = [(event(f"p{n}", "r"), event(f"q{n}", f"p{n}", choice={"v": n})) for n in order]
        return trace([ROOT, *(found for pair in parts for found in pair)])

    assert diff_traces(side("123"), side("312")).outcome is Outcome.EQUAL


def test_twins_are_told_apart_by_who_joins_them() -> None:
    """Siblings that hold the same correspond by the events that join them."""

    def side(order: str) -> Trace:
        twins = [event(f"t{n}", "r") for n in order]
        return trace([ROOT, *twins, event("j", "r", "join", joins=["t2"])])

    assert diff_traces(side("123"), side("231")).outcome is Outcome.EQUAL


def test_equal_siblings_come_first() -> None:
    """Of several of one type the one that changed is the one that is reported."""

    def side(values: Sequence[int]) -> Trace:
        return trace([ROOT, *(event(f"s{v}", "r", choice={"v": v}) for v in values)])

    assert apart(side([1, 2, 3]), side([3, 1, 9])) == [("s2", "s9")]


def test_which_cause_is_the_parent_does_not_matter() -> None:
    """An event with several causes may call any of them its parent, the others it joins."""

    def side(first: str, second: str) -> Trace:
        calls = [event("a", "r", "x"), event("b", "r", "y")]
        return trace([ROOT, *calls, event("j", first, "join", joins=[second])])

    assert diff_traces(side("a", "b"), side("b", "a")).outcome is Outcome.EQUAL


def test_contradicting_orders_are_a_tangle() -> None:
    """Events that are each other's cause, by one side or the other, are all origins."""
    left = trace([ROOT, event("a", "r", "x"), event("b", "r", "x", lane={"i": 0}, joins=["a"])])
    right = trace([ROOT, event("a", "r", "x", step=1), event("b", "r", "x", joins=["a"])])
    assert len(set(align(left, right).tangles.values())) == 1
    assert sorted(apart(left, right)) == sorted((other, mine) for mine, other in apart(right, left))


def test_no_event_is_matched_twice() -> None:
    """An event that was matched below an unmatched one is not matched again."""
    left = trace(
        [
            ROOT,
            event("e1", "r", "x", step=1),
            event("e2", "r", "x", joins=["e1"]),
            event("e3", "e1", "x"),
            event("e4", "r", "x"),
        ]
    )
    right = trace(
        [
            ROOT,
            event("e1", "r", "y"),
            event("e2", "e1", "y", joins=["r"]),
            event("e3", "e2", "x"),
            event("e4", "r", "x"),
        ]
    )
    pairs = align(left, right).pairs
    assert sorted(pair.left for pair in pairs if pair.left >= 0) == list(range(5))
    assert sorted(pair.right for pair in pairs if pair.right >= 0) == list(range(5))
