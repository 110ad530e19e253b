"""A comparison as text for a terminal, worth reading at 80 columns.

Reads finished results. Values from traces are escaped and never interpreted as markup.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from tracediff.diff import Outcome, TraceDiff
from tracediff.render.escape import LONGEST_MESSAGE, visible
from tracediff.render.neighbours import print_neighbours
from tracediff.render.report_lines import next_lines, verdict_lines
from tracediff.render.rows import print_row

if TYPE_CHECKING:
    from tracediff.diff.panels import TensorPanel

STYLES = {
    Outcome.EQUAL: "bold green",
    Outcome.WITHIN_TOLERANCE: "bold green",
    Outcome.DIVERGED: "bold red",
}


def print_diffs(
    diffs: Sequence[TraceDiff],
    console: Console,
    *,
    show_all: bool = False,
    panel: TensorPanel | None = None,
) -> None:
    """Print comparisons one after the other; of several, the equal ones in one line each.

    `panel` is the first divergent tensor of a single comparison.
    """
    if len(diffs) == 1:
        print_diff(diffs[0], console, show_all=show_all, panel=panel)
        return
    for diff in diffs:
        if diff.outcome in (Outcome.EQUAL, Outcome.WITHIN_TOLERANCE):
            console.print(_headline(diff), soft_wrap=True)
        else:
            print_diff(diff, console, show_all=show_all)
    counts = Counter(diff.outcome.value for diff in diffs)
    summary = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    console.print(Text(f"{len(diffs)} pairs: {summary}", "bold"), soft_wrap=True)


def print_diff(
    diff: TraceDiff,
    console: Console,
    *,
    show_all: bool = False,
    panel: TensorPanel | None = None,
) -> None:
    """Print one comparison; `show_all` lists the whole frontier, `panel` is what is drawn."""
    console.print(_headline(diff), soft_wrap=True)
    for label, text in verdict_lines(diff, show_all=show_all):
        print_row(console, label, text)
    if diff.neighbours:
        print_neighbours(diff.neighbours, console)
    if panel is not None:
        # Loaded where there is something to draw.
        from tracediff.render.thumbnails import print_thumbnails

        print_thumbnails(panel, console)
    if diff.neighbours:
        console.print()
    for label, text in next_lines(diff):
        print_row(console, label, text)


def _headline(diff: TraceDiff) -> Text:
    style = STYLES.get(diff.outcome, "bold yellow")
    line = Text.assemble((diff.outcome.value.upper(), style), "  ")
    line.append(f"{visible(diff.left, LONGEST_MESSAGE)} | {visible(diff.right, LONGEST_MESSAGE)}")
    return line
