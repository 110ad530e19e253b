"""One pair of events in full: sections in causal order, marks, cuts."""

from typing import Any

import numpy as np
import pytest
from trace_building import chain, event, tensor

from tracediff.comparison import pair_up
from tracediff.render.html.details import DIFFERS, DIVERGES, MOST_ENTRIES, SAME, detail_to_json

X = tensor("x", np.array([1.0, 2.0]))
Y = tensor("x", np.array([1.0, 3.0]))


def detail(left: dict[str, Any], right: dict[str, Any], row: int = 1) -> dict[str, Any]:
    traces = [chain(event("root", state={"n": 1}), event("e", **s)) for s in (left, right)]
    return detail_to_json(pair_up(*traces).pairs[row])


def entries(found: dict[str, Any], section: str) -> list[Any]:
    return next(s[2] for s in found["sections"] if s[0] == section)


@pytest.mark.parametrize(
    ("section", "left", "right", "expected"),
    [
        pytest.param("state", {"n": 1}, {"n": 1}, ("n", "1", "1", SAME), id="same"),
        pytest.param("state", {"n": 1}, {"n": 2}, ("n", "1", "2", DIVERGES), id="diverges"),
        pytest.param("state", {"n": 1}, {"n": 1.0}, ("n", "1", "1.0", DIVERGES), id="type"),
        pytest.param(
            "state", {"a": {"b": 1}}, {"a": {"b": 2}}, ("a.b", "1", "2", DIVERGES), id="nested"
        ),
        pytest.param(
            "state", {"n": [1, 2]}, {"n": [1, 3]}, ("n", "[1, 2]", "[1, 3]", DIVERGES), id="list"
        ),
        pytest.param(
            "choice",
            {"steps": [{"id": 1}]},
            {"steps": [{"id": 2}]},
            ("steps[0].id", "1", "2", DIVERGES),
            id="objects-in-a-list",
        ),
        pytest.param("note", {"n": 1}, {"n": 2}, ("n", "1", "2", DIFFERS), id="never-compared"),
        pytest.param(
            "state", {}, {"a": {"b": 1}}, ("a.b", "(missing)", "1", DIVERGES), id="object"
        ),
        pytest.param(
            "rng",
            None,
            [{"key": [1]}],
            ("[0].key", "(missing)", "[1]", DIVERGES),
            id="whole-section",
        ),
        pytest.param("state", {"n": 1}, {}, ("n", "1", "(missing)", DIVERGES), id="missing"),
        pytest.param(
            "outputs",
            [X],
            [X],
            ("x", f"float64 [2] {X['digest']}", f"float64 [2] {X['digest']}", SAME),
            id="tensor",
        ),
        pytest.param(
            "outputs",
            [X],
            [Y],
            ("x", f"float64 [2] {X['digest']}", f"float64 [2] {Y['digest']}", DIVERGES),
            id="tensors",
        ),
    ],
)
def test_marks(section: str, left: Any, right: Any, expected: tuple[Any, ...]) -> None:
    """A field is the same, differs, or is the one that the comparison names."""
    found = detail({section: left}, {section: right})
    assert expected in entries(found, section)


def test_later_differences_are_not_the_first() -> None:
    """What differs after the first failed check is marked as different, no more."""
    found = detail({"state": {"n": 1}, "choice": {"m": 1}}, {"state": {"n": 2}, "choice": {"m": 2}})
    assert entries(found, "state")[0][3] == DIVERGES
    assert entries(found, "choice")[0][3] == DIFFERS


def test_sections_stand_in_causal_order() -> None:
    """First the envelope, then sections as a line writes them, private ones last."""
    sections = {"x-mine": 1, "choice": {"a": 1}, "state": {"a": 1}, "artifacts": {"a": 1}}
    names = [s[0] for s in detail(sections, sections)["sections"]]
    assert names == ["event", "artifacts", "state", "choice", "end", "x-mine"]


def test_many_entries_are_cut() -> None:
    """Of many fields the first are there, and how many are not."""
    found = detail({"state": {str(n): n for n in range(MOST_ENTRIES + 7)}}, {"state": {}})
    (section,) = [s for s in found["sections"] if s[0] == "state"]
    assert (len(section[2]), section[3]) == (MOST_ENTRIES, 7)


def test_one_side_only() -> None:
    """An event that one side lacks shows what the other has."""
    traces = chain(event("a", state={"n": 1})), chain(event("a", state={"n": 1}), event("b"))
    found = detail_to_json(pair_up(*traces).pairs[1])
    assert found["facts"] == [("differs", "only right has this event")]
    assert entries(found, "event")[0] == ("event_id", "(missing)", "b", SAME)


@pytest.mark.parametrize("depth", [10, 200])
def test_deep_values_end(depth: int) -> None:
    """Deeply nested objects are shown as one value from some depth on."""
    value: Any = 1
    for _ in range(depth):
        value = {"k": value}
    found = detail({"state": {"n": value}}, {"state": {"n": value}})
    assert len(entries(found, "state")) == 1
