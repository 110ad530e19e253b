"""The events around the first divergence, left and right side by side.

Reads finished results. Values from traces are escaped and never interpreted as markup.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from tracediff.diff.result import MISSING, ComparedPair, Divergence, Standing
from tracediff.events import Event
from tracediff.render.escape import visible, visible_pair, visible_value

MARKS = {
    Standing.EQUAL: "=",
    Standing.WITHIN_TOLERANCE: "~",
    Standing.ORIGIN: "!",
    Standing.DOWNSTREAM: ".",
}
MARK_STYLES = {Standing.ORIGIN: "bold red", Standing.DOWNSTREAM: "yellow"}
LEGEND = "= the same   ~ within tolerance   ! where they part   . what follows"
DECISIONS = ("text", "token_id", "verdict", "status", "finish_reason")
"""Entries of `choice` that tell most about where in an execution an event is, the best first."""

TOLD_BY_NAMES = ("component", "event_type")
"""Fields whose values the names of the two events show already."""

SHOWN_VALUE = 30
NARROWEST_COLUMN = 24
GAP = 2


def print_neighbours(pairs: Sequence[ComparedPair], console: Console) -> None:
    """Print pairs of events in two columns; below those that part, the field that differs."""
    width = max(NARROWEST_COLUMN, (console.width - GAP) // 2 - GAP)
    console.print()
    _print_columns(console, "  ", Text("left", "bold"), Text("right", "bold"), width)
    types = {event.event_type for pair in pairs for event in (pair.left, pair.right) if event}
    for pair in pairs:
        mark = Text(f"{MARKS[pair.standing]} ", MARK_STYLES.get(pair.standing, "dim"))
        left, right = (
            _name(event, pair.standing, len(types) == 1) for event in (pair.left, pair.right)
        )
        _print_columns(console, mark, left, right, width)
        if pair.left is not None and pair.right is not None and pair.divergence is not None:
            _print_difference(console, pair.divergence, width)
    console.print(Text(LEGEND, "dim"), soft_wrap=True)


def _name(event: Event | None, standing: Standing, alike: bool) -> Text:
    """Return which event it is; with what it decided, where that is the same on both sides.

    Where all are of one type (`alike`), their components tell them apart.
    """
    if event is None:
        return Text(str(MISSING), "dim")
    same = standing in (Standing.EQUAL, Standing.WITHIN_TOLERANCE)
    choice = event.payload.get("choice", {}) if same else {}
    decided = next((choice[key] for key in DECISIONS if key in choice), None)
    return Text.assemble(
        (visible(event.event_id), "bold"),
        f" {visible(event.component if alike else event.event_type)}",
        (f" step {event.logical_step}" if event.logical_step else "", "dim"),
        ("" if decided is None else f" {visible_value(decided, 60)}", "green"),
    )


def _print_difference(console: Console, divergence: Divergence, width: int) -> None:
    """Print the field that differs of both sides, by the last part of its name."""
    difference, tensor = divergence.difference, divergence.tensor
    if difference.field in TOLD_BY_NAMES:
        return
    if tensor is not None and tensor.evidence != "attributes":
        line = Text(f"    {visible(tensor.name)}: {visible(tensor.reason)}", "red")
        line.truncate(console.width, overflow="ellipsis")
        console.print(line, soft_wrap=True)
        return
    name = visible(difference.field.removeprefix("payload.").rpartition(".")[2])
    values = visible_pair(difference.left, difference.right, SHOWN_VALUE)
    left, right = (Text(f"  {name}={value}", "red") for value in values)
    _print_columns(console, "  ", left, right, width)


def _print_columns(console: Console, mark: str | Text, left: Text, right: Text, width: int) -> None:
    cells = [left.copy(), right.copy()]
    cells[0].truncate(width, overflow="ellipsis", pad=True)
    cells[1].truncate(width, overflow="ellipsis")
    line = Text.assemble(mark, cells[0], " " * GAP, cells[1])
    line.rstrip()
    console.print(line, soft_wrap=True)
