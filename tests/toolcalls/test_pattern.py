"""Patterns of tool schemas: the subset means what ECMA-262 means, and the rest is refused."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tracediff.toolcalls.pattern import LONGEST, UnsupportedPattern, compile_pattern

LOCAL_TIME = r"^(?:[01][0-9]|2[0-3]):[0-5][0-9]$"

FOUND: dict[str, tuple[str, list[str], list[str]]] = {
    "local-time": (
        LOCAL_TIME,
        ["00:00", "09:00", "19:59", "23:59"],
        ["24:00", "9:00", "09:60", "09:00\n", " 09:00", "09:000", "٠٩:٠٠"],
    ),
    "unanchored": ("b", ["b", "abc", "\nb\n"], ["", "a"]),
    "anchored-left": ("^ab", ["ab", "abc"], ["cab"]),
    "anchored-right": ("ab$", ["ab", "cab"], ["abc", "ab\n"]),
    "alternatives-with-their-own-anchors": ("^a|b$", ["ax", "xb", "a"], ["xa", "bx"]),
    "empty": ("", ["", "anything"], []),
    "empty-anchored": ("^$", [""], ["a", "\n"]),
    "repetitions": ("^a*b+c?d{2}e{1,}f{0,1}$", ["abcdde", "bddeef"], ["acdde", "abcde", "abddff"]),
    "lazy": ("^a+?b??$", ["a", "aab"], ["b"]),
    "classes": (r"^[a-c\d_-]+$", ["a1_-"], ["d", " "]),
    "class-that-ends-with-a-dash": ("^[+-]$", ["+", "-"], [","]),
    "negated-class": ("^[^a]$", ["b", "\n"], ["a", ""]),
    "escapes": (r"^\.\\\/\x41\u00e9\t$", [".\\/Aé\t"], ["x\\/Aé\t"]),
    "digits-are-ascii": (r"^\d$", ["7"], ["٧"]),
    "word-characters-are-ascii": (r"^\w$", ["z", "_"], ["é"]),
    "spaces-are-unicode": (r"^\s$", [" ", "\u3000", "\ufeff"], ["x"]),
    "negated-escapes": (r"^\D\W\S$", ["a-b"], ["1-b", "a_b", "a- "]),
    "dot-is-no-line-end": ("^.$", ["a", "\x85"], ["\n", "\r", "\u2028"]),
    "groups": ("^(a(?:b|c))+$", ["ab", "acab"], ["a", "abc"]),
    "beyond-the-basic-plane": ("^.$", ["\U0001f600"], []),
}


@pytest.mark.parametrize(("pattern", "fits", "differs"), FOUND.values(), ids=FOUND)
def test_patterns_are_found(pattern: str, fits: list[str], differs: list[str]) -> None:
    """A pattern is found in exactly these texts."""
    automaton = compile_pattern(pattern)
    assert [text for text in fits if not automaton.matches(text)] == []
    assert [text for text in differs if automaton.matches(text)] == []


CATASTROPHIC = {
    "nested-plus": ("^(a+)+$", "a" * 20_000 + "!"),
    "nested-star": ("^(a*)*$", "a" * 20_000 + "!"),
    "overlapping-alternatives": ("^(a|a)*$", "a" * 20_000 + "!"),
    "optional-run": ("^(a?){40}a{40}!$", "a" * 40),
    "neighbouring-runs": ("(x+x+)+y", "x" * 20_000),
    "many-stars": (r"^\d*\d*\d*\d*\d*x$", "1" * 20_000),
}


@pytest.mark.parametrize(("pattern", "text"), CATASTROPHIC.values(), ids=CATASTROPHIC)
def test_no_pattern_backtracks(pattern: str, text: str) -> None:
    """Patterns on which a backtracking engine never ends are refused a match at once."""
    assert not compile_pattern(pattern).matches(text)


REFUSED = {
    "back-reference": (r"(a)\1", r"\\1 is not understood"),
    "looking-ahead": ("a(?=b)", "nothing that looks around"),
    "looking-behind": ("(?<=a)b", "nothing that looks around"),
    "named-group": ("(?<n>a)", "nothing that looks around"),
    "word-border": (r"\bfoo", r"\\b is not understood"),
    "unknown-escape": (r"\q", r"\\q is not understood"),
    "anchor-inside": ("a^b", "at the ends of the pattern only"),
    "anchor-in-a-group": ("(a$)", "is not closed, or an anchor"),
    "open-group": ("(a", "is not closed"),
    "open-class": ("[a", "ends too early"),
    "closing-alone": ("a)", "no group to close"),
    "bracket-alone": ("a]", "stands alone"),
    "nothing-to-repeat": ("*a", "nothing to repeat"),
    "repeated-repetition": ("a**", "a repetition is repeated"),
    "counted-down": ("a{3,2}", "counts upwards"),
    "counted-far": ("a{1001}", "to at most 1000"),
    "count-without-number": ("a{x}", r"is \{n\}"),
    "range-backwards": ("[z-a]", "to a later one"),
    "negated-class-inside": (r"[\D]", "inside a class"),
    "half-an-escape": ("\\", "ends too early"),
    "short-code": (r"\u12", "hexadecimal digits are missing"),
    "multiplied": ("(a{1000}){1000}", "too large"),
    "long": ("a" * (LONGEST + 1), f"at most {LONGEST} characters"),
    "deep": ("(" * 30 + "a" + ")" * 30, "nest more than"),
}


@pytest.mark.parametrize(
    ("pattern", "message"),
    [pytest.param(*row, id=name) for name, row in REFUSED.items()],
)
def test_other_patterns_are_refused(pattern: str, message: str) -> None:
    """What is malformed, needs memory or would be too large is refused, with its place."""
    with pytest.raises(UnsupportedPattern, match=message):
        compile_pattern(pattern)


ATOMS = st.sampled_from(["a", "b", "[ab]", "[^a]", ".", r"\d", r"\w", "(?:a|b)", "(ab)", r"\."])
TERMS = st.tuples(ATOMS, st.sampled_from(["", "*", "+", "?", "{2}", "{1,2}", "{0,}"])).map("".join)
PATTERNS = st.tuples(
    st.sampled_from(["", "^"]), st.lists(TERMS, max_size=4).map("".join), st.sampled_from(["", "$"])
).map("".join)


@given(PATTERNS, st.text("ab1.", max_size=6))
def test_agrees_with_python(pattern: str, text: str) -> None:
    """On ASCII text without line ends the subset finds what Python's expressions find."""
    assume("\n" not in text)
    assert compile_pattern(pattern).matches(text) is (re.search(pattern, text) is not None)
