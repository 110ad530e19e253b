"""What all formats say of several pairs: verdicts, counts, and what is never green."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from compared import DIFFS, diff_of

from tracediff.diff import Outcome, TraceDiff
from tracediff.diff.result import MISSING
from tracediff.render.pairs import (
    Verdict,
    count_outcomes,
    name_of,
    overall_outcome,
    verdict_of,
    with_problems,
    worst_first,
)
from tracediff.render.rule_texts import RULE_TEXTS, rule_of


@pytest.mark.parametrize("case", DIFFS)
def test_outcome_and_rule(case: str) -> None:
    """Every comparison has the outcome and breaks the rule that it is made for."""
    _, outcome, rule = DIFFS[case]
    found = diff_of(case)
    assert found.outcome is outcome
    assert rule_of(found) == (rule or None)


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_passes_or_has_a_rule(outcome: Outcome) -> None:
    """No outcome is without an explanation."""
    found = TraceDiff(outcome, "a", "b")
    rule = rule_of(found)
    assert (rule is None) == (verdict_of(found) is Verdict.PASSED)
    assert rule is None or rule in RULE_TEXTS


OVERALL = {
    "one-alone": (["incomplete"], "incomplete"),
    "equal": (["equal", "equal"], "equal"),
    "within": (["equal", "within-tolerance"], "equal within tolerance"),
    "diverged": (["text", "within-tolerance"], "diverged"),
    "trouble-outranks": (["text", "incomplete", "equal"], "could not say"),
}


@pytest.mark.parametrize("case", OVERALL)
def test_overall_outcome(case: str) -> None:
    """Trouble outranks divergence, which outranks the rest."""
    names, expected = OVERALL[case]
    assert overall_outcome([diff_of(name) for name in names]) == expected


def test_counts_and_order() -> None:
    """The worst comes first; pairs of one verdict stay as they stood."""
    diffs = [diff_of(name) for name in ("equal", "text", "incomplete", "tensor")]
    assert count_outcomes(diffs) == "1 incomplete, 2 diverged, 1 equal"
    assert worst_first(diffs) == [diffs[2], diffs[1], diffs[3], diffs[0]]


def with_unused(*globs: Sequence[str]) -> list[TraceDiff]:
    return [replace(diff_of("equal"), unused_rules=tuple(unused)) for unused in globs]


PROBLEMS: dict[str, tuple[list[TraceDiff], list[str]]] = {
    "nothing": ([], ["there is no pair of traces to compare"]),
    "all-used": (with_unused([]), []),
    "unused": (
        with_unused(["x*"]),
        ["'x*' fits no tensor, event type or name: nothing was compared under it"],
    ),
    "used-in-one-of-two": (with_unused(["x*"], []), []),
}


@pytest.mark.parametrize("case", PROBLEMS)
def test_what_was_not_compared_is_never_green(case: str) -> None:
    """No pairs at all, or a glob that fits nothing anywhere, is trouble in every format."""
    diffs, messages = PROBLEMS[case]
    added = with_problems(diffs)[len(diffs) :]
    assert [problem.message for problem in added] == messages
    assert all(verdict_of(problem) is Verdict.TROUBLE for problem in added)


@pytest.mark.parametrize(
    ("left", "right", "name"),
    [
        pytest.param("a.jsonl", "b.jsonl", "a.jsonl", id="left"),
        pytest.param(MISSING, "b.jsonl", "b.jsonl", id="left-missing"),
        pytest.param(MISSING, MISSING, "all pairs", id="no-file"),
        pytest.param("a\x1b[1m", "b", "a\\x1b[1m", id="escaped"),
    ],
)
def test_names(left: str, right: str, name: str) -> None:
    """A pair is called by left's path, where there is one."""
    assert name_of(TraceDiff(Outcome.EQUAL, left, right)) == name
