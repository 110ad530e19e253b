"""Which events are embedded in full: the important ones first, until a page is full.

Reads finished comparisons. Knows sizes and shares them; must not know how anything is laid out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tracediff.diff.panels import TensorPanel, tensor_panels
from tracediff.diff.result import ComparedPair, Standing
from tracediff.render.escape import LONGEST_MESSAGE, visible
from tracediff.render.html.details import detail_to_json
from tracediff.render.html.embedding import json_text
from tracediff.render.html.rows import first_divergent, rows_to_json, window
from tracediff.render.html.tensors import panel_to_json

if TYPE_CHECKING:
    from tracediff.comparison import SideBySide
    from tracediff.events.trace import TensorSource

MOST_REFUSED: Final = 100
"""Events that may be too large for what is left before no further one is tried."""

NEAR: Final = 5

Embedded = TypeVar("Embedded")


@dataclass(frozen=True, slots=True)
class Room:
    """What a page, or what is left of it, may hold; the defaults are a whole page.

    Rows; characters of the strings in them; characters of JSON that all events in full may take,
    before they are packed.
    """

    rows: int = 250_000
    named: int = 16_000_000
    characters: int = 6_000_000

    def divide(self, count: int) -> Room:
        """Return one of `count` equal shares."""
        return Room(self.rows // count, self.named // count, self.characters // count)

    def without(self, used: Room) -> Room:
        """Return what is left."""
        return Room(
            max(0, self.rows - used.rows),
            max(0, self.named - used.named),
            max(0, self.characters - used.characters),
        )


def comparisons_to_json(
    comparisons: Sequence[SideBySide],
    embed: Callable[[dict[str, Any]], Embedded],
    room: Room | None = None,
) -> dict[int, Embedded]:
    """Return what `embed` makes of each comparison that has pairs, by position.

    The smallest comes first and may have an equal share of the room; what it does not need is for
    all that follow. So nothing is cut as long as everything fits.
    """
    left = room or Room()
    sizes = {place: len(found.pairs) for place, found in enumerate(comparisons) if found.pairs}
    embedded = {}
    for done, place in enumerate(sorted(sizes, key=lambda place: sizes[place])):
        data, used = comparison_to_json(comparisons[place], left.divide(len(sizes) - done))
        left = left.without(used)
        embedded[place] = embed(data)
    return embedded


def comparison_to_json(compared: SideBySide, room: Room) -> tuple[dict[str, Any], Room]:
    """Return the rows of a comparison, as many of its events in full as fit, and what they take.

    One row is there however little room there is.
    """
    chosen, rows = _rows(compared.pairs, room)
    details = {}
    taken = 0
    for row, detail, length in _details(compared, chosen, room.characters):
        details[row] = detail
        taken += length
    names = compared.diff.left, compared.diff.right
    data = {
        "names": [visible(name, LONGEST_MESSAGE) for name in names],
        **rows,
        "visible": _visible_row(compared, chosen),
        "details": [[row, details[row]] for row in sorted(details)],
    }
    return data, Room(len(chosen), _named(rows), taken)


def _rows(pairs: Sequence[ComparedPair], room: Room) -> tuple[range, dict[str, Any]]:
    """Return which pairs have rows, and the rows: fewer where their strings are very long."""
    most = max(1, room.rows)
    while True:
        chosen = window(pairs, most)
        rows = rows_to_json(pairs, chosen)
        if most == 1 or _named(rows) <= room.named:
            return chosen, rows
        most = max(1, len(chosen) // 2)


def _named(rows: dict[str, Any]) -> int:
    return sum(map(len, rows["strings"]))


def _visible_row(compared: SideBySide, chosen: range) -> int | None:
    """Return the row of the first visible effect, None where there is none or no row of it."""
    seen = compared.diff.visible
    if seen is None:
        return None
    ids = tuple(None if place is None else place.event_id for place in (seen.left, seen.right))
    for position in chosen:
        pair = compared.pairs[position]
        sides = pair.left, pair.right
        if tuple(None if event is None else event.event_id for event in sides) == ids:
            return position - chosen.start
    return None


def _details(
    compared: SideBySide, chosen: range, characters: int
) -> Iterator[tuple[int, dict[str, Any], int]]:
    """Yield rows with their events in full and their lengths, the most important ones first."""
    traces = compared.left, compared.right
    sources = [None if trace is None else trace.tensors for trace in traces]
    refused = 0
    for position in _by_importance(compared.pairs, chosen):
        pair = compared.pairs[position]
        detail = detail_to_json(pair)
        size = len(json_text(detail))
        if size > characters:
            refused += 1
            if refused > MOST_REFUSED:
                return
            continue
        panels = list(_panels(pair, sources, characters - size))
        detail["panels"] = [found for found, _ in panels if found is not None]
        detail["panelsLeftOut"] = len(panels) - len(detail["panels"])
        length = size + sum(length for _, length in panels)
        characters -= length
        yield position - chosen.start, detail, length


def _panels(
    pair: ComparedPair, sources: Sequence[TensorSource | None], characters: int
) -> Iterator[tuple[dict[str, Any] | None, int]]:
    """Yield tensor panels and their lengths, pictures first, then the failed one.

    None stands for a panel that there is no room for.
    """
    panels = tensor_panels(pair, sources[0], sources[1])
    for panel in sorted(panels, key=lambda panel: not _is_picture(panel)):
        found = panel_to_json(panel)
        length = len(json_text(found))
        if length > characters:
            yield None, 0
            continue
        characters -= length
        yield found, length


def _is_picture(panel: TensorPanel) -> bool:
    return panel.pictures is not None and not panel.pictures.is_latent


def _by_importance(pairs: Sequence[ComparedPair], chosen: range) -> Iterator[int]:
    """Yield positions: what is near the first divergence, origins, other divergences, the rest."""
    first = first_divergent(pairs)
    around = sorted(range(first - NEAR, first + NEAR + 1), key=lambda p: abs(p - first))
    near = [position for position in around if position in chosen]
    origins = (p for p in chosen if pairs[p].standing is Standing.ORIGIN)
    divergent = (p for p in chosen if pairs[p].divergence is not None)
    seen: set[int] = set()
    for group in (near, origins, divergent, chosen):
        for position in group:
            if position not in seen:
                seen.add(position)
                yield position
