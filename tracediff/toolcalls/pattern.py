"""Regular expressions of tool schemas, matched in linear time, as ECMA-262 means them.

Knows the subset without memory: characters, classes, groups, alternatives, repetitions, and
anchors at the ends. What would need backtracking (references, looking around) is refused, so no
pattern and no text can make it slow. Must not know schemas.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import NoReturn

from tracediff.automaton import Automaton, Chain, Characters, Either, Part, Repeated

LONGEST = 1_000
"""Characters of a pattern."""

DEEPEST = 20
"""Levels of nested groups."""

MOST_REPEATS = 1_000

Ranges = tuple[tuple[str, str], ...]

DIGITS: Ranges = (("0", "9"),)
WORDS: Ranges = (("0", "9"), ("A", "Z"), ("_", "_"), ("a", "z"))
SPACES: Ranges = (
    ("\t", "\r"),
    (" ", " "),
    ("\u00a0", "\u00a0"),
    ("\u1680", "\u1680"),
    ("\u2000", "\u200a"),
    ("\u2028", "\u2029"),
    ("\u202f", "\u202f"),
    ("\u205f", "\u205f"),
    ("\u3000", "\u3000"),
    ("\ufeff", "\ufeff"),
)
LINE_ENDS: Ranges = (("\n", "\n"), ("\r", "\r"), ("\u2028", "\u2029"))
CLASSES: Mapping[str, Ranges] = MappingProxyType({"d": DIGITS, "w": WORDS, "s": SPACES})
CONTROLS: Mapping[str, str] = MappingProxyType(
    {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "0": "\0"}
)
SYNTAX = frozenset("^$\\.*+?()[]{}|/-")
ANYTHING = Repeated(Characters((), excluded=True))


class UnsupportedPattern(ValueError):
    """A pattern that is malformed or outside the subset."""


@lru_cache(maxsize=64)
def compile_pattern(pattern: str) -> Automaton:
    """Return the automaton of the texts in which the pattern is found.

    Without anchors anything may stand before and after, as JSON Schema has it. Raises
    UnsupportedPattern.
    """
    if len(pattern) > LONGEST:
        raise UnsupportedPattern(f"a pattern has at most {LONGEST} characters, not {len(pattern)}")
    parser = _Parser(pattern)
    part = parser.parse()
    try:
        return Automaton(part)
    except ValueError as error:
        raise UnsupportedPattern(f"the pattern is too large: {error}") from error


@dataclass(slots=True)
class _Parser:
    """Recursive descent over one pattern."""

    pattern: str
    place: int = 0

    def parse(self) -> Part:
        """Return the whole pattern, its unanchored ends open."""
        found = [self._anchored()]
        while self._take("|"):
            found.append(self._anchored())
        if self.place < len(self.pattern):
            self._refuse("there is no group to close")
        return Either(tuple(found))

    def _anchored(self) -> Part:
        """Return one alternative of the outermost level; only there anchors are understood."""
        starts = self._take("^")
        parts = self._parts(0)
        ends = self._take("$")
        if not starts:
            parts.insert(0, ANYTHING)
        if not ends:
            parts.append(ANYTHING)
        return Chain(tuple(parts))

    def _alternatives(self, depth: int) -> Part:
        found = [Chain(tuple(self._parts(depth)))]
        while self._take("|"):
            found.append(Chain(tuple(self._parts(depth))))
        return Either(tuple(found))

    def _parts(self, depth: int) -> list[Part]:
        parts: list[Part] = []
        while self.place < len(self.pattern) and self._next not in "|)$":
            parts.append(self._repeated(self._atom(depth)))
        return parts

    def _atom(self, depth: int) -> Part:
        character = self._advance()
        if character == "(":
            return self._group(depth + 1)
        if character == "[":
            return self._class()
        if character == ".":
            return Characters(LINE_ENDS, excluded=True)
        if character == "\\":
            return self._escape()
        if character in "^$":
            self._refuse(f"{character} is understood at the ends of the pattern only")
        if character in "*+?{":
            self._refuse("there is nothing to repeat")
        if character in "]}":
            self._refuse(f"{character} stands alone; write \\{character}")
        return Characters(((character, character),))

    def _group(self, depth: int) -> Part:
        if depth > DEEPEST:
            self._refuse(f"groups nest more than {DEEPEST} deep")
        if self._take("?") and not self._take(":"):
            self._refuse("only groups ( ) and (?: ) are understood, nothing that looks around")
        inner = self._alternatives(depth)
        if not self._take(")"):
            self._refuse("a group is not closed, or an anchor stands in it")
        return inner

    def _repeated(self, part: Part) -> Part:
        least, most = self._bounds()
        if (least, most) == (1, 1):
            return part
        self._take("?")  # a lazy repetition finds the same texts
        if self._bounds() != (1, 1):
            self._refuse("a repetition is repeated")
        return Repeated(part, least, most)

    def _bounds(self) -> tuple[int, int | None]:
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._take(sign):
                return bounds
        if not self._take("{"):
            return 1, 1
        inner, closed, _ = self.pattern[self.place :].partition("}")
        least, comma, most = inner.partition(",")
        if not closed or not _is_number(least) or not (most == "" or _is_number(most)):
            self._refuse("a repetition is {n}, {n,} or {n,m}")
        self.place += len(inner) + 1
        low = int(least)
        high = low if not comma else int(most) if most else None
        if max(low, high or 0) > MOST_REPEATS or (high is not None and high < low):
            self._refuse(f"a repetition counts upwards, to at most {MOST_REPEATS}")
        return low, high

    def _class(self) -> Part:
        excluded = self._take("^")
        ranges: list[tuple[str, str]] = []
        while not self._take("]"):
            first = self._class_member()
            if len(first) == 1 and first[0][0] == first[0][1] and self._starts_range():
                self._advance()
                last = self._class_member()
                if len(last) != 1 or last[0][0] != last[0][1] or last[0][0] < first[0][0]:
                    self._refuse("a range goes from a character to a later one")
                first = ((first[0][0], last[0][0]),)
            ranges.extend(first)
        return Characters(tuple(ranges), excluded)

    def _starts_range(self) -> bool:
        rest = self.pattern[self.place : self.place + 2]
        return len(rest) == 2 and rest[0] == "-" and rest[1] != "]"

    def _class_member(self) -> Ranges:
        character = self._advance()
        if character != "\\":
            return ((character, character),)
        found = self._escape()
        if found.excluded:
            self._refuse("a negated class stands inside a class")
        return found.ranges

    def _escape(self) -> Characters:
        character = self._advance()
        if character in SYNTAX:
            return Characters(((character, character),))
        if character.lower() in CLASSES:
            return Characters(CLASSES[character.lower()], excluded=character.isupper())
        if character in CONTROLS:
            single = CONTROLS[character]
            return Characters(((single, single),))
        if character in "xu":
            single = self._code(2 if character == "x" else 4)
            return Characters(((single, single),))
        raise self._error(f"\\{character} is not understood")

    def _code(self, length: int) -> str:
        digits = self.pattern[self.place : self.place + length]
        if len(digits) < length or not all(digit in "0123456789abcdefABCDEF" for digit in digits):
            self._refuse(f"{length} hexadecimal digits are missing")
        self.place += length
        return chr(int(digits, 16))

    @property
    def _next(self) -> str:
        return self.pattern[self.place]

    def _advance(self) -> str:
        if self.place == len(self.pattern):
            self._refuse("it ends too early")
        self.place += 1
        return self.pattern[self.place - 1]

    def _take(self, character: str) -> bool:
        """Go past the character if it comes next."""
        found = self.pattern.startswith(character, self.place)
        self.place += found
        return found

    def _refuse(self, reason: str) -> NoReturn:
        raise self._error(reason)

    def _error(self, reason: str) -> UnsupportedPattern:
        place = f"pattern {self.pattern!r:.80}, character {self.place}"
        return UnsupportedPattern(f"{place}: {reason}")


def _is_number(text: str) -> bool:
    return 0 < len(text) <= 4 and text.isascii() and text.isdigit()
