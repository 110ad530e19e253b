"""The index of several comparisons in a real browser: failures in view, passes folded, filters."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browsers import BOX, BROWSER_MARKS, complaints, open_report
from html_traces import outcomes
from text_runs import main_line, run

from tracediff.comparison import SideBySide, pair_up

pytestmark = BROWSER_MARKS


def short_stop() -> SideBySide:
    return pair_up(main_line(), run({"max_output_tokens": 3}))


def test_several(desktop: Any, tmp_path: Path) -> None:
    """The index leads to each comparison; the first, which could not be compared, is open."""
    cases = outcomes()
    open_report(desktop, tmp_path, *cases.values())
    links = desktop.find_elements("css selector", ".index a")
    assert links[0].get_attribute("aria-current") == "true"
    assert not links[-1].is_displayed()
    desktop.find_element("css selector", ".index summary").click()
    for number, link in enumerate(links):
        link.click()
        (open_section,) = desktop.find_elements("css selector", ".comparison:not(.closed)")
        assert open_section.get_attribute("id") == f"c{number}"
    assert complaints(desktop) == []


def words(node: Any) -> str:
    """Return the text of a node that lays its parts out side by side."""
    return " ".join(node.text.split())


def folder_of(equal: int, diverged: int) -> list[SideBySide]:
    """Return comparisons with names, the diverged ones last."""
    found = [pair_up(main_line(), main_line())] * equal + [short_stop()] * diverged
    return [
        replace(one, diff=replace(one.diff, left=f"a/l{n:03}.jsonl", right=f"b/l{n:03}.jsonl"))
        for n, one in enumerate(found)
    ]


@pytest.mark.parametrize("size", ["desktop", "phone"])
@pytest.mark.parametrize(("equal", "diverged"), [(2, 1), (39, 1), (0, 60)])
def test_index_shows_what_failed(
    equal: int, diverged: int, size: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """The first failure is in view with its whole badge, name and finding; nothing is too wide."""
    browser = request.getfixturevalue(size)
    open_report(browser, tmp_path, *folder_of(equal, diverged))
    row = browser.find_element("css selector", ".index tbody tr")
    badge, name, finding = row.find_elements("css selector", "td")
    assert (words(badge), name.text) == ("≠ Diverged", f"l{equal:03}.jsonl")
    assert finding.text.startswith("e15 scheduler decode.started, step 3: only left")
    top, bottom, left, right, height, width = browser.execute_script(BOX, row)
    assert 0 <= top < bottom <= height
    assert 0 <= left < right <= width
    assert bottom - top < 90
    assert browser.execute_script(BOX, badge)[3] - browser.execute_script(BOX, badge)[2] > 80
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    shown = [found.is_displayed() for found in browser.find_elements("css selector", ".index a")]
    assert shown == [True] * diverged + [False] * equal


def test_index_filter(phone: Any, tmp_path: Path) -> None:
    """The count of an outcome shows its rows alone, folded ones too; once more shows all."""
    open_report(phone, tmp_path, *folder_of(3, 2))
    counts = phone.find_elements("css selector", ".index h2 button")
    assert [words(count) for count in counts] == ["≠ 2 diverged", "= 3 equal"]
    rows = phone.find_elements("css selector", ".index tbody tr")
    counts[1].click()
    assert [row.is_displayed() for row in rows] == [False] * 2 + [True] * 3
    assert counts[1].get_attribute("aria-pressed") == "true"
    counts[1].click()
    assert all(row.is_displayed() for row in rows)


def test_a_folded_comparison_can_be_named(desktop: Any, tmp_path: Path) -> None:
    """An address with the section of a pass opens the fold that its row is in."""
    open_report(desktop, tmp_path, *folder_of(3, 1), fragment="#c2")
    current = desktop.find_element("css selector", ".index [aria-current]")
    assert current.is_displayed()
    assert current.get_attribute("href").endswith("#c2")
