"""The pairs of events as columns of numbers and one table of strings, compact and quick to read.

Reads finished results. Which pairs are embedded, and how few of the strings, is decided here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from tracediff.diff.result import ComparedPair, Divergence, Standing
from tracediff.events import Event
from tracediff.render.escape import visible, visible_pair, visible_value
from tracediff.render.neighbours import DECISIONS

STANDINGS: Final = (
    Standing.EQUAL,
    Standing.WITHIN_TOLERANCE,
    Standing.ORIGIN,
    Standing.DOWNSTREAM,
)
"""Their positions are the numbers that a page holds."""

LONGEST_NAME: Final = 80
LONGEST_NOTE: Final = 48
NONE: Final = -1


class _Strings:
    """Strings as numbers, each string once."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._shown: dict[tuple[str, int], int] = {}
        self._places: dict[str, int] = {}

    def place(self, text: str) -> int:
        """Return the number of a text that is safe to show."""
        found = self._places.setdefault(text, len(self.texts))
        if found == len(self.texts):
            self.texts.append(text)
        return found

    def name(self, text: str) -> int:
        """Return the number of a name from a trace; a name is escaped once."""
        key = (text[:LONGEST_NAME], len(text))
        found = self._shown.get(key)
        if found is None:
            found = self._shown[key] = self.place(visible(text, LONGEST_NAME))
        return found


def window(pairs: Sequence[ComparedPair], most: int) -> range:
    """Return which pairs are embedded: all, or those around the first divergence."""
    if len(pairs) <= most:
        return range(len(pairs))
    first = first_divergent(pairs)
    start = min(max(0, first - most // 4), len(pairs) - most)
    return range(start, start + most)


def first_divergent(pairs: Sequence[ComparedPair]) -> int:
    """Return the position of the first pair that diverges, 0 where none does."""
    return next((i for i, pair in enumerate(pairs) if pair.divergence is not None), 0)


def rows_to_json(pairs: Sequence[ComparedPair], chosen: range) -> dict[str, Any]:
    """Return the rows of the chosen pairs as columns.

    `left` and `right` are event ids, -1 for a side that lacks the event; component, type and step
    are left's where it has the event, and `other` lists [row, component, type, step] of right
    where they are not the same; `field`, `mine` and `theirs` are the note of a row. `totals` counts
    all pairs, with a row or without: of each standing, only left, only right.
    """
    strings = _Strings()
    number = {standing: place for place, standing in enumerate(STANDINGS)}
    columns: dict[str, list[int]] = {name: [] for name in _COLUMNS}
    other: list[list[int]] = []
    for row, position in enumerate(chosen):
        pair = pairs[position]
        event = pair.left or pair.right
        assert event is not None
        described = _described(strings, event)
        if pair.left is not None and pair.right is not None:
            counterpart = _described(strings, pair.right)
            if counterpart != described:
                other.append([row, *counterpart])
        lane = event.payload.get("lane")
        values = (
            number[pair.standing],
            NONE if pair.left is None else strings.name(pair.left.event_id),
            NONE if pair.right is None else strings.name(pair.right.event_id),
            *described,
            NONE if lane is None else strings.place(visible_value(dict(lane), LONGEST_NOTE)),
            *_note(strings, pair),
        )
        for name, value in zip(_COLUMNS, values, strict=True):
            columns[name].append(value)
    return {
        "total": len(pairs),
        "totals": _count_pairs(pairs),
        "start": chosen.start,
        "strings": strings.texts,
        "columns": columns,
        "other": other,
    }


_COLUMNS: Final = (
    *("standing", "left", "right", "component", "type", "step", "lane"),
    *("field", "mine", "theirs"),
)


def _count_pairs(pairs: Sequence[ComparedPair]) -> list[int]:
    standings = Counter(pair.standing for pair in pairs)
    only_left = sum(pair.right is None for pair in pairs)
    only_right = sum(pair.left is None for pair in pairs)
    return [*(standings[standing] for standing in STANDINGS), only_left, only_right]


def _described(strings: _Strings, event: Event) -> tuple[int, int, int]:
    return strings.name(event.component), strings.name(event.event_type), event.logical_step


def _note(strings: _Strings, pair: ComparedPair) -> tuple[int, int, int]:
    """Return the field that a row shows, and its value on both sides."""
    if pair.divergence is not None:
        return _divergence_note(strings, pair.divergence)
    choice: Any = {} if pair.left is None else pair.left.payload.get("choice", {})
    key = next((key for key in DECISIONS if key in choice), None)
    if key is None:
        return NONE, NONE, NONE
    value = strings.place(visible_value(choice[key], LONGEST_NOTE))
    return strings.place(key), value, value


def _divergence_note(strings: _Strings, divergence: Divergence) -> tuple[int, int, int]:
    if divergence.left is None or divergence.right is None:
        return NONE, NONE, NONE
    difference, tensor = divergence.difference, divergence.tensor
    field = strings.place(visible(difference.field.removeprefix("payload."), LONGEST_NAME))
    if tensor is not None and tensor.evidence != "attributes":
        reason = strings.place(visible(tensor.reason, LONGEST_NAME))
        return field, reason, reason
    left, right = visible_pair(difference.left, difference.right, LONGEST_NOTE)
    return field, strings.place(left), strings.place(right)
