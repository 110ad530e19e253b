"""The verdict of a comparison as HTML that needs no script.

Reads finished results. Says everything that the terminal report says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from tracediff.diff import Outcome, TraceDiff
from tracediff.render.escape import LONGEST_MESSAGE, visible
from tracediff.render.html.markup import Markup, element, join
from tracediff.render.pairs import ALL_PAIRS, is_problem
from tracediff.render.report_lines import Line, next_lines, verdict_lines

PROMINENT: Final = (
    *("reason", "first", "trigger", "setting", "visible", "tolerated", "compared", "warning"),
    "unused",
)
"""Facts that stand open; the others unfold."""

BRIEF: Final = ("field", "left", "right")
"""What is told of the first divergence at once; the rest is evidence."""

TITLES: Final = {
    "first": "first divergence",
    "visible": "visible effect",
    "origins": "further origins",
    "unused": "unused rule",
    "next": "look closer",
}
"""Labels of the terminal report that have room for more words here."""

GLYPHS: Final = {
    Outcome.EQUAL: "=",
    Outcome.WITHIN_TOLERANCE: "≈",
    Outcome.DIVERGED: "≠",
}
"""Of the outcomes that could be told; all others are a question."""

TONES: Final = {
    Outcome.EQUAL: "good",
    Outcome.WITHIN_TOLERANCE: "good",
    Outcome.DIVERGED: "bad",
}


@dataclass(slots=True)
class _Fact:
    """A label, its lines, and what is told about the last of them."""

    label: str
    lines: list[str]
    more: list[Line] = field(default_factory=list)


def verdict(diff: TraceDiff, heading_id: str) -> Markup:
    """Return the header of one comparison: outcome, names, cause and all facts."""
    facts = _facts(diff)
    cause = [fact for fact in facts if fact.label == "cause"]
    open_facts = [fact for fact in facts if fact.label in PROMINENT]
    folded = [fact for fact in facts if fact not in (*cause, *open_facts)]
    return element(
        "header",
        element("h2", badge(diff.outcome), _names(diff), id=heading_id),
        *[_cause(diff)] if cause else [],
        _fact_list(open_facts),
        *[_folded(folded)] if folded else [],
        class_=f"verdict {tone(diff.outcome)}",
    )


def badge(outcome: Outcome) -> Markup:
    """Return the outcome as a badge, told apart by glyph, word and colour."""
    text = f" {outcome.value.capitalize()}"
    return element("span", glyph(outcome), text, class_=f"badge {tone(outcome)}")


def glyph(outcome: Outcome) -> Markup:
    """Return the sign of an outcome, which a reader of the page aloud leaves out."""
    return element("span", GLYPHS.get(outcome, "?"), class_="glyph", aria_hidden="true")


def tone(outcome: Outcome) -> str:
    """Return the class that colours an outcome: good, bad or open."""
    return TONES.get(outcome, "open")


def _names(diff: TraceDiff) -> Markup:
    if is_problem(diff):
        return element("span", ALL_PAIRS, class_="names")
    left, right = (visible(name, LONGEST_MESSAGE) for name in (diff.left, diff.right))
    return element(
        "span",
        element("span", element("small", "left"), " ", left, class_="name"),
        " ",
        element("span", element("small", "right"), " ", right, class_="name"),
        class_="names",
    )


def _cause(diff: TraceDiff) -> Markup:
    assert diff.cause is not None
    explanation = visible(diff.cause.explanation, LONGEST_MESSAGE)
    kind = element("strong", visible(diff.cause.kind))
    blame = element("small", f"cause, in {visible(diff.cause.component)}")
    return element("p", blame, kind, " ", explanation, class_="cause")


def _facts(diff: TraceDiff) -> list[_Fact]:
    """Return the lines of the report with those that belong together joined."""
    facts: list[_Fact] = []
    unused = [("unused", f"{visible(glob)} fits nothing") for glob in diff.unused_rules]
    for label, text in (*verdict_lines(diff), *unused, *next_lines(diff)):
        if label.startswith(" "):
            facts[-1].more.append((label.strip(), text))
        elif facts and label in ("", facts[-1].label):
            facts[-1].lines.append(text)
        else:
            facts.append(_Fact(label, [text]))
    return [divided for fact in facts for divided in _divided(fact, diff)]


def _divided(fact: _Fact, diff: TraceDiff) -> list[_Fact]:
    """Return the first divergence as what everybody reads, and its evidence by itself."""
    if fact.label != "first":
        return [fact]
    where = [] if diff.line is None else [f"line {diff.line} of {visible(diff.left)}"]
    brief = [entry for entry in fact.more if entry[0] in BRIEF]
    evidence = [entry for entry in fact.more if entry[0] not in BRIEF]
    found = [_Fact("first", [*fact.lines, *where], brief)]
    return [*found, _Fact("evidence", [], evidence)] if evidence else found


def _fact_list(facts: Sequence[_Fact]) -> Markup:
    entries = [
        element("div", element("dt", TITLES.get(fact.label, fact.label)), _content(fact))
        for fact in facts
    ]
    return element("dl", *entries, class_="facts")


def _content(fact: _Fact) -> Markup:
    lines = [element("p", text) for text in fact.lines]
    if fact.label == "next":
        lines = [element("p", element("code", text)) for text in fact.lines]
    more = [element("div", element("dt", label), element("dd", text)) for label, text in fact.more]
    return element("dd", *lines, *[element("dl", *more, class_="more")] if more else [])


def _folded(facts: Sequence[_Fact]) -> Markup:
    names = ", ".join(TITLES.get(fact.label, fact.label) for fact in facts)
    summary = element("summary", "More: ", element("span", names))
    return element("details", summary, _fact_list(facts))


def page_heading(title: str) -> Markup:
    """Return the title as it stands at the top of the page."""
    return join(element("span", "tracediff", class_="brand"), element("h1", visible(title)))
