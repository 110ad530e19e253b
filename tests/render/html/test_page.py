"""The page as a file: complete, inert, bounded, and the same for the same input."""

import base64
import hashlib
import re

import pytest
from html_traces import (
    EVIL,
    HARMLESS,
    LONG,
    compared_words,
    long_chain,
    outcomes,
    unmatched,
    with_state,
)
from page_reading import Page, strings_of
from text_runs import main_line, run

from tracediff.comparison import SideBySide, pair_up
from tracediff.diff import Outcome, TraceDiff
from tracediff.render.html import html_report
from tracediff.render.pairs import Verdict, problem, verdict_of
from tracediff.render.report_lines import next_lines, verdict_lines

CASES = outcomes()


def page_of(*comparisons: SideBySide, title: str = "a title") -> Page:
    return Page(html_report(comparisons, title=title))


@pytest.mark.parametrize("name", CASES)
def test_everything_of_the_terminal_is_there(name: str) -> None:
    """Outcome, names and every line of the report are text that needs no script."""
    diff = CASES[name].diff
    text = page_of(CASES[name]).text
    assert diff.outcome.value.capitalize() in text
    for _, line in (*verdict_lines(diff), *next_lines(diff)):
        said = line.removeprefix(f"{diff.cause.kind}: ") if diff.cause else line
        assert " ".join(said.split()) in text


@pytest.mark.parametrize("name", CASES)
def test_only_its_own_code_runs(name: str) -> None:
    """The policy allows nothing but the hashes of the one script and the one style."""
    page = page_of(CASES[name])

    def hashed(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    (style,) = page.styles
    assert page.policy == (
        f"default-src 'none'; style-src 'sha256-{hashed(style)}'; "
        f"script-src 'sha256-{hashed(page.code)}'; base-uri 'none'; form-action 'none'"
    )


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_loaded(name: str) -> None:
    """No element names another file, carries a handler or a style of its own."""
    page = page_of(CASES[name])
    for _, attributes in page.attributes:
        assert not {"src", "srcset", "style", "action", "data", "poster"} & attributes.keys()
        assert not any(key.startswith("on") for key in attributes)
        assert str(attributes.get("href", "#")).startswith("#")
    assert re.search(r"@import|url\(", "".join(page.styles)) is None
    assert (
        re.search(r"\binnerHTML|\bouterHTML|insertAdjacentHTML|\beval\b|fetch\(", page.code) is None
    )


def test_hostile_words_change_no_element() -> None:
    """A page about hostile traces has the elements of one about harmless traces."""
    hostile, harmless = page_of(compared_words(EVIL), title=EVIL), page_of(compared_words(HARMLESS))
    assert hostile.tags == harmless.tags
    assert hostile.policy == harmless.policy
    (data,) = hostile.data()
    spelled = " ".join(strings_of(data))
    assert not any(character in spelled for character in "\x1b\u202e\u2028\x00\ud800")
    assert "</script>" in spelled


def test_the_same_input_gives_the_same_bytes() -> None:
    """Nothing in a page depends on the clock or on an earlier page."""
    compared = pair_up(run({}), run({"max_output_tokens": 3}))
    assert html_report([compared], title="t") == html_report([compared], title="t")


@pytest.mark.parametrize(
    ("compared", "most"),
    [
        pytest.param(lambda: pair_up(main_line(), run({"max_output_tokens": 3})), 300_000, id="25"),
        pytest.param(lambda: pair_up(main_line(), run({}, "blas")), 300_000, id="25-tensors"),
        pytest.param(
            lambda: pair_up(with_state("y" * LONG), with_state("z" * LONG)), 300_000, id="10-MB"
        ),
        pytest.param(lambda: unmatched(2_000), 1_000_000, id="unmatched"),
    ],
)
def test_size(compared, most: int) -> None:  # type: ignore[no-untyped-def]
    """A page stays small, whatever the traces hold."""
    assert len(html_report([compared()], title="t")) <= most


def test_a_long_string_is_cut_and_its_length_told() -> None:
    """Of ten million characters the first stand in the page, and how many there are."""
    page = page_of(pair_up(with_state("y" * LONG), with_state("z" * LONG)))
    assert f"({LONG} characters)" in page.text
    assert f"({LONG} characters)" in str(page.data())


def test_several() -> None:
    """Of several comparisons an index names each verdict and leads to it, failures first."""
    page = page_of(*CASES.values())
    links = [a["href"] for tag, a in page.attributes if tag == "a"]
    sections = [a["id"] for tag, a in page.attributes if tag == "section"]
    assert links == [f"#{name}" for name in sections] == [f"#c{n}" for n in range(len(CASES))]
    assert f"{len(CASES)} comparisons" in page.text
    assert "7 diverged" in page.text
    outcomes = [a["data-outcome"] for tag, a in page.attributes if tag == "tr" and a]
    verdicts = [verdict_of(CASES[name].diff) for name in CASES]
    assert sorted(outcomes) == sorted(compared.diff.outcome for compared in CASES.values())
    assert outcomes[-verdicts.count(Verdict.PASSED) :] == ["equal", "equal within tolerance"]
    assert "2 passed: 1 equal within tolerance, 1 equal" in page.text


@pytest.mark.parametrize(
    ("names", "folds"),
    [
        pytest.param(["equal", "diverged"], [{}], id="passes-are-folded"),
        pytest.param(["equal", "within"], [{"open": ""}], id="nothing-failed"),
        pytest.param(["tensor", "diverged"], [], id="nothing-passed"),
    ],
)
def test_index_folds_what_passed(names: list[str], folds: list[dict[str, str]]) -> None:
    """Passes are folded below what failed, and stand open where nothing did."""
    page = page_of(*(CASES[name] for name in names))
    inner = [a for tag, a in page.attributes if tag == "details"]
    assert inner[: len(folds)] == folds
    heads = [tag for tag in page.tags if tag == "th"]
    assert len(heads) == 3 * len({verdict_of(CASES[name].diff) for name in names})


def test_every_row_of_the_index_says_something() -> None:
    """No cell of the index is empty: of a pass it says what was compared."""
    text = page_of(*CASES.values()).text
    assert "1 event matched" in text
    assert "settings differ, and count: " in text


def test_what_concerns_all_pairs_is_no_comparison() -> None:
    """A problem of all pairs has a row of its own, and does not count as one of them."""
    page = page_of(CASES["equal"], CASES["diverged"], SideBySide(problem("'zzz' fits nothing")))
    assert "2 comparisons" in page.text
    assert page.text.count("all pairs") == 2
    assert "(missing)" not in page.text


def test_one_needs_no_index() -> None:
    """A single comparison opens directly."""
    assert "nav" not in page_of(CASES["equal"]).tags


def test_events_that_were_not_kept() -> None:
    """A verdict without its pairs says that the events are not in the file."""
    alone = SideBySide(TraceDiff(Outcome.EQUAL, "a", "b"))
    page = page_of(alone)
    assert "The events of this comparison are not in this file." in page.text
    assert page.data() == []


def test_no_comparison() -> None:
    """A page about nothing is refused."""
    with pytest.raises(ValueError, match="at least one"):
        html_report([], title="t")


def test_without_scripts() -> None:
    """A reader without scripts is told what is missing."""
    assert "noscript" in page_of(CASES["equal"]).tags


def test_large_data_is_packed() -> None:
    """Much data is packed, little stays readable; both say the same."""
    for count in (3, 3_000):
        compared = pair_up(long_chain(count), long_chain(count, changed=2))
        (data,) = page_of(compared).data()
        assert len(data["columns"]["standing"]) == data["total"] == count
