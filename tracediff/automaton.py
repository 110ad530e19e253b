"""Automata over characters: put together from parts, run in time linear in the text.

Knows characters and states only. Must not know JSON, schemas or regular expressions' spelling.
Construction and simulation after Thompson 1968, CACM 11(6): all states are followed at once, so
no text makes it try again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

LARGEST_PATTERN = 2_000
"""Most character positions of one automaton, its repetitions written out."""

MOST_REMEMBERED = 4_096
"""Most steps whose result is kept: a hostile text must not fill the memory."""


@dataclass(frozen=True, slots=True)
class Characters:
    """One character in (or, `excluded`, outside) the inclusive ranges of characters."""

    ranges: tuple[tuple[str, str], ...]
    excluded: bool = False

    def holds(self, character: str) -> bool:
        """Whether the character fits."""
        inside = any(low <= character <= high for low, high in self.ranges)
        return inside is not self.excluded


@dataclass(frozen=True, slots=True)
class Chain:
    """All parts, one after the other; no part is the empty text."""

    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Either:
    """Any one of the parts."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Repeated:
    """The part from `least` to `most` times; None for any number."""

    part: Part
    least: int = 0
    most: int | None = None


Part: TypeAlias = Characters | Chain | Either | Repeated
States: TypeAlias = frozenset[int]


def literal(text: str) -> Chain:
    """Return the part that is exactly this text."""
    return Chain(tuple(Characters(((character, character),)) for character in text))


def optional(part: Part) -> Repeated:
    """Return the part, or nothing."""
    return Repeated(part, 0, 1)


def size(part: Part) -> int:
    """Return how many character positions a part has with its repetitions written out."""
    match part:
        case Characters():
            return 1
        case Chain(parts) | Either(parts):
            return max(1, sum(map(size, parts)))
        case Repeated(inner, least, most):
            return size(inner) * max(least + 1 if most is None else most, 1)


class Automaton:
    """A compiled part: follow characters from `start`, ask whether a set of states accepts.

    Raises ValueError for a part of more than LARGEST_PATTERN positions.
    """

    def __init__(self, part: Part) -> None:
        positions = size(part)
        if positions > LARGEST_PATTERN:
            raise ValueError(f"{positions} character positions, at most {LARGEST_PATTERN} are run")
        self._characters: list[tuple[Characters, int] | None] = []
        self._free: list[list[int]] = []
        self._followed: dict[tuple[States, str], States] = {}
        first, self._last = self._state(), self._state()
        self._build(part, first, self._last)
        self.start = self._closed([first])

    def follow(self, states: States, text: str) -> States:
        """Return the states after the text; the empty set where it cannot go on."""
        for character in text:
            if not states:
                break
            key = (states, character)
            after = self._followed.get(key)
            if after is None:
                if len(self._followed) >= MOST_REMEMBERED:
                    self._followed.clear()
                after = self._followed[key] = self._step(states, character)
            states = after
        return states

    def accepts(self, states: States) -> bool:
        """Whether the text may end here."""
        return self._last in states

    def matches(self, text: str) -> bool:
        """Whether the whole text fits."""
        return self.accepts(self.follow(self.start, text))

    def _step(self, states: States, character: str) -> States:
        edges = (self._characters[state] for state in states)
        return self._closed(edge[1] for edge in edges if edge and edge[0].holds(character))

    def _closed(self, states: Iterable[int]) -> States:
        """Return the states with all that are reached from them without a character."""
        found: set[int] = set()
        waiting = list(states)
        while waiting:
            state = waiting.pop()
            if state not in found:
                found.add(state)
                waiting.extend(self._free[state])
        return frozenset(found)

    def _state(self) -> int:
        self._characters.append(None)
        self._free.append([])
        return len(self._free) - 1

    def _build(self, part: Part, start: int, end: int) -> None:
        """Connect two states by a part."""
        match part:
            case Characters():
                middle = self._state()
                self._characters[middle] = (part, end)
                self._free[start].append(middle)
            case Chain(parts):
                for inner in parts:
                    following = self._state()
                    self._build(inner, start, following)
                    start = following
                self._free[start].append(end)
            case Either(parts):
                for inner in parts:
                    self._build(inner, start, end)
            case Repeated():
                self._build_repeated(part, start, end)

    def _build_repeated(self, repeated: Repeated, start: int, end: int) -> None:
        for _ in range(repeated.least):
            following = self._state()
            self._build(repeated.part, start, following)
            start = following
        if repeated.most is None:
            hub = self._state()
            self._free[start].append(hub)
            self._build(repeated.part, hub, hub)
            self._free[hub].append(end)
            return
        for _ in range(repeated.most - repeated.least):
            self._free[start].append(end)
            following = self._state()
            self._build(repeated.part, start, following)
            start = following
        self._free[start].append(end)
