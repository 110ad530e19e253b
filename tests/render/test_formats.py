"""What holds for every format of a report: bounded, the same each time, inert."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from compared import DIFFS, MANY, diff_of

from tracediff.diff import TraceDiff
from tracediff.render.github import LONGEST_SUMMARY, github_annotations, github_summary
from tracediff.render.junit import junit_report
from tracediff.render.markdown import LONGEST_COMMENT, markdown_report
from tracediff.render.sarif import sarif_report

FORMATS: dict[str, Callable[[Sequence[TraceDiff]], str]] = {
    "junit": lambda diffs: junit_report(diffs, title="tracediff"),
    "github": github_annotations,
    "summary": github_summary,
    "markdown": lambda diffs: markdown_report(diffs, title="tracediff"),
    "sarif": sarif_report,
}
ONE_PAIR = 40_000
"""Characters that one pair may take in any format."""


def test_the_unmatched_events_are_many() -> None:
    """The comparison that is to stay small has 10,000 origins."""
    assert len(diff_of("unmatched").frontier) == MANY


@pytest.mark.parametrize("case", DIFFS)
@pytest.mark.parametrize("format_name", FORMATS)
def test_bounded_inert_and_the_same_each_time(format_name: str, case: str) -> None:
    """A report is small, encodable text of printable characters and line feeds."""
    render = FORMATS[format_name]
    report = render([diff_of(case)])
    assert len(report) < ONE_PAIR
    assert report.encode().decode() == report
    assert report.replace("\n", "").isprintable()
    assert render([DIFFS[case][0]()]) == report


@pytest.mark.parametrize("format_name", FORMATS)
def test_many_pairs(format_name: str) -> None:
    """A report on 300 pairs that diverge is no longer than so many single ones."""
    diffs = [replace(diff_of("lone-event"), left=f"traces/{i}.jsonl") for i in range(300)]
    report = FORMATS[format_name](diffs)
    limits = {"github": 10_000, "markdown": LONGEST_COMMENT}
    assert len(report) <= limits.get(format_name, 300 * ONE_PAIR)
    assert format_name != "summary" or len(report.encode()) <= LONGEST_SUMMARY


@pytest.mark.parametrize("format_name", FORMATS)
def test_no_pairs_are_no_success(format_name: str) -> None:
    """A report on nothing says that nothing was compared."""
    assert "there is no pair of traces to compare" in FORMATS[format_name]([])
