"""Which rows and which events in full a page holds."""

import pytest
from html_traces import long_chain, with_fan, with_state
from trace_building import chain, event

from tracediff.comparison import SideBySide, pair_up
from tracediff.diff import Outcome, TraceDiff
from tracediff.render.html.rows import window
from tracediff.render.html.selection import (
    NEAR,
    Room,
    comparison_to_json,
    comparisons_to_json,
)


@pytest.mark.parametrize(
    ("changed", "most", "expected"),
    [
        pytest.param(50, 200, range(100), id="all"),
        pytest.param(50, 20, range(45, 65), id="around"),
        pytest.param(2, 20, range(20), id="start"),
        pytest.param(98, 20, range(80, 100), id="end"),
        pytest.param(None, 20, range(20), id="equal"),
    ],
)
def test_window(changed: int | None, most: int, expected: range) -> None:
    """Of too many pairs those around the first divergence are chosen."""
    compared = pair_up(long_chain(100), long_chain(100, changed=changed))
    assert window(compared.pairs, most) == expected


def test_rows_say_how_many_there_are() -> None:
    """A part of the rows comes with where it starts and how many there would be."""
    compared = pair_up(long_chain(100), long_chain(100, changed=50))
    data, used = comparison_to_json(compared, Room(rows=20))
    assert (data["start"], data["total"], len(data["columns"]["standing"])) == (45, 100, 20)
    assert used.rows == 20
    assert data["totals"] == [99, 0, 1, 0, 0, 0]
    assert data["columns"]["standing"].index(2) == 5


def test_long_names_leave_fewer_rows() -> None:
    """Where the strings alone would fill a page, rows around the first divergence remain."""
    names = [f"{'n' * 60}{number}" for number in range(200)]
    traces = [
        chain(event("root", state={"n": 1}), *(event(n, None, f"{n}.type") for n in names), last)
        for last in (event("last", state={"n": 1}), event("last", state={"n": 2}))
    ]
    data, used = comparison_to_json(pair_up(*traces), Room(named=10_000))
    assert data["total"] == 202
    assert sum(map(len, data["strings"])) == used.named <= 10_000
    assert data["columns"]["standing"].count(2) == 1


def test_important_events_come_first() -> None:
    """With little room the origin and its neighbours are there in full, and not much else."""
    compared = pair_up(long_chain(1_000), long_chain(1_000, changed=500))
    data, used = comparison_to_json(compared, Room(characters=2_000))
    positions = [row + data["start"] for row, _ in data["details"]]
    assert 500 in positions
    assert 1 < len(positions) < len(data["columns"]["standing"]) / 4
    assert all(abs(position - 500) <= NEAR for position in positions)
    assert 0 < used.characters <= 2_000


def rows_of(comparisons: list[SideBySide], room: Room) -> list[int]:
    found = comparisons_to_json(comparisons, lambda data: len(data["columns"]["standing"]), room)
    return [found[place] for place in range(len(comparisons))]


@pytest.mark.parametrize(
    ("sizes", "most", "expected"),
    [
        pytest.param([1] * 60 + [500], 1_000, [1] * 60 + [500], id="one-needs-most"),
        pytest.param([500] + [1] * 60, 200, [140] + [1] * 60, id="the-rest-is-for-the-largest"),
        pytest.param([100, 10, 100], 110, [50, 10, 50], id="two-share-the-rest"),
        pytest.param([30, 20, 10], 60, [30, 20, 10], id="just-fits"),
        pytest.param([10, 10, 10], 2, [1, 1, 1], id="one-row-each"),
    ],
)
def test_rows_are_shared_by_need(sizes: list[int], most: int, expected: list[int]) -> None:
    """What a small comparison does not need is for the larger ones."""
    comparisons = [pair_up(long_chain(size), long_chain(size)) for size in sizes]
    assert rows_of(comparisons, Room(rows=most)) == expected


def test_events_in_full_are_shared_by_need() -> None:
    """Characters that small comparisons leave go to the large one."""
    comparisons = [pair_up(long_chain(n), long_chain(n)) for n in (200, *[1] * 20)]
    whole = comparison_to_json(comparisons[0], Room())[1].characters
    single = comparison_to_json(comparisons[1], Room())[1].characters

    def full(room: Room) -> dict[int, int]:
        return comparisons_to_json(comparisons, lambda data: len(data["details"]), room)

    assert full(Room(characters=whole + 20 * single))[0] == 200
    assert 100 < full(Room(characters=whole))[0] < 200


def test_comparisons_without_pairs_take_nothing() -> None:
    """A verdict alone has no rows and no share."""
    alone = SideBySide(TraceDiff(Outcome.EQUAL, "a", "b"))
    compared = pair_up(long_chain(10), long_chain(10))
    found = comparisons_to_json([alone, compared, alone], lambda data: data["total"], Room(rows=10))
    assert found == {1: 10}


def test_everything_small_is_in_full() -> None:
    """A small comparison has every event in full, origins or not."""
    compared = pair_up(with_fan(1), with_fan(2))
    data, _ = comparison_to_json(compared, Room())
    assert [row for row, _ in data["details"]] == list(range(21))
    assert data["columns"]["standing"] == [0, *[2] * 20]


def test_lone_events_and_other_types() -> None:
    """Rows hold both sides where they differ, and tell which side lacks an event."""
    data, _ = comparison_to_json(pair_up(long_chain(2), long_chain(3)), Room())
    strings, columns = data["strings"], data["columns"]
    assert columns["left"][2] == -1
    assert strings[columns["right"][2]] == "e2"
    assert data["totals"] == [2, 0, 1, 0, 0, 1]
    changed, _ = comparison_to_json(pair_up(with_state(1), with_state(2)), Room())
    texts = [
        changed["strings"][changed["columns"][name][1]] for name in ("field", "mine", "theirs")
    ]
    assert texts == ["state.n", "1", "2"]
