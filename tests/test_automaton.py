"""Automata over characters: what each part accepts, and that none of them backtracks."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracediff.automaton import (
    LARGEST_PATTERN,
    MOST_REMEMBERED,
    Automaton,
    Chain,
    Characters,
    Either,
    Part,
    Repeated,
    literal,
    optional,
    size,
)

A, B = literal("a"), literal("b")
ANY = Characters((), excluded=True)

ACCEPTED: dict[str, tuple[Part, list[str], list[str]]] = {
    "literal": (literal("ab"), ["ab"], ["", "a", "abc", "ba"]),
    "nothing": (Chain(), [""], ["a"]),
    "ranges": (Characters((("a", "c"), ("x", "x"))), ["a", "c", "x"], ["d", "", "ab"]),
    "outside": (Characters((("a", "c"),), excluded=True), ["d", "é", "\n"], ["a", "b", ""]),
    "either": (Either((A, literal("bc"))), ["a", "bc"], ["b", "abc", ""]),
    "any-number": (Repeated(A), ["", "a", "aaaa"], ["b", "ab"]),
    "at-least": (Repeated(A, 2), ["aa", "aaaaa"], ["", "a", "aab"]),
    "between": (Repeated(A, 1, 3), ["a", "aa", "aaa"], ["", "aaaa"]),
    "exactly": (Repeated(A, 2, 2), ["aa"], ["a", "aaa"]),
    "optional": (Chain((optional(A), B)), ["ab", "b"], ["a", "aab"]),
    "repeated-nothing": (Repeated(Chain()), [""], ["a"]),
    "nested": (Repeated(Either((Repeated(A, 1), B))), ["", "aaba", "bbb"], ["c", "abc"]),
}


@pytest.mark.parametrize(("part", "fits", "differs"), ACCEPTED.values(), ids=ACCEPTED)
def test_parts_accept(part: Part, fits: list[str], differs: list[str]) -> None:
    """A part accepts exactly the texts that it describes."""
    automaton = Automaton(part)
    assert [text for text in fits if not automaton.matches(text)] == []
    assert [text for text in differs if automaton.matches(text)] == []


PARTS = st.recursive(
    st.sampled_from([(A, "a"), (B, "b"), (Characters((("a", "b"),)), "[ab]")]),
    lambda inner: (
        st.tuples(inner, inner).map(
            lambda both: (Chain((both[0][0], both[1][0])), f"(?:{both[0][1]}{both[1][1]})")
        )
        | st.tuples(inner, inner).map(
            lambda both: (Either((both[0][0], both[1][0])), f"(?:{both[0][1]}|{both[1][1]})")
        )
        | inner.map(lambda one: (Repeated(one[0]), f"(?:{one[1]})*"))
        | inner.map(lambda one: (Repeated(one[0], 1, 2), f"(?:{one[1]}){{1,2}}"))
    ),
    max_leaves=5,
)


@given(PARTS, st.text("ab", max_size=6))
def test_agrees_with_regular_expressions(pair: tuple[Part, str], text: str) -> None:
    """Parts accept what the same regular expression matches."""
    part, expression = pair
    assert Automaton(part).matches(text) is (re.fullmatch(expression, text) is not None)


def test_following_in_pieces_is_following_at_once() -> None:
    """The states after a text do not depend on how it was cut."""
    automaton = Automaton(Repeated(Either((literal("ab"), literal("abc")))))
    whole = automaton.follow(automaton.start, "ababcab")
    cut = automaton.follow(automaton.follow(automaton.start, "abab"), "cab")
    assert whole == cut
    assert automaton.accepts(whole)


def test_steps_that_are_kept_are_bounded() -> None:
    """A long text over many characters fills no memory."""
    automaton = Automaton(Repeated(ANY))
    text = "".join(map(chr, range(0x4E00, 0x4E00 + 2 * MOST_REMEMBERED)))
    assert automaton.matches(text)
    assert len(automaton._followed) <= MOST_REMEMBERED


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(Repeated(A, 0, LARGEST_PATTERN + 1), id="many"),
        pytest.param(Repeated(Repeated(A, 0, 50), 0, 50), id="nested"),
        pytest.param(Repeated(Chain(), 0, 10**9), id="nothing-often"),
    ],
)
def test_what_is_too_large_is_refused(part: Part) -> None:
    """An automaton that would be too large is refused before it is built."""
    assert size(part) > LARGEST_PATTERN
    with pytest.raises(ValueError, match=f"at most {LARGEST_PATTERN}"):
        Automaton(part)
