"""Comparisons as a Markdown comment for a pull request, never longer than a comment may be.

Reads finished results. Everything from traces is made inert (`markdown_text`); what does not fit
is left out whole and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from tracediff.diff import Divergence, TensorDifference, TraceDiff
from tracediff.diff.causes.kinds import CAUSE_KINDS
from tracediff.render.escape import visible, visible_pair
from tracediff.render.markdown_text import code, collapsed, fenced, table
from tracediff.render.one_line import (
    LONGEST_VALUE,
    describe_change,
    describe_diff,
    describe_divergence,
    describe_place,
    field_name,
    next_command,
    only_side,
)
from tracediff.render.pairs import (
    Verdict,
    count_outcomes,
    name_of,
    overall_outcome,
    verdict_of,
    with_problems,
    worst_first,
)
from tracediff.render.plain_text import diff_to_text
from tracediff.render.rows import counted
from tracediff.render.rule_texts import RULE_TEXTS, rule_of

LONGEST_COMMENT: Final = 65_536
"""Characters that GitHub accepts as a comment."""

MARKS: Final = {Verdict.PASSED: "✅", Verdict.FAILED: "❌", Verdict.TROUBLE: "⚠️"}
SHOWN_SETTINGS: Final = 8
LONGEST_NAME: Final = 200
LONGEST_CELL: Final = 200
DETAILS_WIDTH: Final = 80
LONGEST_DETAILS: Final = 16_000
"""Characters of the whole report of one pair; the rest of its lines are left out."""

NOTE_SIZE: Final = 400
"""Room that is kept for saying what was left out, once for the table and once for the pairs."""


def markdown_report(diffs: Sequence[TraceDiff], *, title: str) -> str:
    """Return a comment of at most 65,536 characters, the verdict first."""
    return fitted_report(diffs, title=title, limit=LONGEST_COMMENT, size=len)


def fitted_report(
    diffs: Sequence[TraceDiff], *, title: str, limit: int, size: Callable[[str], int]
) -> str:
    """Return the report with as many pairs as fit into `limit`, which `size` measures."""
    found = worst_first(with_problems(diffs))
    worst = verdict_of(found[0])
    heading = f"## {MARKS[worst]} {overall_outcome(found).capitalize()}: {code(visible(title))}"
    parts = [heading, f"{counted(len(found), 'pair')}: {count_outcomes(found)}."]
    if len(found) > 1:
        parts.append(_pairs_table(found, limit // 2, size))
    room = limit - sum(size(part) + 2 for part in parts) - NOTE_SIZE
    told = found if len(found) == 1 else [d for d in found if verdict_of(d) is not Verdict.PASSED]
    parts += _sections(told, room, size)
    return "\n\n".join(parts) + "\n"


def _pairs_table(diffs: Sequence[TraceDiff], limit: int, size: Callable[[str], int]) -> str:
    rows: list[Sequence[str]] = []
    room = limit - NOTE_SIZE
    for row in map(_pair_row, diffs):
        room -= size("".join(row)) + 3 * len(row) + 2
        if room < 0:
            break
        rows.append(row)
    shown = table(("", "trace", "outcome", "what", "cause"), rows)
    return shown + _left_out(diffs[len(rows) :], "not in this table")


def _pair_row(diff: TraceDiff) -> Sequence[str]:
    verdict = verdict_of(diff)
    what = "" if verdict is Verdict.PASSED else code(visible(describe_diff(diff), LONGEST_CELL))
    cause = "" if diff.cause is None else code(diff.cause.kind)
    return MARKS[verdict], code(name_of(diff, LONGEST_NAME)), diff.outcome.value, what, cause


def _sections(diffs: Sequence[TraceDiff], room: int, size: Callable[[str], int]) -> Iterator[str]:
    """Yield a section for each pair while there is room, without its details if need be."""
    for index, diff in enumerate(diffs):
        section = "\n\n".join(_section(diff))
        whole = f"{section}\n\n{_details(diff)}"
        fitting = next((text for text in (whole, section) if size(text) + 2 <= room), None)
        if fitting is None:
            yield _left_out(diffs[index:], "not told in full").lstrip()
            return
        room -= size(fitting) + 2
        yield fitting


def _left_out(diffs: Sequence[TraceDiff], how: str) -> str:
    if not diffs:
        return ""
    return f"\n\n*{counted(len(diffs), 'pair')} {how}, for lack of room: {count_outcomes(diffs)}.*"


def _section(diff: TraceDiff) -> Iterator[str]:
    yield f"### {code(name_of(diff, LONGEST_NAME))}"
    yield from _what(diff)
    rule = rule_of(diff)
    if rule is not None:
        label = "Cause" if rule in CAUSE_KINDS else "Reason"
        yield f"**{label}** {code(rule)}: {RULE_TEXTS[rule]}"
    if diff.cause is not None:
        yield f"> {code(visible(diff.cause.explanation, LONGEST_VALUE * 5))}"
    if diff.visible is not None:
        seen = f"{describe_place(diff.visible)}: {describe_divergence(diff.visible)}"
        yield f"**First visible effect** {code(seen)}"
    yield from _consequences(diff)
    command = next_command(diff)
    if command is not None:
        yield f"**Next**\n\n{fenced(command, 'sh')}"


def _what(diff: TraceDiff) -> Iterator[str]:
    if diff.first is None:
        yield code(visible(describe_diff(diff), LONGEST_VALUE * 10))
        return
    yield f"**First divergence** {code(describe_place(diff.first))}"
    if only_side(diff.first) or _is_of_values(diff.first.tensor):
        yield code(describe_divergence(diff.first))
    yield table(("", "left", "right"), _sides(diff, diff.first))


def _sides(diff: TraceDiff, first: Divergence) -> Iterable[Sequence[str]]:
    """Yield what the two sides hold where they part: each row a label and two cells."""
    yield "trace", code(visible(diff.left, LONGEST_NAME)), code(visible(diff.right, LONGEST_NAME))
    places = (first.left, first.right)
    yield "event", *("*(missing)*" if p is None else code(visible(p.event_id)) for p in places)
    if only_side(first):
        return
    if first.tensor is not None and _is_of_values(first.tensor):
        worst = first.tensor.worst_absolute
        if worst is not None and worst.error:
            place = f"worst error, {worst.error:.6g} at {list(worst.index)}"
            yield code(place), code(repr(worst.left)), code(repr(worst.right))
        return
    values = visible_pair(first.difference.left, first.difference.right, LONGEST_CELL)
    yield code(field_name(first.difference)), *map(code, values)


def _is_of_values(tensor: TensorDifference | None) -> bool:
    """Whether tensors of one type and shape differ in what they hold."""
    return tensor is not None and tensor.evidence != "attributes"


def _consequences(diff: TraceDiff) -> Iterator[str]:
    if diff.triggers:
        shown = [f"- {code(describe_change(found))}" for found in diff.triggers[:SHOWN_SETTINGS]]
        more = len(diff.triggers) - len(shown)
        if more:
            shown.append(f"- and {more} more")
        yield "**Settings that differ**\n\n" + "\n".join(shown)
    others = len(diff.frontier) - 1
    if others > 0:
        yield f"Origins independent of this one: {others}."
    if diff.downstream:
        yield f"Events downstream that diverge too: {sum(diff.downstream.values())}."


def _details(diff: TraceDiff) -> str:
    report = diff_to_text(diff, DETAILS_WIDTH)
    if len(report) > LONGEST_DETAILS:
        cut = report[:LONGEST_DETAILS].rpartition("\n")[0]
        report = f"{cut}\n… ({len(report) - len(cut)} characters of the report left out)"
    return collapsed("Whole report", fenced(report, "text"))
