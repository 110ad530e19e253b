"""Rules that say which name of the left trace is which of the right: one `LEFT -> RIGHT` a line.

Knows rules and single names. Must not know files, nor where in an event a name stands
(`renaming`). Only `*` is special: it stands for any characters, as few as fit, and the n-th one of
RIGHT stands for what the n-th of LEFT did.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tracediff.errors import UsageError

ARROW = "->"
KINDS = ("event", "tensor", "key")
"""What a prefix `KIND:` restricts a rule to: components, event types and paths of modules; tensors;
or the keys of `artifacts` and `state`. Without a prefix a rule is for all three."""


@dataclass(frozen=True, slots=True)
class MapRule:
    """One rule: names of `kind` (of every kind if empty) that fit `left` are called `right`."""

    left: str
    right: str
    kind: str = ""

    @property
    def text(self) -> str:
        """The line of a rules file that is read back as this rule."""
        prefix = f"{self.kind}:" if self.kind else ""
        return f"{prefix}{self.left} {ARROW} {self.right}"

    def is_for(self, kind: str) -> bool:
        """Whether the rule is for names of this kind."""
        return self.kind in ("", kind)

    def rewrite(self, name: str) -> str | None:
        """Return the right name of a left one, None where the rule does not fit it."""
        found = _pattern(self.left).fullmatch(name)
        if found is None:
            return None
        captured = iter(found.groups())
        return re.sub(r"\*", lambda _: next(captured), self.right)


@dataclass(frozen=True, slots=True)
class NameMap:
    """Rules in order, the first that fits a name decides; `name` is what messages call them."""

    rules: tuple[MapRule, ...]
    name: str = "the map"

    def find(self, kind: str, name: str) -> tuple[MapRule, str] | None:
        """Return the deciding rule for a left name and the right name, None where none fits."""
        for rule in self.rules:
            renamed = rule.rewrite(name) if rule.is_for(kind) else None
            if renamed is not None:
                return rule, renamed
        return None


def parse_name_map(text: str, name: str) -> NameMap:
    """Return the rules of a rules file: one a line, empty lines and `#` comments left out.

    Raises UsageError that names the line.
    """
    rules = []
    for number, line in enumerate(text.splitlines(), start=1):
        bare = re.sub(r"(^|\s)#.*", "", line).strip()
        if bare:
            rules.append(_parse_rule(bare, f"{name}:{number}"))
    if not rules:
        raise UsageError(f"{name}: holds no rule; expected lines such as 'layers.* -> blocks.*'")
    return NameMap(tuple(rules), name)


def is_spellable(name: str) -> bool:
    """Whether a rule can name this name, and it alone."""
    bare = ARROW not in name and "*" not in name and name.isprintable() and name == name.strip()
    return bare and re.search(r"(^|\s)#", name) is None and name.partition(":")[0] not in KINDS


@dataclass(frozen=True, slots=True)
class MatchedNames:
    """What a map makes of the left trace's names.

    `right` says by kind which right name every left name stands for; `unused` are the rules that
    fit none; `shadowed` those that fit some, all of which earlier rules take: each with the first
    of these.
    """

    right: Mapping[str, Mapping[str, str]]
    unused: tuple[MapRule, ...]
    shadowed: Mapping[MapRule, MapRule]


def match_names(names: Mapping[str, Iterable[str]], name_map: NameMap) -> MatchedNames:
    """Return what the left trace's names by kind stand for; one that no rule fits is itself.

    Raises UsageError where two left names of a kind would stand for one right name.
    """
    used = set()
    mapped: dict[str, dict[str, str]] = {}
    for kind, found in names.items():
        mapped[kind] = {}
        owners: dict[str, str] = {}
        for name in found:
            rule, renamed = name_map.find(kind, name) or (None, name)
            used.add(rule)
            other = owners.setdefault(renamed, name)
            if other != name:
                raise UsageError(
                    f"{name_map.name}: the {kind} names {other!r} and {name!r} of the left trace "
                    f"would both stand for {renamed!r}; make the rules tell them apart"
                )
            mapped[kind][name] = renamed
    idle = dict.fromkeys(rule for rule in name_map.rules if rule not in used)
    takers = {rule: _taker(rule, mapped, name_map) for rule in idle}
    return MatchedNames(
        mapped,
        tuple(rule for rule, taker in takers.items() if taker is None),
        {rule: taker for rule, taker in takers.items() if taker is not None},
    )


def _taker(rule: MapRule, names: Mapping[str, Iterable[str]], name_map: NameMap) -> MapRule | None:
    """Return the rule that decides the first name which an idle rule fits, None if it fits none."""
    for kind in (kind for kind in names if rule.is_for(kind)):
        for name in names[kind]:
            found = name_map.find(kind, name) if rule.rewrite(name) is not None else None
            if found is not None:
                return found[0]
    return None


def _parse_rule(line: str, place: str) -> MapRule:
    left, arrow, right = (part.strip() for part in line.partition(ARROW))
    if not arrow or not left or not right or ARROW in right:
        raise UsageError(f"{place}: {line!r} is no rule; expected LEFT {ARROW} RIGHT")
    prefix, colon, rest = left.partition(":")
    kind = prefix if colon and prefix in KINDS else ""
    left = rest if kind else left
    if not left:
        raise UsageError(f"{place}: nothing stands between {kind}: and {ARROW}")
    if left.count("*") != right.count("*"):
        raise UsageError(
            f"{place}: {line!r} has {left.count('*')} stars on the left and {right.count('*')} on "
            "the right; the n-th star of the right is what the n-th of the left stood for"
        )
    return MapRule(left, right, kind)


@functools.lru_cache(maxsize=4096)
def _pattern(glob: str) -> re.Pattern[str]:
    return re.compile("(.*?)".join(re.escape(part) for part in glob.split("*")), re.DOTALL)
