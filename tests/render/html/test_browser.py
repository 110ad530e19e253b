"""The report in a real browser: what a reader sees, which keys work, and that nothing else runs."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsers import BOX, BROWSER_MARKS, PHONE, SELECTED, complaints, open_report, requests
from html_traces import EVIL, compared_words, long_chain, with_tensor
from text_runs import main_line, run

from tracediff.comparison import SideBySide, pair_up
from tracediff.render.html.selection import Room, comparisons_to_json

pytestmark = BROWSER_MARKS


def press(browser: Any, *keys: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    for key in keys:
        ActionChains(browser).send_keys(key).perform()


def selected(browser: Any) -> str:
    return str(browser.execute_script(SELECTED).get_attribute("aria-label"))


def shown_event(browser: Any) -> str:
    return str(browser.find_element("css selector", ".event h3 code").text)


def short_stop() -> SideBySide:
    return pair_up(main_line(), run({"max_output_tokens": 3}))


@pytest.mark.parametrize("size", ["desktop", "phone"])
@pytest.mark.parametrize("name", ["text", "long", "tensor", "several"])
def test_first_divergence_is_in_view(
    name: str, size: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """A report opens without complaints or requests, at its first divergence, none too wide."""
    browser = request.getfixturevalue(size)
    long = pair_up(long_chain(3_000), long_chain(3_000, changed=2_000))
    tensors = pair_up(with_tensor(np.arange(600.0)), with_tensor(np.arange(600.0) * 2))
    cases = {"text": [short_stop()], "long": [long], "tensor": [tensors]}
    cases["several"] = [pair_up(main_line(), main_line()), short_stop()]
    fragment = "#c0" if name == "several" else ""
    open_report(browser, tmp_path, *cases[name], fragment=fragment)
    assert complaints(browser) == []
    assert {address.partition("#")[0] for address in requests(browser)} == {
        (tmp_path / "report.html").as_uri()
    }
    assert "origin" in selected(browser)
    box = browser.execute_script(BOX, browser.execute_script(SELECTED))
    top, bottom, left, right, height, width = box
    assert 0 <= top < bottom <= height
    assert 0 <= left < right <= width
    widest = browser.execute_script("return document.documentElement.scrollWidth")
    assert widest <= width


def test_keys(desktop: Any, tmp_path: Path) -> None:
    """Arrows and j, k move by one event, n and p by one divergence, Home and End to the ends."""
    from selenium.webdriver.common.keys import Keys

    open_report(desktop, tmp_path, short_stop())
    assert shown_event(desktop) == "e15"
    steps = [("j", "e16"), ("k", "e15"), ("k", "e14"), ("n", "e15"), ("n", "e16"), ("p", "e15")]
    steps += [("v", "e17"), ("p", "e16"), ("p", "e15")]
    steps += [(Keys.ARROW_DOWN, "e16"), (Keys.ARROW_UP, "e15")]
    steps += [(Keys.HOME, "e00"), ("n", "e15"), (Keys.END, "e24 | e17"), (Keys.PAGE_UP, None)]
    for key, expected in steps:
        press(desktop, key)
        assert expected is None or shown_event(desktop) == expected
    assert desktop.execute_script(SELECTED) is not None


def test_clicks_show_sections_side_by_side(desktop: Any, tmp_path: Path) -> None:
    """A click shows an event with the differing field marked and both its values."""
    open_report(desktop, tmp_path, short_stop())
    press(desktop, "n", "n", "n", "n", "n", "n", "n")
    marked = desktop.find_element("css selector", ".event tr.diverges")
    texts = [cell.text for cell in marked.find_elements("css selector", "td")]
    assert texts == ['"eos"', '"max_tokens"']
    assert "diverges here" in desktop.find_element("css selector", ".event").text
    desktop.find_element("css selector", ".row:has(+ .selected)").click()
    assert shown_event(desktop) == "e21"


@pytest.mark.parametrize(
    ("word", "count"), [("Divergences", 10), ("Only left", 7), ("Equal", 15), ("All", 25)]
)
def test_filters(word: str, count: int, desktop: Any, tmp_path: Path) -> None:
    """A filter shows the events of one standing, and says how many."""
    open_report(desktop, tmp_path, short_stop())
    for button in desktop.find_elements("css selector", ".filter"):
        if word in button.text:
            button.click()
    status = desktop.find_element("css selector", "[role=status]")
    assert status.text == f"{count} of 25 events"


def test_search(desktop: Any, tmp_path: Path) -> None:
    """Typing after / narrows the list to what holds the text; keys there move nothing."""
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait

    open_report(desktop, tmp_path, short_stop())
    press(desktop, "/", "jn", Keys.BACKSPACE, Keys.BACKSPACE, "draining")
    status = desktop.find_element("css selector", "[role=status]")
    WebDriverWait(desktop, 10).until(lambda _: status.text == "1 of 25 events")
    (row,) = desktop.find_elements("css selector", ".row")
    assert "generation.draining" in row.text
    assert shown_event(desktop) == "e15"


def test_hostile_traces_stay_inert(desktop: Any, tmp_path: Path) -> None:
    """Markup in a trace is text: no alert, no element, no other title, no prototype changed."""
    open_report(desktop, tmp_path, compared_words(EVIL))
    press(desktop, "j", "k")
    assert desktop.title == "a report"
    assert desktop.execute_script("return ({}).polluted ?? null") is None
    assert (
        desktop.find_elements("css selector", "img, iframe, object, body > script + script") == []
    )
    assert "</script><script>" in desktop.find_element("css selector", ".event").text
    assert complaints(desktop) == []


def test_long_traces_draw_few_rows(desktop: Any, tmp_path: Path) -> None:
    """Of a long list only the rows in view exist; the last one is reached at once."""
    from selenium.webdriver.common.keys import Keys

    open_report(desktop, tmp_path, pair_up(long_chain(20_000), long_chain(20_000, changed=9)))
    assert len(desktop.find_elements("css selector", ".row")) < 60
    press(desktop, Keys.END)
    assert shown_event(desktop) == "e19999"
    assert desktop.execute_script(SELECTED).get_attribute("aria-posinset") == "20000"


def test_tensor_panel(desktop: Any, tmp_path: Path) -> None:
    """The failed tensor shows its heat map, worst elements and statistics of both sides."""
    arrays = np.zeros((40, 30)), np.zeros((40, 30))
    arrays[1][7, 5] = 2.5
    open_report(desktop, tmp_path, pair_up(*(with_tensor(array) for array in arrays)))
    panel = desktop.find_element("css selector", ".panel.failed")
    assert "[7, 5]" in panel.text
    assert "Statistics" in panel.text
    canvas = panel.find_element("css selector", ".heat canvas")
    pixel = "return [...arguments[0].getContext('2d').getImageData(5, 7, 1, 1).data]"
    assert desktop.execute_script(pixel, canvas) == [84, 15, 94, 255]
    assert (canvas.get_attribute("width"), canvas.get_attribute("height")) == ("30", "40")


def test_picture_panel(desktop: Any, tmp_path: Path) -> None:
    """Pictures stand side by side with where they differ."""
    arrays = np.full((16, 12, 3), 9, np.uint8), np.full((16, 12, 3), 9, np.uint8)
    arrays[1][3, 4] = 200
    open_report(desktop, tmp_path, pair_up(*(with_tensor(array) for array in arrays)))
    names = [n.text for n in desktop.find_elements("css selector", ".picture-row figcaption")]
    assert names == ["left", "right", "difference"]
    right = desktop.find_elements("css selector", ".picture-row canvas")[1]
    pixel = "return [...arguments[0].getContext('2d').getImageData(4, 3, 1, 1).data]"
    assert desktop.execute_script(pixel, right) == [200, 200, 200, 255]


def test_counts_say_where_rows_are_cut(
    desktop: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a page has no room for all rows every filter says how many there are."""
    small = partial(comparisons_to_json, room=Room(rows=1_500))
    monkeypatch.setattr("tracediff.render.html.page.comparisons_to_json", small)
    long = pair_up(long_chain(2_000), long_chain(2_000, changed=900))
    open_report(desktop, tmp_path, long)
    filters = [b.text for b in desktop.find_elements("css selector", ".filter") if b.text]
    assert filters == [
        "All 1,500 of 2,000 shown",
        "Divergences 1",
        "≠ Origin 1",
        "= Equal 1,499 of 1,999 shown",
    ]
    status = desktop.find_element("css selector", "[role=status]").text
    assert status == "1,500 of 1,500 events; this file holds 1,500 of 2,000"


def test_phone(phone: Any, tmp_path: Path) -> None:
    """On a phone an event opens over the list, and its button and Escape lead back."""
    from selenium.webdriver.common.keys import Keys

    open_report(phone, tmp_path, short_stop())
    event = phone.find_element("css selector", ".event")
    assert not event.is_displayed()
    for leave in (
        lambda: press(phone, Keys.ESCAPE),
        lambda: event.find_element("css selector", ".close").click(),
    ):
        phone.execute_script(SELECTED).click()
        assert event.is_displayed()
        assert phone.execute_script("return arguments[0].scrollWidth", event) <= PHONE[0]
        leave()
        assert not event.is_displayed()


def test_theme(desktop: Any, tmp_path: Path) -> None:
    """The button changes from the system's theme to light and to dark."""
    open_report(desktop, tmp_path, short_stop())
    colour = "return getComputedStyle(document.body).backgroundColor"
    system = desktop.execute_script(colour)
    button = desktop.find_element("css selector", "button.theme")
    button.click()
    assert (button.text, desktop.execute_script(colour)) == ("Theme: light", system)
    button.click()
    assert button.text == "Theme: dark"
    assert desktop.execute_script(colour) != system


def test_print(desktop: Any, tmp_path: Path) -> None:
    """On paper all facts unfold and the rows stand in the page."""
    open_report(desktop, tmp_path, short_stop())
    desktop.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert desktop.find_element("css selector", ".verdict details").get_attribute("open")
    assert len(desktop.find_elements("css selector", ".row")) == 25
    desktop.execute_script("dispatchEvent(new Event('afterprint'))")
    assert not desktop.find_element("css selector", ".verdict details").get_attribute("open")
