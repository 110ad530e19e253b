"""Exact comparison of JSON values: what is equal, and the first field that is not."""

from typing import Any

import pytest
from trace_building import chain, event

from tracediff.diff import diff_traces
from tracediff.diff.fields import FieldComparer
from tracediff.diff.result import MISSING

EQUAL = {
    "key-order": ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    "nested": ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}),
    "ties-in-top-are-a-set": ({"top": [[5, 1.0], [9, 1.0]]}, {"top": [[9, 1.0], [5, 1.0]]}),
    "ties-in-the-top-of-a-step": (
        {"steps": [{"top": [[5, 1.0], [9, 1.0]]}]},
        {"steps": [{"top": [[9, 1.0], [5, 1.0]]}]},
    ),
    "big-integers": ({"seed": 2**63}, {"seed": 2**63}),
}

DIFFERENT = {
    "integer-and-float": (1, 1.0, "x", 1, 1.0),
    "true-and-one": (True, 1, "x", True, 1),
    "signed-zero": ({"a": 0.0}, {"a": -0.0}, "x.a", 0.0, -0.0),
    "null-and-missing": ({"a": None}, {}, "x.a", None, MISSING),
    "only-right": ({}, {"a": 1}, "x.a", MISSING, 1),
    "in-a-list": ({"ids": [1, 2, 3]}, {"ids": [1, 9, 3]}, "x.ids[1]", 2, 9),
    "longer-left": ([1, 2], [1], "x[1]", 2, MISSING),
    "longer-right": ([1], [1, 2], "x[1]", MISSING, 2),
    "list-and-object": ({"a": []}, {"a": {}}, "x.a", [], {}),
    "beyond-2^53": (
        {"seed": 9007199254740993},
        {"seed": 9007199254740992},
        "x.seed",
        9007199254740993,
        9007199254740992,
    ),
    "number-and-text": ({"a": 1}, {"a": "1"}, "x.a", 1, "1"),
    "top-ids": ({"top": [[5, 2.0], [9, 1.0]]}, {"top": [[6, 2.0], [9, 1.0]]}, "x.top[0][0]", 5, 6),
    "top-values": ({"top": [[5, 2.0]]}, {"top": [[5, 2.5]]}, "x.top[0][1]", 2.0, 2.5),
    "top-order-without-a-tie": (
        {"top": [[5, 2.0], [9, 1.0]]},
        {"top": [[9, 2.0], [5, 1.0]]},
        "x.top[0][0]",
        5,
        9,
    ),
    "surrogates": ({"t": "\ud83d"}, {"t": "\ud83e"}, "x.t", "\ud83d", "\ud83e"),
}


@pytest.mark.parametrize("case", EQUAL)
def test_equal_values(case: str) -> None:
    """Values that mean the same are equal."""
    left, right = EQUAL[case]
    assert FieldComparer().first(left, right, "x", is_choice=True) is None


@pytest.mark.parametrize("case", DIFFERENT)
def test_first_difference(case: str) -> None:
    """The first differing field is named with both values."""
    left, right, field, mine, other = DIFFERENT[case]
    found = FieldComparer().first(left, right, "x", is_choice=True)
    assert found is not None
    assert (found.field, found.left, found.right) == (field, mine, other)
    assert type(found.left) is type(mine)


def test_top_values_follow_the_tolerance() -> None:
    """Measured values of a top list may differ within tolerance, ids may not."""
    comparer = FieldComparer(lambda x, y: abs(x - y) <= 0.1)
    left: Any = {"top": [[5, 2.0], [9, 1.0]]}
    assert comparer.first(left, {"top": [[5, 2.05], [9, 1.0]]}, "x", is_choice=True) is None
    assert comparer.absorbed == 1
    assert comparer.first(left, {"top": [[5, 2.5], [9, 1.0]]}, "x", is_choice=True) is not None


@pytest.mark.parametrize(
    "held", [("state", "read"), ("choice", "arguments")], ids=["state", "tool"]
)
@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param([[5, 1000000]], [[5, 1000001]], id="value"),
        pytest.param([[5, 7], [6, 7]], [[6, 7], [5, 7]], id="exchanged"),
    ],
)
def test_a_top_that_is_no_choice_is_exact(held: tuple[str, str], left: Any, right: Any) -> None:
    """An argument of a module or of a tool that happens to be called top is no ranked list."""
    section, entry = held
    sides = (
        chain(event("r"), event("e", **{section: {entry: {"top": top}}})) for top in (left, right)
    )
    found = diff_traces(*sides)
    assert found.first is not None
    assert found.first.difference.field.startswith(f"payload.{section}.{entry}.top[0]")


def test_values_elsewhere_do_not_follow_it() -> None:
    """Outside top lists a tolerance has no say."""
    comparer = FieldComparer(lambda x, y: True)
    assert comparer.first({"margin": 0.1}, {"margin": 0.2}, "x") is not None


def test_each_entry_reports_every_key() -> None:
    """Settings are compared entry by entry."""
    found = FieldComparer().each_entry({"a": 1, "b": 2, "c": 3}, {"a": 2, "b": 2, "d": 4}, "s")
    assert [difference.field for difference in found] == ["s.a", "s.c", "s.d"]


def test_each_entry_looks_into_objects() -> None:
    """Each differing key of an object is a difference of its own; a list is one entry."""
    left = {"modules": {"0": "a", "1": "b", "4": "c"}, "list": [1, 2], "one": {"x": 1}}
    right = {"modules": {"0": "A", "1": "b", "4": "C"}, "list": [2, 3], "one": 1}
    found = FieldComparer().each_entry(left, right, "s")
    fields = [difference.field for difference in found]
    assert fields == ["s.modules.0", "s.modules.4", "s.list[0]", "s.one"]
