"""Which names may share one rule: they look alike, go by one rule, and need about as much.

Knows names and what they need. Must not know how needs are measured, nor traces.
"""

from __future__ import annotations

import functools
import glob
import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from tracediff.calibration.measure import Need
from tracediff.calibration.widening import is_noise, unwidened, widen
from tracediff.events import ToleranceRule

NUMBER = re.compile(r"\d+")

SPREAD = 3.0
"""How many times the least need of a group the largest may be. With the default margin of 2 a rule
stays below seven times what the quietest of its tensors needs, so that a fault ten times the noise
of its own tensor is not absorbed."""


@dataclass(frozen=True, slots=True)
class NameNeed:
    """What one name needs: its rule without calibration and the widened one.

    The two are the same where nothing more is needed, and where what is needed is no noise.
    """

    name: str
    need: Need
    base: ToleranceRule
    rule: ToleranceRule
    is_noise: bool

    @property
    def is_wanting(self) -> bool:
        """Whether the name needs more than its rule allows, and may have it."""
        return self.rule != self.base


def need_of(name: str, dtype: str, need: Need, margin: float) -> NameNeed:
    """Return what a name needs."""
    base, noise = unwidened(need, dtype), is_noise(need, dtype, margin)
    wanting = base.mode != "exact" and noise and need.factor * margin > 1.0
    return NameNeed(name, need, base, widen(need, dtype, margin) if wanting else base, noise)


def group_alike(found: Sequence[NameNeed]) -> list[NameNeed]:
    """Return the largest group of names of one template that may share a rule, or none.

    Names that need no wider rule are a group too: where they are the most, no rule is shared.
    """
    best = [one for one in found if not one.is_wanting]
    shared: list[NameNeed] = []
    for top in sorted((one for one in found if one.is_wanting), key=lambda one: one.need.factor):
        least, most = top.need.factor / SPREAD, top.need.factor
        group = [one for one in found if one.is_noise and least <= one.need.factor <= most]
        if len(group) > len(best):
            best = shared = group
    return shared


@functools.cache
def template_of(name: str) -> str:
    """Return the glob of the names that differ from this one in numbers only."""
    return NUMBER.sub("*", glob.escape(name))


def conflicting(globs: Sequence[str], names: Iterable[str], own: Container[str]) -> str | None:
    """Return a glob that fits a name which is not of its kind, None where all fit their own.

    `globs` in the order in which they are tried; `own` are the names with a rule of their own,
    which is tried before.
    """
    for name in names:
        match = next((match for match in globs if fnmatchcase(name, match)), None)
        if match is not None and name not in own and match != template_of(name):
            return match
    return None
