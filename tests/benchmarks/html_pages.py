"""The HTML report of large and of small comparisons: its size, and when it answers to a key.

Run as `python tests/benchmarks/html_pages.py`, with chromium, chromium-driver and the extra
`browser-tests` for the last two columns. Prints, for each comparison, seconds to make the page, its
size, and in headless chromium the seconds from opening the file to the first divergence in view and
to the next one after the key n. Not a test.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

from browsers import missing_browser, open_browser
from text_runs import run
from trace_building import chain, event

from tracediff.comparison import SideBySide, pair_up
from tracediff.events import Trace
from tracediff.render.html import html_report

EVENTS = 100_000
UNMATCHED = 10_000
READY = "return document.querySelector('.row.selected') !== null"
SELECTED = "return document.querySelector('.row.selected').id"
PATIENCE = 30


def main() -> None:
    """Make the pages, open them, print the table."""
    table = Table("comparison", "page s", "size kB", "bar kB", "in view s", "next s", "bar s")
    for name, make, size_bar, time_bar in ROWS:
        compared = make()
        start = time.perf_counter()
        page = html_report([compared], title=name)
        made = time.perf_counter() - start
        opened, moved = open_page(page)
        size = f"{len(page) / 1000:.0f}"
        table.add_row(name, f"{made:.2f}", size, size_bar, opened, moved, time_bar)
    Console(width=110).print(table)


def open_page(page: bytes) -> tuple[str, str]:
    """Return seconds until the first divergence is in view, and until the next one is."""
    if missing_browser():
        return "-", "-"
    with tempfile.TemporaryDirectory() as folder, open_browser(Path(folder)) as browser:
        path = Path(folder) / "report.html"
        path.write_bytes(page)
        start = time.perf_counter()
        browser.get(path.as_uri())
        wait(lambda: browser.execute_script(READY))
        opened = time.perf_counter() - start
        before = browser.execute_script(SELECTED)
        start = time.perf_counter()
        browser.find_element("css selector", "body").send_keys("n")
        wait(lambda: browser.execute_script(SELECTED) != before)
        return f"{opened:.2f}", f"{time.perf_counter() - start:.2f}"


def wait(is_done: Callable[[], bool]) -> None:
    """Return when something is done, or after a while."""
    end = time.perf_counter() + PATIENCE
    while not is_done() and time.perf_counter() < end:
        time.sleep(0.01)


def long_trace(token: int) -> Trace:
    """Return a chain of many events, in each of the second half's tenth another token."""
    events = [
        event(
            f"e{number:06}",
            None,
            "token.selected" if number % 3 else "stream.delta",
            component=("decoder", "transport", "scheduler")[number % 3],
            step=number,
            state={"position": number},
            choice={"token_id": number % 977 + token * (number > EVENTS / 2 and number % 10 == 0)},
        )
        for number in range(EVENTS)
    ]
    return chain(*events)


def unmatched_trace(name: str) -> Trace:
    """Return events of which the other trace has none, but for the first."""
    events = [
        event(f"{name}{number}", None, f"{name}.{number}", step=number, state={"position": number})
        for number in range(UNMATCHED)
    ]
    return chain(event("root", state={"n": 1}), *events)


ROWS: tuple[tuple[str, Callable[[], SideBySide], str, str], ...] = (
    ("25 events", lambda: pair_up(run({}), run({"prompt": "为什么天空是蓝色？"})), "300", "3"),
    ("25 events, 3 tokens", lambda: pair_up(run({}), run({"max_output_tokens": 3})), "300", "3"),
    ("100,000 events", lambda: pair_up(long_trace(0), long_trace(1)), "15000", "3"),
    ("10,000 unmatched", lambda: pair_up(unmatched_trace("a"), unmatched_trace("b")), "", ""),
)


if __name__ == "__main__":
    main()
