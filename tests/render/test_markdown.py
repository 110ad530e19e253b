"""Markdown for a comment: what it says, how long it is, and that nothing in it is alive."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from compared import DIFFS, HOSTILE, diff_of
from markdown_it import MarkdownIt

from tracediff.diff import Outcome, TraceDiff
from tracediff.render.markdown import LONGEST_COMMENT, fitted_report, markdown_report
from tracediff.render.markdown_text import code, fenced

OWN_TAGS = {
    *("h2", "h3", "p", "code", "pre", "strong", "em", "ul", "li", "blockquote"),
    *("table", "thead", "tbody", "tr", "th", "td", "details", "summary"),
}
QUIET = ("code", "pre")
"""Elements in whose text GitHub links and pings nothing."""

OWN_WORDS = re.compile(r"[\w\s.,:*()…✅❌⚠️'-]*")
"""What the program itself writes outside of code: no @, #, $ or address among it."""


class Page(HTMLParser):
    """The tags of a page, and its text outside of code."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []
        self.quoted: list[str] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        quiet = any(tag in self.open for tag in QUIET)
        (self.quoted if quiet else self.text).append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


def rendered(markdown: str) -> Page:
    return Page(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown))


def report(*cases: str) -> str:
    return markdown_report([diff_of(case) for case in cases], title="tracediff gate")


@pytest.mark.parametrize("case", DIFFS)
def test_nothing_is_alive(case: str) -> None:
    """A Markdown reader finds the report's own tags, properly nested, and no value outside code."""
    page = rendered(report(case, "equal"))
    assert set(page.tags) <= OWN_TAGS
    assert page.open == []
    assert all(name == "class" for name, _ in page.attributes)
    assert OWN_WORDS.fullmatch("".join(page.text)), page.text


@pytest.mark.parametrize(
    "text",
    [
        *("@octocat", "#1", "a|b", "\\|", "``", "<b>", "&lt;", "&#64;", "*a* _b_ ~c~", "[a](b)"),
        *("https://a.b", "www.a.b", "WWW.a.b", "me@a.b", ":smile:", "$x$", "![a](b)", "[^1]"),
    ],
)
def test_code_shows_the_text_itself(text: str) -> None:
    """What is read back in a table's cell is the text, and no link could be made of the source."""
    page = rendered(f"| a |\n| --- |\n| {code(text)} |\n")
    assert "".join(page.quoted) == text
    assert page.tags.count("td") == 1
    assert not re.search(r"[@#$]\w|://|www\.", re.sub(r"&#\d+;", "", code(text)))


@pytest.mark.parametrize("text", ["plain", "```", "a ````` b", "~~~", "</details>"])
def test_fences_hold(text: str) -> None:
    """A block ends where its text ends."""
    page = rendered(f"{fenced(text, 'text')}\n\nafter")
    assert "".join(page.quoted) == f"{text}\n"
    assert "".join(page.text).strip() == "after"


SAYS = {
    "equal": ["## ✅ Equal: <code>tracediff gate</code>", "1 pair: 1 equal.", "Whole report"],
    "within-tolerance": ["## ✅ Equal within tolerance:", "tolerated    largest:"],
    "text": [
        "## ❌ Diverged:",
        "**First divergence** <code>step loop step, step 0</code>",
        '| <code>state.value</code> | <code>"a cat"</code> | <code>"a dog"</code> |',
        "```sh\ntracediff show traces/golden.jsonl --event step\n```",
    ],
    "tensor": [
        "**Cause** <code>constant-factor</code>: Every element of a tensor differs by one",
        "| <code>worst error, 3 at &#91;2&#93;</code> | <code>3.0</code> | <code>6.0</code> |",
    ],
    "lone-event": [
        "| event | <code>e15</code> | *(missing)* |",
        "**First visible effect** <code>e17 decoder token.selected, step 4",
        "- <code>settings.max&#95;output&#95;tokens&#58; 8 -&#62; 3</code>",
        "Events downstream that diverge too: 9.",
    ],
    "unmatched": ["Origins independent of this one: 9999."],
    "incomplete": [
        "## ⚠️ Incomplete:",
        "**Reason** <code>could-not-say-incomplete</code>: A file ends before the execution did.",
    ],
    "missing-counterpart": ["## ❌ Diverged:", "there is no such trace"],
}


@pytest.mark.parametrize("case", SAYS)
def test_what_it_says(case: str) -> None:
    """Verdict, place, both values, cause, effect and next command, as far as there are any."""
    text = report(case)
    assert [words for words in SAYS[case] if words not in text] == []


def test_the_verdict_comes_first_and_the_worst_pair_next() -> None:
    """Of several pairs the table lists all, and only those that do not pass are told."""
    lines = report("equal", "text", "incomplete").splitlines()
    assert lines[0] == "## ⚠️ Could not say: <code>tracediff gate</code>"
    assert lines[2] == "3 pairs: 1 incomplete, 1 diverged, 1 equal."
    assert [line[:4] for line in lines[6:9]] == ["| ⚠️", "| ❌ ", "| ✅ "]
    assert sum(line.startswith("### ") for line in lines) == 2


@pytest.mark.parametrize("limit", [10_000, 20_000, LONGEST_COMMENT])
@pytest.mark.parametrize("case", ["lone-event", "hostile-value", "incomplete"])
def test_never_too_long(case: str, limit: int) -> None:
    """What does not fit is left out whole, and counted, at any limit."""
    diffs = [replace(diff_of(case), left=f"traces/{index}.jsonl") for index in range(1_000)]
    text = fitted_report(diffs, title="tracediff gate", limit=limit, size=len)
    assert len(text) <= limit
    table, sections = (len(re.findall(f"(?m)^{start}", text)) for start in (r"\| [❌⚠]", "### "))
    assert f"*{1_000 - table} pairs not in this table, for lack of room: {1_000 - table} " in text
    assert f"*{1_000 - sections} pairs not told in full, for lack of room" in text
    assert set(rendered(text).tags) <= OWN_TAGS


def test_room_is_kept_for_the_notes() -> None:
    """At no limit do the notes on what is left out lead beyond it."""
    diffs = [replace(diff_of("lone-event"), left=f"traces/{index}.jsonl") for index in range(60)]
    for limit in range(6_000, 8_000, 20):
        assert len(fitted_report(diffs, title="tracediff", limit=limit, size=len)) <= limit


def test_a_long_report_is_cut_at_a_line() -> None:
    """The details of one pair are bounded too."""
    many = TraceDiff(Outcome.EQUAL, "a", "b", warnings=tuple(f"warning {i}" for i in range(9_999)))
    text = markdown_report([many], title="tracediff")
    assert re.search(
        r"(?m)^warning +warning \d+\n… \(\d+ characters of the report left out\)$", text
    )
    assert len(text) < LONGEST_COMMENT


def test_a_hostile_title() -> None:
    """The title is a value like any other."""
    page = rendered(markdown_report([diff_of("equal")], title=HOSTILE))
    assert set(page.tags) <= OWN_TAGS
    assert OWN_WORDS.fullmatch("".join(page.text))
