"""What reports on several comparisons share: names, verdicts, counts, and what is never green.

Reads finished results. Must not know any format.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum

from tracediff.diff import Outcome, TraceDiff
from tracediff.diff.result import MISSING
from tracediff.render.escape import LONGEST_MESSAGE, visible

ALL_PAIRS = "all pairs"


class Verdict(StrEnum):
    """What a report says of one pair: the three exit statuses in words."""

    PASSED = "passed"
    FAILED = "failed"
    TROUBLE = "could not say"


def verdict_of(diff: TraceDiff) -> Verdict:
    """Return whether a pair is the same, diverges, or could not be compared."""
    if diff.outcome in (Outcome.EQUAL, Outcome.WITHIN_TOLERANCE):
        return Verdict.PASSED
    return Verdict.FAILED if diff.outcome is Outcome.DIVERGED else Verdict.TROUBLE


def with_problems(diffs: Sequence[TraceDiff]) -> list[TraceDiff]:
    """Return the comparisons and, as one more each, what is wrong with all of them together.

    That is: there are none, or a glob of the options fits nothing in any of them. So no format
    reads as passed where the command says that something was not compared.
    """
    return [*diffs, *problems_of(diffs)]


def problems_of(diffs: Sequence[TraceDiff]) -> list[TraceDiff]:
    """Return what is wrong with all comparisons together, each as a result that is no pass."""
    if not diffs:
        return [problem("there is no pair of traces to compare")]
    return [problem(describe_unused(glob)) for glob in unused_in_all(diffs)]


def unused_in_all(diffs: Sequence[TraceDiff]) -> list[str]:
    """Return the globs and rules of the options that fit nothing in any of the comparisons."""
    return sorted(set.intersection(*(set(diff.unused_rules) for diff in diffs)))


def judge_alone(diff: TraceDiff) -> TraceDiff:
    """Return the one comparison there is as it is told alone: never passed with an unused rule.

    What passes has compared nothing under that rule, and its message says so; anything else has
    a warning.
    """
    if not diff.unused_rules:
        return diff
    reasons = [describe_unused(glob) for glob in sorted(diff.unused_rules)]
    if verdict_of(diff) is not Verdict.PASSED:
        return replace(diff, warnings=(*diff.warnings, *reasons))
    return replace(diff, outcome=Outcome.NOTHING_COMPARED, message="; ".join(reasons))


def problem(message: str, outcome: Outcome = Outcome.NOTHING_COMPARED) -> TraceDiff:
    """Return a result about no pair, but about all that was to be compared."""
    return TraceDiff(outcome, MISSING, MISSING, message=message)


def is_problem(diff: TraceDiff) -> bool:
    """Whether a result is about no pair of files."""
    return path_of(diff) is None


def describe_unused(glob: str) -> str:
    """Return what is wrong with a glob or a rule of the options that fits nothing."""
    return f"{glob!r} fits no tensor, event type or name: nothing was compared under it"


def path_of(diff: TraceDiff) -> str | None:
    """Return left's path, right's where left is missing, None for what is about no file."""
    return next((name for name in (diff.left, diff.right) if name and name != MISSING), None)


def name_of(diff: TraceDiff, limit: int = LONGEST_MESSAGE) -> str:
    """Return the printable name of a pair: the golden's path."""
    return visible(path_of(diff) or ALL_PAIRS, limit)


def worst_first(diffs: Sequence[TraceDiff]) -> list[TraceDiff]:
    """Return what could not be compared, then what diverges, then the rest, each as it stood."""
    ranks = [Verdict.TROUBLE, Verdict.FAILED, Verdict.PASSED]
    return sorted(diffs, key=lambda diff: ranks.index(verdict_of(diff)))


def overall_outcome(diffs: Sequence[TraceDiff]) -> str:
    """Return the outcome of all pairs in one word, as the exit status ranks them."""
    if len(diffs) == 1:
        return diffs[0].outcome.value
    verdicts = {verdict_of(diff) for diff in diffs}
    if Verdict.TROUBLE in verdicts:
        return Verdict.TROUBLE.value
    if Verdict.FAILED in verdicts:
        return Outcome.DIVERGED.value
    outcomes = {diff.outcome for diff in diffs}
    return Outcome.WITHIN_TOLERANCE if Outcome.WITHIN_TOLERANCE in outcomes else Outcome.EQUAL


def count_outcomes(diffs: Sequence[TraceDiff]) -> str:
    """Return how many pairs have which outcome, the worst first: `1 diverged, 8 equal`."""
    counts = Counter(diff.outcome for diff in diffs)
    return ", ".join(f"{counts[found]} {found}" for found in reversed(Outcome) if counts[found])
