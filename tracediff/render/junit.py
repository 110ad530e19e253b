"""Comparisons as JUnit XML: a test case each; a divergence is a failure, trouble an error.

Uses the elements and attributes that the readers of the format share, and no clock. XML cannot
hold control characters and lone surrogates, not even escaped: all text here is printable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from tracediff.diff import TraceDiff
from tracediff.render.escape import visible
from tracediff.render.one_line import describe_cause, describe_diff
from tracediff.render.pairs import Verdict, name_of, verdict_of, with_problems
from tracediff.render.plain_text import diff_to_text
from tracediff.render.rule_texts import rule_of

WIDTH: Final = 100

_ELEMENTS: Final = {Verdict.FAILED: "failure", Verdict.TROUBLE: "error"}


def junit_report(diffs: Sequence[TraceDiff], *, title: str) -> str:
    """Return an XML document with one test suite of that title."""
    found = with_problems(diffs)
    verdicts = Counter(verdict_of(diff) for diff in found)
    counts = {
        "tests": str(len(found)),
        "failures": str(verdicts[Verdict.FAILED]),
        "errors": str(verdicts[Verdict.TROUBLE]),
    }
    name = visible(title)
    suites = Element("testsuites", {"name": name, **counts, "time": "0"})
    suite = SubElement(suites, "testsuite", {"name": name, **counts, "skipped": "0", "time": "0"})
    for diff in found:
        _add_case(suite, diff, name)
    indent(suites)
    document = tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{document}\n'


def _add_case(suite: Element, diff: TraceDiff, title: str) -> None:
    attributes = {"name": name_of(diff), "classname": title, "time": "0"}
    case = SubElement(suite, "testcase", attributes)
    element = _ELEMENTS.get(verdict_of(diff))
    if element is None:
        SubElement(case, "system-out").text = diff_to_text(diff, WIDTH)
        return
    message = "; ".join(part for part in (describe_diff(diff), describe_cause(diff)) if part)
    reason = {"message": message, "type": rule_of(diff) or ""}
    SubElement(case, element, reason).text = diff_to_text(diff, WIDTH)
