"""Cycles are found, shown shortly, and looked for without recursion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from tracediff.events.cycles import find_cycle, show_cycle

DEEP = 100_000


def chain(length: int, first: Sequence[str]) -> dict[str, Sequence[str]]:
    """Return a chain of events e0 … each the parent of the next; `first` are e0's parents."""
    return {"e0": first, **{f"e{n}": (f"e{n - 1}",) for n in range(1, length)}}


@pytest.mark.parametrize(
    ("parents", "cycle"),
    [
        pytest.param({}, [], id="nothing"),
        pytest.param({"a": ()}, [], id="one root"),
        pytest.param({"a": (), "b": ("a",), "c": ("a", "b")}, [], id="two ways up"),
        pytest.param({"a": ("a",)}, ["a"], id="self loop"),
        pytest.param({"a": ("b",), "b": ("a",)}, ["a", "b"], id="two"),
        pytest.param(
            {"x": ("c",), "b": ("a",), "a": ("c",), "c": ("b",)},
            ["b", "a", "c"],
            id="a chain into a cycle; the earliest member first",
        ),
        pytest.param({"r": (), "a": ("r", "b"), "b": ("r", "a")}, ["a", "b"], id="second causes"),
        pytest.param({"r": (), "a": ("r",), "b": ("b",)}, ["b"], id="beside a sound part"),
    ],
)
def test_a_cycle_is_found(parents: Mapping[str, Sequence[str]], cycle: list[str]) -> None:
    """The members come in the order child, parent, parent's parent."""
    assert find_cycle(parents) == cycle


def test_depth_does_not_matter() -> None:
    """A chain far deeper than Python's recursion limit is no cycle, from either end."""
    parents = chain(DEEP, ())
    assert find_cycle(parents) == []
    assert find_cycle(dict(reversed(parents.items()))) == []


def test_a_deep_cycle_is_found_and_shown_shortly() -> None:
    """100,000 events in one cycle make one line."""
    cycle = find_cycle(chain(DEEP, (f"e{DEEP - 1}",)))
    assert len(cycle) == DEEP
    shown = show_cycle(cycle)
    assert shown.startswith(f"e0 -> e{DEEP - 1} -> ")
    assert f"({DEEP} events in all)" in shown
    assert shown.endswith(" -> e1 -> e0")
    assert len(shown) < 300


def test_a_chain_into_a_deep_cycle() -> None:
    """Events that lead into the cycle are not shown as part of it."""
    parents = {"x": ("y",), "y": (f"e{DEEP - 1}",), **chain(DEEP, (f"e{DEEP - 1}",))}
    assert set(find_cycle(parents)) == set(parents) - {"x", "y"}


def test_long_ids_are_cut() -> None:
    """An id of a megabyte does not flood the message."""
    assert len(show_cycle(["x" * 1_000_000])) < 200
