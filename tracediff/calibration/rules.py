"""Turns what tensors needed into few rules, none narrower than the rule that holds without them.

Knows names, needs and rules. Must not know traces. Names that differ in numbers only (the layers
of a model) share a rule as long as its glob fits nothing else and they need about as much.
"""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tracediff.calibration.alike import (
    NameNeed,
    conflicting,
    group_alike,
    need_of,
    template_of,
)
from tracediff.calibration.measure import SAME, Need, Needs
from tracediff.calibration.widening import unwidened
from tracediff.events import ToleranceRule


@dataclass(frozen=True, slots=True)
class CalibratedRule:
    """A rule, how often wider than without it, and what it was measured on.

    `factor` includes the margin, and is 1 for a rule that only keeps a name from the glob of names
    that look alike; `needed` is the largest need without margin; `names` are the tensors that it
    was measured on, `evidence` counts their pairs.
    """

    rule: ToleranceRule
    factor: float
    needed: float
    names: tuple[str, ...]
    evidence: Mapping[str, int]


def make_rules(needs: Needs, margin: float) -> tuple[CalibratedRule, ...]:
    """Return the rules for tensors that need more than their rule allows, with `margin`.

    `needs` holds all names of the runs, those without evidence too: no glob of a rule fits a name
    that looks otherwise. A name that goes by unlike rules (other element types) gets no rule,
    because a rule knows names only. Needs too wide for noise get none either.
    """
    names = dict.fromkeys(name for name, _ in needs)
    found = _found_by_name(needs, margin)
    shared = {
        template: group
        for template, members in _by_template(needs, found).items()
        if (group := group_alike(members))
    }
    while True:
        alone = _alone(found, shared)
        globs = sorted(shared, key=lambda match: -len(match))
        conflict = conflicting(globs, names, alone)
        if conflict is None:
            break
        del shared[conflict]
    own = sorted((glob.escape(name) for name in alone), key=lambda match: -len(match))
    escaped = {glob.escape(name): one for name, one in alone.items()}
    return (
        *(_merged(match, [escaped[match]], margin) for match in own),
        *(_merged(match, shared[match], margin) for match in globs),
    )


def _found_by_name(needs: Needs, margin: float) -> dict[str, NameNeed]:
    """Return what every measured name needs that goes by one rule."""
    bases: dict[str, set[ToleranceRule]] = {}
    together: dict[str, tuple[str, Need]] = {}
    for (name, dtype), need in needs.items():
        bases.setdefault(name, set()).add(unwidened(need, dtype))
        if need.evidence:
            known = together.get(name)
            together[name] = dtype, need if known is None else _both(known[1], need)
    return {
        name: need_of(name, *found, margin)
        for name, found in together.items()
        if len(bases[name]) == 1
    }


def _by_template(needs: Needs, found: Mapping[str, NameNeed]) -> dict[str, list[NameNeed]]:
    """Return the names of each template, without templates of which names go by unlike rules."""
    bases: dict[str, set[ToleranceRule]] = {}
    for (name, dtype), need in needs.items():
        bases.setdefault(template_of(name), set()).add(unwidened(need, dtype))
    members: dict[str, list[NameNeed]] = {}
    for name, one in found.items():
        template = template_of(name)
        if len(bases[template]) == 1 and template != glob.escape(name):
            members.setdefault(template, []).append(one)
    return members


def _alone(
    found: Mapping[str, NameNeed], shared: Mapping[str, Sequence[NameNeed]]
) -> dict[str, NameNeed]:
    """Return the names with a rule of their own: what no glob serves, and what it must not fit."""
    grouped = {one.name for group in shared.values() for one in group}
    return {
        name: one
        for name, one in found.items()
        if name not in grouped and (one.is_wanting or template_of(name) in shared)
    }


def _both(one: Need, other: Need) -> Need:
    """Return the need of the tensors of one name in two element types that go by one rule."""
    factors, evidence = dict(one.factors), dict(one.evidence)
    for word, count in other.evidence.items():
        evidence[word] = evidence.get(word, 0) + count
        factors[word] = max(factors.get(word, 0.0), other.factors[word])
    distance, size = max(one.distance, other.distance), min(one.size, other.size)
    return Need(one.base, factors, evidence, distance, size)


def _merged(match: str, members: Sequence[NameNeed], margin: float) -> CalibratedRule:
    """Return the rule that satisfies all members, which go by one rule without calibration."""
    rules = [one.rule for one in members]
    evidence: dict[str, int] = {}
    for one in members:
        for word, count in one.need.evidence.items():
            evidence[word] = evidence.get(word, 0) + count
    needed = max(one.need.factor for one in members)
    return CalibratedRule(
        replace(
            rules[0],
            match=match,
            rtol=max(rule.rtol for rule in rules),
            atol=max(rule.atol for rule in rules),
            ulps=max(rule.ulps for rule in rules),
            rel_l2=max(rule.rel_l2 for rule in rules),
        ),
        needed * margin if any(one.is_wanting for one in members) else 1.0,
        needed,
        tuple(one.name for one in members),
        {word: evidence[word] for word in sorted(evidence, key=lambda word: word == SAME)},
    )
