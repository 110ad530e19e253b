"""Turns what tensors needed into few rules, none narrower than the rule that holds without them.

Knows names, needs and rules. Must not know traces. Names that differ in numbers only (the layers
of a model) share a rule as long as its glob fits nothing else.
"""

from __future__ import annotations

import functools
import glob
import math
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from tracediff.calibration.measure import SAME, Need, Needs
from tracediff.events import ToleranceRule
from tracediff.events.tolerances import DTYPE_DEFAULTS, EXACT

WIDEST = 0.5
"""Relative tolerance beyond which two tensors do not differ by noise: nothing is absorbed."""

DIGITS = 2
NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class CalibratedRule:
    """A rule, how often wider than without it, and what it was measured on.

    `factor` includes the margin; `needed` is the largest need without it; `names` are the tensors
    that it was measured on, `evidence` counts their pairs.
    """

    rule: ToleranceRule
    factor: float
    needed: float
    names: tuple[str, ...]
    evidence: Mapping[str, int]


def make_rules(needs: Needs, names: Iterable[str], margin: float) -> tuple[CalibratedRule, ...]:
    """Return the rules for tensors that need more than their rule allows, with `margin`.

    `names` are all tensor names of the runs: no glob of a rule fits one that looks otherwise, nor
    one that is compared exactly. Needs too wide for noise get no rule.
    """
    exact = {name for (name, _), need in needs.items() if need.base.mode == "exact"}
    wanting = {
        name: None
        for (name, dtype), need in needs.items()
        if name not in exact and need.factor * margin > 1.0 and _is_noise(need, dtype, margin)
    }
    mixed = _mixed_templates(needs)
    groups: dict[str, list[str]] = {}
    for name in wanting:
        template = _template(name)
        groups.setdefault(glob.escape(name) if template in mixed else template, []).append(name)
    while (conflict := _conflict(_in_order(groups), names, exact)) is not None:
        for name in groups.pop(conflict):
            groups[glob.escape(name)] = [name]
    alike: dict[str, dict[tuple[str, str], Need]] = {}
    for (name, dtype), need in needs.items():
        for match in {_template(name), glob.escape(name)}:
            alike.setdefault(match, {})[name, dtype] = need
    return tuple(_merged(match, groups[match], alike[match], margin) for match in _in_order(groups))


def _in_order(matches: Iterable[str]) -> list[str]:
    """Return globs in the order in which they are tried: exact names, then the longest."""
    return sorted(matches, key=lambda match: (_is_glob(match), -len(match)))


def _is_glob(match: str) -> bool:
    return "*" in match.replace("[*]", "")


def _mixed_templates(needs: Needs) -> set[str]:
    """Return the globs whose tensors go by unlike rules, which one rule must not replace."""
    bases: dict[tuple[str, str], set[ToleranceRule]] = {}
    for (name, dtype), need in needs.items():
        bases.setdefault((_template(name), dtype), set()).add(replace(need.base, match=""))
    return {template for (template, _), found in bases.items() if len(found) > 1}


def _is_noise(need: Need, dtype: str, margin: float) -> bool:
    rule = _widened(need.base, dtype, need.factor * margin)
    return max(rule.rtol, rule.rel_l2) <= WIDEST


def _widened(base: ToleranceRule, dtype: str, factor: float) -> ToleranceRule:
    """Return a rule `factor` times as wide, rounded up; at least as wide as it is."""
    factor = max(factor, 1.0)
    stand_in = base.rel_l2 or DTYPE_DEFAULTS.get(dtype, EXACT).rel_l2
    if factor == 1.0:
        return replace(base, rel_l2=stand_in)
    return replace(
        base,
        rtol=_round_up(base.rtol * factor),
        atol=_round_up(base.atol * factor),
        ulps=math.ceil(base.ulps * factor),
        rel_l2=_round_up(stand_in * factor),
    )


def _merged(match: str, members: Sequence[str], taken: Needs, margin: float) -> CalibratedRule:
    """Return the rule that satisfies all tensors it fits, also those that show no need."""
    rules = []
    evidence: dict[str, int] = {}
    for (name, dtype), need in taken.items():
        factor = need.factor * margin if name in members else 1.0
        rules.append(_widened(need.base, dtype, factor))
        for word, count in need.evidence.items():
            evidence[word] = evidence.get(word, 0) + count
    needed = max(need.factor for need in taken.values())
    modes = {rule.mode for rule in rules}
    return CalibratedRule(
        ToleranceRule(
            match,
            modes.pop() if len(modes) == 1 else "allclose",
            max(rule.rtol for rule in rules),
            max(rule.atol for rule in rules),
            max(rule.ulps for rule in rules),
            max(rule.rel_l2 for rule in rules),
        ),
        needed * margin,
        needed,
        tuple(dict.fromkeys(name for name, _ in taken)),
        {word: evidence[word] for word in sorted(evidence, key=lambda word: word == SAME)},
    )


def _conflict(matches: Sequence[str], names: Iterable[str], exact: Container[str]) -> str | None:
    """Return a glob that fits a name which is not of its kind, None where all fit their own."""
    for name in names:
        match = next((match for match in matches if fnmatchcase(name, match)), None)
        if match is None or match == glob.escape(name):
            continue
        if name in exact or match != _template(name):
            return match
    return None


@functools.cache
def _template(name: str) -> str:
    return NUMBER.sub("*", glob.escape(name))


def _round_up(value: float) -> float:
    """Return the value with two digits, not below it."""
    if value <= 0 or not math.isfinite(value):
        return value
    unit = 10.0 ** (math.floor(math.log10(value)) - DIGITS + 1)
    rounded = float(f"{math.ceil(value / unit) * unit:.{DIGITS}g}")
    return rounded if rounded >= value else float(f"{rounded + unit:.{DIGITS}g}")
