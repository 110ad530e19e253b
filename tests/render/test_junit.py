"""JUnit XML: counts, elements, characters; read back by two parsers."""

from xml.etree import ElementTree

import pytest
from compared import DIFFS, HOSTILE, diff_of
from junitparser import Error, Failure, JUnitXml, TestSuite

from tracediff.render.junit import junit_report
from tracediff.render.pairs import Verdict, verdict_of

ALLOWED = {
    "testsuites": ({"name", "tests", "failures", "errors", "time"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors", "skipped", "time"},
        {"testcase"},
    ),
    "testcase": ({"name", "classname", "time"}, {"failure", "error", "system-out"}),
    "failure": ({"message", "type"}, set()),
    "error": ({"message", "type"}, set()),
    "system-out": (set(), set()),
}
"""Attributes and children that are used; junit-10.xsd of Jenkins' xUnit plugin allows them all."""

REQUIRED = {"testsuites": set(), "testsuite": {"name"}, "testcase": {"name", "classname"}}


def report(*cases: str) -> str:
    return junit_report([diff_of(case) for case in cases], title="tracediff gate")


@pytest.mark.parametrize("case", DIFFS)
def test_only_what_the_schema_allows(case: str) -> None:
    """Each element has the attributes and children that readers know."""
    for element in ElementTree.fromstring(report(case)).iter():
        attributes, children = ALLOWED[element.tag]
        assert REQUIRED.get(element.tag, attributes) <= set(element.attrib) <= attributes
        assert {child.tag for child in element} <= children


@pytest.mark.parametrize("case", DIFFS)
def test_one_case_per_pair(case: str) -> None:
    """A divergence is a failure, trouble an error, all else a test that passed."""
    (suite,) = JUnitXml.fromstring(report(case).encode())
    assert isinstance(suite, TestSuite)
    (found,) = suite
    expected = {Verdict.PASSED: [], Verdict.FAILED: [Failure], Verdict.TROUBLE: [Error]}
    assert [type(result) for result in found.result] == expected[verdict_of(diff_of(case))]
    assert all(result.type == DIFFS[case][2] for result in found.result)


def test_counts() -> None:
    """The counts are those that a parser arrives at by itself."""
    text = report("equal", "text", "within-tolerance", "incomplete", "tensor")
    stated = [(e.tests, e.failures, e.errors) for e in JUnitXml.fromstring(text.encode())]
    counted = JUnitXml.fromstring(text.encode())
    counted.update_statistics()
    assert stated == [(5, 2, 1)]
    assert (counted.tests, counted.failures, counted.errors) == stated[0]


def test_text() -> None:
    """The message is the divergence in a line, the text the report for a terminal."""
    failure = ElementTree.fromstring(report("lone-event")).find(".//failure")
    assert failure is not None
    assert failure.get("message") == (
        "e15 scheduler decode.started, step 3: only left has this event; stop-rule: one side stops "
        "where the other goes on: left ends by eos, right by max_tokens"
    )
    assert failure.text is not None
    assert failure.text.startswith("DIVERGED  traces/golden.jsonl | runs/new.jsonl\n")
    assert "next         tracediff show traces/golden.jsonl --event e15\n" in failure.text


def test_passed_pairs_tell_what_was_compared() -> None:
    """A pair within tolerance passes, and its output says by how much."""
    output = ElementTree.fromstring(report("within-tolerance")).findtext(".//system-out")
    assert output is not None
    assert output.startswith("EQUAL WITHIN TOLERANCE")
    assert "tolerated    largest:" in output


def test_a_hostile_title() -> None:
    """What XML cannot hold is shown."""
    found = ElementTree.fromstring(junit_report([diff_of("equal")], title=HOSTILE))
    assert "\\x1b[31mred" in found.attrib["name"]
    assert "]]>" in found.attrib["name"]
