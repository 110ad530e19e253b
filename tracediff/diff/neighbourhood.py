"""The pairs around the first divergence, kept while a walk goes by.

Knows pairs as they come. Must not know how they were compared.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from tracediff.diff.result import ComparedPair

NEIGHBOURS = 3
"""Pairs that are kept before and after the first divergence."""


@dataclass(slots=True)
class Neighbourhood:
    """The pairs around the first divergence: the last ones until it comes, then a few more."""

    before: deque[ComparedPair] = field(default_factory=lambda: deque(maxlen=NEIGHBOURS))
    since: list[ComparedPair] = field(default_factory=list)

    def add(self, pair: ComparedPair) -> None:
        """Take the next pair of the walk."""
        if self.since or pair.divergence is not None:
            if len(self.since) <= NEIGHBOURS:
                self.since.append(pair)
        else:
            self.before.append(pair)

    def pairs(self) -> tuple[ComparedPair, ...]:
        """Return the pairs in walking order, none where nothing diverged."""
        return (*self.before, *self.since) if self.since else ()
