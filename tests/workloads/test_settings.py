"""Settings: what each kind accepts, how overrides are applied, and what the errors say."""

import math
from typing import Any

import pytest

from tracediff.errors import UsageError
from tracediff.workloads.settings import (
    Setting,
    apply_overrides,
    integer,
    number,
    parse_assignments,
    switch,
    text,
    texts,
)

WHOLE = integer("whole", 1, 8, "an integer")
REAL = number("real", 0.5, 2.0, "a number")
OPEN = number("open", 0.0, 1.0, "a number above 0", open_low=True)
ZERO = number("zero", 0.5, 2.0, "a number or 0", or_zero=True)
SWITCH = switch("switch", "a switch")
WORD = text("word", "a text")
WORDS = texts("words", "a list of texts")

ACCEPTED = [
    (WHOLE, [1, 8], [0, 9, 1.0, True, "1", None, [1], math.nan]),
    (REAL, [0.5, 1, 2, 2.0], [0.49, 2.01, 0, -1, True, "1", None, math.nan, math.inf, 10**400]),
    (OPEN, [5e-324, 1, 1.0], [0, 0.0, -0.0, 1.1, -math.inf, False]),
    (ZERO, [0, 0.0, -0.0, 0.5, 2], [0.1, -0.5, 2.1, math.nan, False, "0"]),
    (SWITCH, [True, False], [0, 1, "true", None, []]),
    (WORD, ["x", " ", "天", "\ud800"], ["", b"x", 1, None, ["x"]]),
    (WORDS, [[], ["x"], ["x", "x"]], ["x", [""], ["x", ""], [1], ("x",), {"x": 1}, None]),
]


@pytest.mark.parametrize(
    ("setting", "good", "bad"), [pytest.param(*row, id=row[0].name) for row in ACCEPTED]
)
def test_accepts(setting: Setting, good: list[Any], bad: list[Any]) -> None:
    """A setting takes what it says and nothing else, booleans and numbers kept apart."""
    assert [value for value in good if not setting.accepts(value)] == []
    assert [value for value in bad if setting.accepts(value)] == []


@pytest.mark.parametrize(
    ("setting", "allowed"),
    [
        pytest.param(WHOLE, "an integer from 1 to 8", id="integer"),
        pytest.param(REAL, "a number from 0.5 to 2", id="number"),
        pytest.param(OPEN, "a number above 0 to 1", id="number-open"),
        pytest.param(ZERO, "0, or a number from 0.5 to 2", id="number-or-zero"),
        pytest.param(SWITCH, "true or false", id="switch"),
        pytest.param(WORD, "a non-empty string", id="text"),
        pytest.param(WORDS, 'a JSON list of non-empty strings, such as ["。"]', id="texts"),
    ],
)
def test_says_what_is_allowed(setting: Setting, allowed: str) -> None:
    """A setting's own words name its type and range."""
    assert setting.allowed == allowed


DEFAULTS = {"whole": 1, "real": 0.5, "words": []}
SETTINGS = [WHOLE, REAL, WORDS]


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        pytest.param({}, {"whole": 1, "real": 0.5, "words": []}, id="none"),
        pytest.param({"real": 2}, {"whole": 1, "real": 2, "words": []}, id="one"),
        pytest.param(
            {"words": ["x"], "whole": 8}, {"whole": 8, "real": 0.5, "words": ["x"]}, id="two"
        ),
    ],
)
def test_apply_overrides(overrides: dict[str, Any], expected: dict[str, Any]) -> None:
    """Overrides replace defaults; the order is the definition's, the defaults stay."""
    found = apply_overrides("toy", SETTINGS, DEFAULTS, overrides)
    assert list(found.items()) == list(expected.items())
    assert DEFAULTS == {"whole": 1, "real": 0.5, "words": []}


CYCLE: list[Any] = []
CYCLE.append(CYCLE)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        pytest.param(
            {"whole": 9}, "toy: whole=9 is not allowed; an integer from 1 to 8 is", id="range"
        ),
        pytest.param(
            {"whole": "天"}, 'toy: whole="天" is not allowed; an integer from 1 to 8 is', id="type"
        ),
        pytest.param(
            {"real": math.nan}, "toy: real=NaN is not allowed; a number from 0.5 to 2 is", id="nan"
        ),
        pytest.param(
            {"whole": {1}},
            "toy: whole=a Python set is not allowed; an integer from 1 to 8 is",
            id="no-json",
        ),
        pytest.param(
            {"words": CYCLE},
            "toy: words=a Python list is not allowed; a JSON list of non-empty strings, such as "
            '["。"] is',
            id="cycle",
        ),
        pytest.param(
            {"whol": 2},
            "toy has no setting 'whol'; did you mean whole? known are whole, real, words",
            id="near-match",
        ),
        pytest.param(
            {"zzz": 2}, "toy has no setting 'zzz'; known are whole, real, words", id="no-match"
        ),
    ],
)
def test_refused_override(overrides: dict[str, Any], message: str) -> None:
    """An override that cannot be applied is an error of one sentence."""
    with pytest.raises(UsageError) as caught:
        apply_overrides("toy", SETTINGS, DEFAULTS, overrides)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("assignment", "value"),
    [
        pytest.param("key=3", 3, id="integer"),
        pytest.param("key=0.5", 0.5, id="number"),
        pytest.param("key=true", True, id="switch"),
        pytest.param('key=["。"]', ["。"], id="list"),
        pytest.param('key="3"', "3", id="quoted"),
        pytest.param("key=天空", "天空", id="plain-text"),
        pytest.param("key=", "", id="empty"),
        pytest.param("key=a=b", "a=b", id="second-sign"),
        pytest.param("key=[1", "[1", id="broken-json"),
        pytest.param("key=" + "[" * 100_000, "[" * 100_000, id="deep-json"),
    ],
)
def test_parse_assignments(assignment: str, value: Any) -> None:
    """VALUE is JSON, and plain text where it is none."""
    found = parse_assignments([assignment])
    assert found == {"key": value}
    assert type(found["key"]) is type(value)


def test_parse_several_assignments() -> None:
    """Assignments come together, in their order."""
    assert list(parse_assignments(["b=1", "a=2"]).items()) == [("b", 1), ("a", 2)]


@pytest.mark.parametrize(
    ("assignments", "message"),
    [
        pytest.param(["key"], "--set takes KEY=VALUE, not 'key'", id="no-sign"),
        pytest.param(["=3"], "--set takes KEY=VALUE, not '=3'", id="no-key"),
        pytest.param([""], "--set takes KEY=VALUE, not ''", id="nothing"),
        pytest.param(["key=1", "key=1"], "--set key is given twice", id="twice"),
    ],
)
def test_refused_assignment(assignments: list[str], message: str) -> None:
    """What is no assignment, or one of a key that has one, is an error."""
    with pytest.raises(UsageError) as caught:
        parse_assignments(assignments)
    assert str(caught.value) == message
