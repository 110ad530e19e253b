"""Proposes rules for a name map, each as general as no pair of names contradicts.

Knows names as text. Must not know events. A rule is kept only if every left name that it decides
is paired with what the rule makes of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tracediff.diff.name_map import MapRule
from tracediff.diff.name_pairs import NamePair, Pairing, pair_names
from tracediff.events import Trace

SEPARATORS = re.compile(r"[./:]")
NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class SuggestedRule:
    """A rule and the pairs of names that speak for it."""

    rule: MapRule
    pairs: tuple[NamePair, ...]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Proposed rules; `same` counts names that both traces have, `pairing` lists all."""

    rules: tuple[SuggestedRule, ...]
    same: int
    pairing: Pairing

    @property
    def is_complete(self) -> bool:
        """Whether every name of both traces has a counterpart."""
        return not any((*self.pairing.only_left.values(), *self.pairing.only_right.values()))


def suggest_map(left: Trace, right: Trace) -> Suggestion:
    """Return rules that read left's names as right's; nothing is applied.

    Raises UsageError where the traces have too many names that nothing tells apart.
    """
    pairing = pair_names(left, right)
    renamed = [pair for pair in pairing.pairs if pair.left != pair.right]
    return Suggestion(generalise(pairing, renamed), len(pairing.pairs) - len(renamed), pairing)


def generalise(pairing: Pairing, renamed: Sequence[NamePair]) -> tuple[SuggestedRule, ...]:
    """Return rules for the renamed names, each as general as the names left over by those before.

    The first rule that fits a name decides, so the longest paths, whose rules are narrow, go first.
    """
    names = _names(pairing)
    rules = []
    todo = sorted(renamed, key=lambda pair: -len(SEPARATORS.findall(pair.left)))
    while todo:
        rule = _most_general(todo[0], names)
        covered = tuple(p for p in todo if rule.is_for(p.kind) and rule.rewrite(p.left) is not None)
        rules.append(SuggestedRule(rule, covered))
        todo = [pair for pair in todo if pair not in set(covered)]
        for kind in names:
            if rule.is_for(kind):
                names[kind] = {n: r for n, r in names[kind].items() if rule.rewrite(n) is None}
    return tuple(rules)


def _names(pairing: Pairing) -> dict[str, dict[str, str | None]]:
    """Return every left name by kind with its right name, None where it has no counterpart.

    A rule must not fit those without one.
    """
    names: dict[str, dict[str, str | None]] = {
        kind: dict.fromkeys(only) for kind, only in pairing.only_left.items()
    }
    for pair in pairing.pairs:
        names[pair.kind][pair.left] = pair.right
    return names


def _most_general(pair: NamePair, names: Mapping[str, Mapping[str, str | None]]) -> MapRule:
    globs = [found for found in _candidates(pair.left, pair.right) if "*" in found[0]]
    for found in (globs, [(pair.left, pair.right)]):
        for kind in ("", pair.kind):
            for left, right in found:
                rule = MapRule(left, right, kind)
                if _holds(rule, names):
                    return rule
    return MapRule(pair.left, pair.right, pair.kind)


def _holds(rule: MapRule, names: Mapping[str, Mapping[str, str | None]]) -> bool:
    for kind, mapped in names.items():
        if not rule.is_for(kind):
            continue
        for name, right in mapped.items():
            if rule.rewrite(name) not in (None, right):
                return False
    return True


def _candidates(left: str, right: str) -> Iterator[tuple[str, str]]:
    """Yield globs for a pair of names, the most general first: a common end, then numbers."""
    for ending in (*_common_endings(left, right), ""):
        ended = (left.removesuffix(ending), right.removesuffix(ending)) if ending else (left, right)
        star = "*" if ending else ""
        mine, other = NUMBER.findall(ended[0]), NUMBER.findall(ended[1])
        common = 0
        while common < min(len(mine), len(other)) and mine[common] == other[common]:
            common += 1
        for count in range(common, -1, -1):
            starred = [NUMBER.sub("*", part, count=count) if count else part for part in ended]
            yield starred[0] + star, starred[1] + star


def _common_endings(left: str, right: str) -> list[str]:
    """Return the ends that two names share from a separator on, the longest first."""
    length = 0
    while length < min(len(left), len(right)) and left[-1 - length] == right[-1 - length]:
        length += 1
    start = len(left) - length
    whole = [left] if 0 < length == len(left) and _starts_part(right, len(right) - length) else []
    if 0 < length == len(right) and _starts_part(left, start):
        whole.append(right)
    ends = [left[found.end() :] for found in SEPARATORS.finditer(left, start)]
    return [*whole, *(end for end in ends if end)]


def _starts_part(name: str, place: int) -> bool:
    return place == 0 or SEPARATORS.fullmatch(name[place - 1]) is not None
