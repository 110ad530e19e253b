"""Pairs events whose names differ, by what they hold and the order in which they come.

Knows events and numbers kept of their outputs. Must not know rules of names. What is paired is
the first event of every name on either side: events with equal outputs, of which a longest
increasing row anchors the rest, which is aligned so that the sum of the likenesses is largest.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tracediff.diff.drift import relative_distance
from tracediff.diff.renaming import event_names
from tracediff.errors import UsageError
from tracediff.events import Event
from tracediff.events.digest import is_proof

NEAR = 0.05
"""Relative L2 distance up to which two tensors of one shape are taken for the same."""

MOST_CELLS = 2_000_000
"""Pairs of names whose likeness is computed at most: some ten seconds."""

Label = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EventPair:
    """Two events that seem to correspond, and by what: `name`, `digest`, `distance`, `shape`."""

    left: Event
    right: Event
    evidence: str


def pair_events(left: Sequence[Event], right: Sequence[Event]) -> list[EventPair]:
    """Return pairs of events, the n-th of a name with the n-th of the name it is paired with.

    Raises UsageError where there are too many names to look at.
    """
    sides = _first_of_each(left), _first_of_each(right)
    crossing = _crossing(*sides)
    taken = [{pair[side].label for pair in crossing} for side in (0, 1)]
    mine, other = (
        [profile for profile in side if profile.label not in labels]
        for side, labels in zip(sides, taken, strict=True)
    )
    found = [*crossing, *((mine[i], other[j]) for i, j in _in_order(mine, other))]
    occurrences = _occurrences(left), _occurrences(right)
    return [
        EventPair(*events, _likeness(first, second)[1])
        for first, second in found
        for events in zip(occurrences[0][first.label], occurrences[1][second.label], strict=False)
    ]


@dataclass(frozen=True, slots=True)
class _Profile:
    """What is looked at of the first event of a name; `content` is None where nothing proves it.

    It is of the outputs, without any of the inputs, without those of the artifacts: what a model
    consists of.
    """

    label: Label
    tensors: Sequence[Any]
    shapes: tuple[Any, ...]
    content: tuple[str, ...] | None
    words: Counter[str]


def _first_of_each(events: Sequence[Event]) -> list[_Profile]:
    found: dict[Label, _Profile] = {}
    for event in events:
        label = event_names(event)
        if label in found:
            continue
        found[label] = _profile(event, label)
    return list(found.values())


def _profile(event: Event, label: Label) -> _Profile:
    words = Counter(".".join(label).replace("/", ".").split("."))
    for section in ("outputs", "inputs"):
        tensors = event.payload.get(section, [])
        if tensors:
            digests = sorted(record["digest"] for record in tensors)
            content = (section, *digests) if all(map(is_proof, digests)) else None
            shapes = tuple((record["dtype"], tuple(record["shape"])) for record in tensors)
            return _Profile(label, tensors, (section, *shapes), content, words)
    artifacts = event.payload.get("artifacts", {})
    if not artifacts:
        return _Profile(label, (), (), None, words)
    content = ("artifacts", *sorted(map(repr, artifacts.values())))
    return _Profile(label, (), ("artifacts", len(artifacts)), content, words)


def _occurrences(events: Sequence[Event]) -> dict[Label, list[Event]]:
    found: dict[Label, list[Event]] = {}
    for event in events:
        found.setdefault(event_names(event), []).append(event)
    return found


def _in_order(left: Sequence[_Profile], right: Sequence[_Profile]) -> list[tuple[int, int]]:
    """Return pairs of places that increase on both sides: the anchors and what is between them."""
    found: list[tuple[int, int]] = []
    start = 0, 0
    for anchor in _longest_increasing(_equal(left, right)):
        found += [*_aligned(left, right, start, anchor), anchor]
        start = anchor[0] + 1, anchor[1] + 1
    return found + _aligned(left, right, start, (len(left), len(right)))


def _crossing(
    left: Sequence[_Profile], right: Sequence[_Profile]
) -> list[tuple[_Profile, _Profile]]:
    """Return the pairs of equal outputs that stand in another order than most.

    A name that both sides have stands for itself, whatever it holds.
    """
    equal = _equal(left, right)
    row = set(_longest_increasing(equal))
    both = {profile.label for profile in left} & {profile.label for profile in right}
    pairs = [(left[i], right[j]) for i, j in equal if (i, j) not in row]
    return [pair for pair in pairs if not any(profile.label in both for profile in pair)]


def _equal(left: Sequence[_Profile], right: Sequence[_Profile]) -> list[tuple[int, int]]:
    """Return the places of equal outputs that occur once on each side, in left's order."""
    places = [
        {profile.content: place for place, profile in enumerate(side) if profile.content}
        for side in (left, right)
    ]
    counts = [Counter(profile.content for profile in side) for side in (left, right)]
    return sorted(
        (place, places[1][content])
        for content, place in places[0].items()
        if content in places[1] and counts[0][content] == counts[1][content] == 1
    )


def _longest_increasing(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return a longest row of pairs that increases on both sides (patience sorting)."""
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for place, (_, value) in enumerate(pairs):
        length = bisect_left(tails, value)
        before.append(ends[length - 1] if length else -1)
        if length == len(tails):
            tails.append(value)
            ends.append(place)
        else:
            tails[length], ends[length] = value, place
    row = []
    place = ends[-1] if ends else -1
    while place >= 0:
        row.append(pairs[place])
        place = before[place]
    return row[::-1]


def _aligned(
    left: Sequence[_Profile],
    right: Sequence[_Profile],
    start: tuple[int, int],
    stop: tuple[int, int],
) -> list[tuple[int, int]]:
    """Return the alignment of a stretch with the largest sum of likenesses (Needleman-Wunsch)."""
    rows, columns = stop[0] - start[0], stop[1] - start[1]
    if rows * columns > MOST_CELLS:
        raise UsageError(
            f"{rows} names of the left trace and {columns} of the right one have no equal outputs "
            "to hold on to: too many to propose rules for; write the rules by hand"
        )
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    gain = [[0.0] * columns for _ in range(rows)]
    for x in range(rows - 1, -1, -1):
        below = best[x + 1]
        for y in range(columns - 1, -1, -1):
            gain[x][y] = _likeness(left[start[0] + x], right[start[1] + y])[0]
            paired = below[y + 1] + gain[x][y] if gain[x][y] else 0.0
            best[x][y] = max(paired, below[y], best[x][y + 1])
    found = []
    x = y = 0
    while x < rows and y < columns:
        if gain[x][y] and best[x][y] == best[x + 1][y + 1] + gain[x][y]:
            found.append((start[0] + x, start[1] + y))
            x, y = x + 1, y + 1
        elif best[x][y] == best[x + 1][y]:
            x += 1
        else:
            y += 1
    return found


def _likeness(left: _Profile, right: _Profile) -> tuple[float, str]:
    """Return how much speaks for a pair, and what; 0 where nothing does."""
    if left.label == right.label:
        return 12.0, "name"
    if not left.shapes or left.shapes != right.shapes:
        return 0.0, ""
    words = sum((left.words & right.words).values()) / max(left.words.total(), right.words.total())
    if left.content is not None and left.content == right.content:
        return 10.0 + words, "digest"
    if _are_near(left, right):
        return 6.0 + words, "distance"
    return 1.0 + words, "shape"


def _are_near(left: _Profile, right: _Profile) -> bool:
    distances = [
        relative_distance(mine, other)
        for mine, other in zip(left.tensors, right.tensors, strict=True)
    ]
    return bool(distances) and all(
        distance is not None and distance <= NEAR for distance in distances
    )
