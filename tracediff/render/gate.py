"""What a gate found, one line a golden, and what an update changes; worth reading at 80 columns.

Reads finished results. Values from traces are escaped and never interpreted as markup.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from tracediff.diff import Divergence, Outcome, TraceDiff
from tracediff.diff.result import FieldDifference
from tracediff.gate import Change
from tracediff.gate.gated import MISSING
from tracediff.render.data import diff_to_json
from tracediff.render.escape import LONGEST_MESSAGE, visible, visible_pair
from tracediff.render.pairs import ALL_PAIRS, is_problem
from tracediff.render.rows import counted, print_row
from tracediff.render.terminal import STYLES, print_diff, summary

UPDATE_FORMAT = "tracediff-gate-update/1"
PASSED = (Outcome.EQUAL, Outcome.WITHIN_TOLERANCE)
SHOWN_SETTINGS = 3
LONGEST_SETTING = 30
CHANGE_STYLES = {"unchanged": "dim", "rewritten": "bold yellow", "created": "bold green"}


def print_gate(
    diffs: Sequence[TraceDiff], console: Console, update: str, *, quiet: bool = False
) -> None:
    """Print a line for every golden, the whole report of those that diverge, and a summary.

    `update` is the command that accepts what the new traces do. With `quiet`, goldens that pass
    have no line.
    """
    shown = [diff for diff in diffs if not (quiet and diff.outcome in PASSED)]
    width = 2 + max((len(diff.outcome.value) for diff in shown), default=0)
    for diff in shown:
        word = Text(diff.outcome.value.upper().ljust(width), _style(diff))
        _print_line(console, word, _name(diff), _fact(diff))
    for diff in shown:
        if diff.first is not None or _counts_settings(diff):
            console.print()
            print_diff(diff, console)
    if any(diff.first is not None for diff in shown):
        console.print()
    console.print(Text(summary(diffs, "golden"), "bold"))
    if any(_is_change(diff) for diff in diffs):
        print_row(console, "next", f"{visible(update, LONGEST_MESSAGE)}  if all of it is meant")


def print_update(changes: Sequence[Change], console: Console, *, quiet: bool = False) -> None:
    """Print a line for every golden with what becomes of it, and a summary.

    With `quiet`, goldens that stay as they are have no line.
    """
    shown = [change for change in changes if not (quiet and change.kind == "unchanged")]
    width = 2 + max((len(change.kind) for change in shown), default=0)
    for change in shown:
        style = CHANGE_STYLES.get(change.kind, "bold yellow")
        word = Text(change.kind.upper().ljust(width), style)
        _print_line(console, word, str(change.golden), _change_fact(change))
    counts = Counter(change.kind for change in changes)
    found = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    console.print(Text(f"{counted(len(changes), 'golden')}: {found}", "bold"))


def update_to_json(changes: Sequence[Change]) -> dict[str, Any]:
    """Return what an update changed as JSON-ready data."""
    return {
        "format": UPDATE_FORMAT,
        "goldens": [
            {
                "golden": str(change.golden),
                "change": str(change.kind),
                "comparison": diff_to_json(change.diff),
            }
            for change in changes
        ],
    }


def _print_line(console: Console, word: Text, name: str, fact: str) -> None:
    """Print a word and a name, and a fact beside them where there is room, else below."""
    shown = visible(name, LONGEST_MESSAGE)
    indent = word.cell_len
    line = Text.assemble(word, shown)
    if fact and line.cell_len + 2 + Text(fact).cell_len <= console.width:
        console.print(Text.assemble(line, "  ", fact), soft_wrap=True)
        return
    console.print(line, soft_wrap=True)
    if fact:
        print_row(console, "", fact, indent)


def _style(diff: TraceDiff) -> str:
    return STYLES.get(diff.outcome, "bold yellow")


def _name(diff: TraceDiff) -> str:
    """Return the golden's path; of a trace without a golden, its own."""
    if is_problem(diff):
        return ALL_PAIRS
    return diff.right if diff.left == MISSING else diff.left


def _fact(diff: TraceDiff) -> str:
    """Return in one sentence what is to be known about a comparison besides its outcome."""
    if diff.message:
        return visible(diff.message, LONGEST_MESSAGE)
    if diff.first is not None:
        cause = "" if diff.cause is None else f" ({visible(diff.cause.kind)})"
        return f"{_divergence_text(diff.first)}{cause}"
    facts = []
    if diff.worst_within is not None and diff.worst_within.relative_l2 is not None:
        name = visible(diff.worst_within.name)
        facts.append(f"largest: {name}, relative L2 distance {diff.worst_within.relative_l2:.3g}")
    if diff.triggers:
        facts.append(f"settings differ: {_settings_text(diff.triggers)}")
    return "; ".join(facts)


def _settings_text(triggers: Sequence[FieldDifference]) -> str:
    shown = []
    for found in triggers[:SHOWN_SETTINGS]:
        values = visible_pair(found.left, found.right, LONGEST_SETTING)
        name = found.field.removeprefix("payload.").removeprefix("settings.")
        shown.append(f"{visible(name)} {' -> '.join(values)}")
    more = len(triggers) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _divergence_text(divergence: Divergence) -> str:
    place = divergence.left or divergence.right
    assert place is not None
    name = f"{visible(place.event_id)} {visible(place.component)} {visible(place.event_type)}"
    if divergence.left is None or divergence.right is None:
        side = "the golden" if divergence.right is None else "the new trace"
        return f"{name}: only {side} has this event"
    return f"{name}: {visible(divergence.difference.field.removeprefix('payload.'))}"


def _is_change(diff: TraceDiff) -> bool:
    """Whether an update would make the new trace the golden."""
    if diff.outcome is not Outcome.DIVERGED or is_problem(diff):
        return False
    return diff.first is not None or _counts_settings(diff) or diff.left == MISSING


def _counts_settings(diff: TraceDiff) -> bool:
    """Whether nothing but settings makes the traces diverge."""
    return diff.outcome is Outcome.DIVERGED and diff.first is None and not diff.message


def _change_fact(change: Change) -> str:
    if change.kind == "created":
        assert change.trace is not None
        return counted(len(change.trace.events), "event")
    if change.kind == "unchanged":
        return ""
    if change.kind == "rewritten" and change.diff.outcome is Outcome.EQUAL:
        return "equal, but for bytes that are not compared (notes, context, spelling)"
    return _fact(change.diff)
