"""The index of several comparisons: what failed first, what passed folded below it.

Reads finished results. Needs no script: a browser's own search opens what is folded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath
from typing import Final

from tracediff.diff import Outcome, TraceDiff
from tracediff.render.escape import visible
from tracediff.render.html.header import badge, glyph, tone
from tracediff.render.html.markup import Markup, element
from tracediff.render.one_line import describe_diff
from tracediff.render.pairs import ALL_PAIRS, Verdict, count_outcomes, is_problem, verdict_of
from tracediff.render.report_lines import coverage_text
from tracediff.render.rows import counted

HEADS: Final = ("verdict", "traces", "what was found")

Numbered = tuple[int, TraceDiff]
"""A comparison and the number of its section."""


def index(diffs: Sequence[TraceDiff]) -> Markup:
    """Return one verdict a comparison, each linked to its section; `diffs` are worst first.

    What is wrong with all pairs together has a row too, but is not counted as a comparison.
    """
    pairs = sum(not is_problem(diff) for diff in diffs)
    counts = Counter(diff.outcome for diff in diffs)
    filters = [_filter(found, counts[found]) for found in reversed(Outcome) if counts[found]]
    numbered = list(enumerate(diffs))
    passed = [one for one in numbered if verdict_of(one[1]) is Verdict.PASSED]
    failed = numbered[: len(numbered) - len(passed)]
    return element(
        "nav",
        element("h2", counted(pairs, "comparison"), " ", *filters),
        *[_table(failed)] if failed else [],
        *[_folded(passed, is_open=not failed)] if passed else [],
        class_="index",
        aria_label="comparisons",
    )


def _filter(outcome: Outcome, count: int) -> Markup:
    """Return how many have an outcome, as a button that a script lets show only those."""
    look = {"type": "button", "class_": f"badge {tone(outcome)}", "data_outcome": outcome.value}
    return element("button", glyph(outcome), f" {count} {outcome.value}", disabled="", **look)


def _folded(passed: Sequence[Numbered], *, is_open: bool) -> Markup:
    which = count_outcomes([diff for _, diff in passed])
    summary = element("summary", f"{len(passed)} passed: {which}")
    opened = {"open": ""} if is_open else {}
    return element("details", summary, _table(passed), **opened)


def _table(numbered: Sequence[Numbered]) -> Markup:
    head = element("tr", *(element("th", name, scope="col") for name in HEADS))
    rows = [
        element(
            "tr",
            element("td", badge(diff.outcome)),
            element("td", element("a", _short_names(diff), href=f"#c{number}")),
            element("td", _in_short(diff)),
            data_outcome=diff.outcome.value,
        )
        for number, diff in numbered
    ]
    table = element("table", element("thead", head), element("tbody", *rows))
    return element("div", table, class_="scroll", tabindex="0")


def _short_names(diff: TraceDiff) -> str:
    if is_problem(diff):
        return ALL_PAIRS
    left, right = (visible(PurePath(name).name or name) for name in (diff.left, diff.right))
    return left if left == right else f"{left} | {right}"


def _in_short(diff: TraceDiff) -> str:
    if verdict_of(diff) is Verdict.PASSED:
        return coverage_text(diff.coverage)
    cause = "" if diff.cause is None else f" ({diff.cause.kind})"
    return f"{describe_diff(diff)}{cause}"
