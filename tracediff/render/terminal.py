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
from tracediff.render.pairs import ALL_PAIRS, is_problem
from tracediff.render.report_lines import next_lines, verdict_lines
from tracediff.render.rows import LABEL_WIDTH, counted, print_row

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
    console.print(Text(summary(diffs, "pair"), "bold"), soft_wrap=True)


def summary(diffs: Sequence[TraceDiff], noun: str) -> str:
    """Return `3 pairs: 2 equal, 1 diverged`, and how many problems concern all of them."""
    pairs = [diff for diff in diffs if not is_problem(diff)]
    counts = Counter(diff.outcome.value for diff in pairs)
    found = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    text = f"{counted(len(pairs), noun)}: {found}" if pairs else f"no {noun} was compared"
    problems = len(diffs) - len(pairs)
    return f"{text}; {counted(problems, 'problem')}, so this is no pass" if problems else text


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
    for label, command in next_lines(diff):
        # To be copied: a command stays on one line, however long.
        console.print(Text.assemble((label.ljust(LABEL_WIDTH), "bold"), command), soft_wrap=True)


def _headline(diff: TraceDiff) -> Text:
    style = STYLES.get(diff.outcome, "bold yellow")
    line = Text.assemble((diff.outcome.value.upper(), style), "  ")
    names = [visible(name, LONGEST_MESSAGE) for name in (diff.left, diff.right)]
    line.append(ALL_PAIRS if is_problem(diff) else " | ".join(names))
    return line
