"""Which event corresponds to which: lanes, steps, missing and extra events, moved ones."""

from collections.abc import Sequence

import pytest
from trace_building import chain, event, trace

from tracediff.diff.align import align
from tracediff.diff.siblings import common_subsequence
from tracediff.events import Trace

ROOT = event("r")


def matched(left: Trace, right: Trace) -> list[tuple[str | None, str | None]]:
    """Return the aligned ids, None for a side without the event."""
    alignment = align(left, right)
    return [
        (
            left.events[pair.left].event_id if pair.left >= 0 else None,
            right.events[pair.right].event_id if pair.right >= 0 else None,
        )
        for pair in alignment.pairs
    ]


def steps(*names: str) -> Trace:
    """Return a chain of events whose id and type are given as `id:type`."""
    events = [event(name.partition(":")[0], event_type=name.partition(":")[2]) for name in names]
    return chain(*events)


def test_equal_chains() -> None:
    """Ids do not matter, places do."""
    assert matched(steps("a:x", "b:y"), steps("1:x", "2:y")) == [("a", "1"), ("b", "2")]


def test_extra_event_resynchronises() -> None:
    """One extra event is extra; what follows it still corresponds."""
    left, right = steps("a:x", "b:y", "c:z"), steps("1:x", "9:new", "2:y", "3:z")
    assert matched(left, right) == [("a", "1"), (None, "9"), ("b", "2"), ("c", "3")]


def test_missing_event_resynchronises() -> None:
    """One missing event is missing; what follows it still corresponds."""
    left, right = steps("a:x", "b:y", "c:z", "d:w"), steps("1:x", "3:z", "4:w")
    assert matched(left, right) == [("a", "1"), ("b", None), ("c", "3"), ("d", "4")]


def test_leftovers_of_one_place_are_a_pair() -> None:
    """One leftover each side at the same place is one event whose type differs."""
    left, right = steps("a:x", "b:y", "c:z"), steps("1:x", "2:other", "3:z")
    assert matched(left, right) == [("a", "1"), ("b", "2"), ("c", "3")]


def test_siblings_in_any_order() -> None:
    """Children of one parent may come in any file order."""
    left = trace([ROOT, event("a", "r", "x"), event("b", "r", "y"), event("c", "r", "z")])
    right = trace([ROOT, event("3", "r", "z"), event("1", "r", "x"), event("2", "r", "y")])
    assert set(matched(left, right)) == {("r", "r"), ("a", "1"), ("b", "2"), ("c", "3")}


def test_step_tells_equal_types_apart() -> None:
    """Equal types are matched by their step where that is unique."""
    left = trace([ROOT, event("a", "r", "x", step=1), event("b", "r", "x", step=2)])
    right = trace([ROOT, event("2", "r", "x", step=2), event("1", "r", "x", step=1)])
    assert set(matched(left, right)) == {("r", "r"), ("a", "1"), ("b", "2")}


def test_step_is_no_wall() -> None:
    """Where steps do not match, the type does."""
    left, right = chain(ROOT, event("a", step=1)), chain(ROOT, event("b", step=7))
    assert matched(left, right) == [("r", "r"), ("a", "b")]


def test_lanes_never_mix() -> None:
    """Image 1 of a batch of two is image 1 of a batch of three."""

    def batch(images: Sequence[int]) -> Trace:
        return trace([ROOT, *(event(f"i{n}", "r", "image", lane={"image": n}) for n in images)])

    assert set(matched(batch([1, 2]), batch([3, 2, 1]))) == {
        ("r", "r"),
        ("i1", "i1"),
        ("i2", "i2"),
        (None, "i3"),
    }


def test_bound_ids_align_parallel_results() -> None:
    """Results that arrive in another order are matched by the ids that their calls bound."""

    def run(prefix: str, arrival: Sequence[str]) -> Trace:
        calls = [
            event(f"c{n}", "r", "call", step=i, ids={"call": prefix + n})
            for i, n in enumerate("wt")
        ]
        results = [event(f"a{n}", "r", "result", ids={"call": prefix + n}) for n in arrival]
        return trace([ROOT, *calls, *results])

    assert ("aw", "aw") in matched(run("L", "wt"), run("R", "tw"))


def test_moved_event_is_found() -> None:
    """An event under another parent is one event, not a missing and an extra one."""
    left = trace([ROOT, event("a", "r", "x"), event("b", "r", "y"), event("m", "a", "moved")])
    right = trace([ROOT, event("a", "r", "x"), event("b", "r", "y"), event("m", "b", "moved")])
    pairs = align(left, right).pairs
    assert [(pair.left, pair.right, pair.reparented) for pair in pairs][-1] == (3, 3, True)


@pytest.mark.parametrize("count", [100_000])
def test_deep_chain(count: int) -> None:
    """A chain of 100,000 events meets no recursion limit."""
    left = chain(*(event(f"e{n}", step=n) for n in range(count)))
    right = chain(*(event(f"f{n}", step=n) for n in range(count) if n != count // 2))
    alignment = align(left, right)
    assert len(alignment.left_to_right) == count - 1


@pytest.mark.parametrize("count", [100_000])
def test_wide_fan(count: int) -> None:
    """100,000 siblings in another order are matched by their steps."""
    events = [event(f"e{n}", "r", step=n) for n in range(1, count)]
    alignment = align(trace([ROOT, *events]), trace([ROOT, *reversed(events)]))
    assert len(alignment.left_to_right) == count


def test_hostile_traces_end() -> None:
    """Long chains without a common event are given up within the budget."""
    left = chain(ROOT, *(event(f"e{n}", event_type=f"l{n}") for n in range(20_000)))
    right = chain(ROOT, *(event(f"e{n}", event_type=f"r{n}") for n in range(20_000)))
    pairs = align(left, right).pairs
    assert sum(pair.left >= 0 for pair in pairs) == sum(pair.right >= 0 for pair in pairs) == 20_001


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("abc", "abc", [(0, 0), (1, 1), (2, 2)]),
        ("aba", "ba", [(1, 0), (2, 1)]),
        ("", "abc", []),
        ("axc", "abc", [(0, 0), (2, 2)]),
    ],
)
def test_common_subsequence(left: str, right: str, expected: list[tuple[int, int]]) -> None:
    """The longest common subsequence keeps the order of both sides."""
    assert common_subsequence(left, right) == expected
