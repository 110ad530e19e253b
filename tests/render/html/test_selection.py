"""Which rows and which events in full a page holds."""

import pytest
from html_traces import long_chain, with_fan, with_state
from trace_building import chain, event

from tracediff.comparison import pair_up
from tracediff.render.html.rows import window
from tracediff.render.html.selection import (
    MOST_CHARACTERS,
    MOST_NAMED,
    MOST_ROWS,
    NEAR,
    comparison_to_json,
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
    data = comparison_to_json(compared, MOST_ROWS // 20)
    assert (data["start"], data["total"], len(data["columns"]["standing"])) == (45, 100, 20)
    assert data["columns"]["standing"].index(2) == 5


def test_long_names_leave_fewer_rows() -> None:
    """Where the strings alone would fill a page, rows around the first divergence remain."""
    names = [f"{'n' * 60}{number}" for number in range(200)]
    traces = [
        chain(event("root", state={"n": 1}), *(event(n, None, f"{n}.type") for n in names), last)
        for last in (event("last", state={"n": 1}), event("last", state={"n": 2}))
    ]
    data = comparison_to_json(pair_up(*traces), MOST_NAMED // 10_000)
    assert data["total"] == 202
    assert sum(map(len, data["strings"])) <= 10_000
    assert data["columns"]["standing"].count(2) == 1


def test_important_events_come_first() -> None:
    """With little room the origin and its neighbours are there in full, and not much else."""
    compared = pair_up(long_chain(1_000), long_chain(1_000, changed=500))
    data = comparison_to_json(compared, MOST_CHARACTERS // 3_000)
    positions = [row + data["start"] for row, _ in data["details"]]
    assert 500 in positions
    assert 1 < len(positions) < len(data["columns"]["standing"]) / 4
    assert all(abs(position - 500) <= NEAR for position in positions)


def test_everything_small_is_in_full() -> None:
    """A small comparison has every event in full, origins or not."""
    compared = pair_up(with_fan(1), with_fan(2))
    data = comparison_to_json(compared, 1)
    assert [row for row, _ in data["details"]] == list(range(21))
    assert data["columns"]["standing"] == [0, *[2] * 20]


def test_lone_events_and_other_types() -> None:
    """Rows hold both sides where they differ, and tell which side lacks an event."""
    data = comparison_to_json(pair_up(long_chain(2), long_chain(3)), 1)
    strings, columns = data["strings"], data["columns"]
    assert columns["left"][2] == -1
    assert strings[columns["right"][2]] == "e2"
    changed = comparison_to_json(pair_up(with_state(1), with_state(2)), 1)
    texts = [
        changed["strings"][changed["columns"][name][1]] for name in ("field", "mine", "theirs")
    ]
    assert texts == ["state.n", "1", "2"]
