"""Which name of the left trace seems to be which of the right, and what speaks for it.

Knows pairs of events and the names in them. Must not know rules. A name that both traces have
stands for itself; of several candidates the one that most pairs of events speak for is taken.
Names that no rule can spell are left without a counterpart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracediff.diff.drift import relative_distance
from tracediff.diff.event_pairs import NEAR, EventPair, pair_events
from tracediff.diff.name_map import KINDS, is_spellable
from tracediff.diff.renaming import KEYED_SECTIONS, event_names, listed_modules, names_of
from tracediff.events import Event, Trace
from tracediff.events.digest import is_proof
from tracediff.events.event import TENSOR_SECTIONS

STRENGTH: Mapping[str, int] = {"name": 5, "digest": 4, "value": 4, "distance": 3, "shape": 1}
"""How much each kind of evidence counts: `name`: the same on both sides; `digest`: equal tensors;
`value`: equal values under two keys; `distance`: tensors of one shape no more than `NEAR` apart;
`shape`: the same shape at the same place in the order, no more."""


@dataclass(frozen=True, slots=True)
class NamePair:
    """A left name, the right name that it seems to stand for, and the strongest evidence."""

    kind: str
    left: str
    right: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Pairing:
    """All names by kind that were paired (equal names too), and those that were not."""

    pairs: tuple[NamePair, ...]
    only_left: Mapping[str, tuple[str, ...]]
    only_right: Mapping[str, tuple[str, ...]]


def pair_names(left: Trace, right: Trace) -> Pairing:
    """Return which names of two traces correspond; raise UsageError where there are too many."""
    votes: dict[NamePair, int] = defaultdict(int)
    for events in pair_events(left.events, right.events):
        for vote in _votes(events):
            votes[vote] += STRENGTH[vote.evidence]
    names = names_of(left.events), names_of(right.events)
    pairs: list[NamePair] = []
    only: tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]] = ({}, {})
    for kind in KINDS:
        mine, other = names[0][kind], names[1][kind]
        found = _one_to_one(kind, mine, other, votes)
        pairs += found.values()
        taken = {pair.right for pair in found.values()}
        only[0][kind] = tuple(name for name in mine if name not in found)
        only[1][kind] = tuple(name for name in other if name not in taken)
    return Pairing(tuple(pairs), *only)


def _one_to_one(
    kind: str, left: Sequence[str], right: Sequence[str], votes: Mapping[NamePair, int]
) -> dict[str, NamePair]:
    found = {name: NamePair(kind, name, name, "name") for name in left if name in set(right)}
    taken = set(found)
    totals: dict[tuple[str, str], int] = defaultdict(int)
    strongest: dict[tuple[str, str], NamePair] = {}
    for vote, count in votes.items():
        if vote.kind != kind:
            continue
        key = vote.left, vote.right
        totals[key] += count
        known = strongest.get(key)
        if known is None or STRENGTH[vote.evidence] > STRENGTH[known.evidence]:
            strongest[key] = vote
    for mine, other in sorted(totals, key=lambda key: -totals[key]):
        spellable = is_spellable(mine) and is_spellable(other)
        if mine not in found and other not in taken and spellable:
            found[mine] = strongest[mine, other]
            taken.add(other)
    return {name: found[name] for name in left if name in found}


def _votes(events: EventPair) -> Iterator[NamePair]:
    left, right = events.left, events.right
    for mine, other in zip(event_names(left), event_names(right), strict=False):
        yield NamePair("event", mine, other, events.evidence)
    for listed in zip(listed_modules(left), listed_modules(right), strict=False):
        if len(listed[0]) == len(listed[1]):
            for mine, other in zip(*listed, strict=True):
                yield NamePair("event", mine, other, "shape")
    for section in TENSOR_SECTIONS:
        yield from _tensor_votes(left, right, section)
    for section in KEYED_SECTIONS:
        yield from _key_votes(left, right, section)


def _tensor_votes(left: Event, right: Event, section: str) -> Iterator[NamePair]:
    """Pair the tensors of a section: of one name, then equal, then near, then of one shape."""
    mine = {record["name"]: record for record in left.payload.get(section, ())}
    other = {record["name"]: record for record in right.payload.get(section, ())}
    for evidence in ("name", "digest", "distance", "shape"):
        for name in list(mine):
            match = next((n for n in other if _speaks(evidence, mine[name], other[n])), None)
            if match is not None:
                del mine[name], other[match]
                yield NamePair("tensor", name, match, evidence)


def _speaks(evidence: str, left: Mapping[str, Any], right: Mapping[str, Any]) -> bool:
    if evidence == "name":
        return bool(left["name"] == right["name"])
    if (left["dtype"], left["shape"]) != (right["dtype"], right["shape"]):
        return False
    if evidence == "digest":
        return is_proof(left["digest"]) and bool(left["digest"] == right["digest"])
    if evidence == "distance":
        distance = relative_distance(left, right)
        return distance is not None and distance <= NEAR
    return True


def _key_votes(left: Event, right: Event, section: str) -> Iterator[NamePair]:
    """Pair the keys of a section: equal ones, those that alone hold a value, then by order.

    An order counts only among as many values that begin alike, as `float32[4,4] b3:…` does.
    """
    mine, other = dict(left.payload.get(section, {})), dict(right.payload.get(section, {}))
    for key in [key for key in mine if key in other]:
        del mine[key], other[key]
        yield NamePair("key", key, key, "name")
    holders = _holders(mine), _holders(other)
    for value, keys in holders[0].items():
        if len(keys) == len(holders[1].get(value, ())) == 1:
            del mine[keys[0]], other[holders[1][value][0]]
            yield NamePair("key", keys[0], holders[1][value][0], "value")
    kinds = _holders(mine, _beginning), _holders(other, _beginning)
    for kind, keys in kinds[0].items():
        if len(keys) == len(kinds[1].get(kind, ())):
            for key, match in zip(keys, kinds[1][kind], strict=True):
                yield NamePair("key", key, match, "shape")


def _holders(entries: Mapping[str, Any], kind: Callable[[Any], str] = repr) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for key, value in entries.items():
        found[kind(value)].append(key)
    return found


def _beginning(value: Any) -> str:
    """Return what a value is, without what it holds: an element type and shape, or its type."""
    return value.rpartition(" ")[0] if isinstance(value, str) else type(value).__name__
