"""A headless chromium for tests of HTML: no network, a profile of its own, its log at hand."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tracediff.comparison import SideBySide
from tracediff.render.html import html_report

SELECTED = "return document.querySelector('.comparison:not(.closed) .row.selected')"
BOX = (
    "const b = arguments[0].getBoundingClientRect();"
    "return [b.top, b.bottom, b.left, b.right, innerHeight, innerWidth]"
)
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
DESKTOP = (1280, 800)
PHONE = (390, 844)
LOGS = {"browser": "ALL", "performance": "ALL"}


def missing_browser() -> str:
    """Return what keeps tests from opening a browser, or nothing."""
    if find_spec("selenium") is None:
        return "the package selenium is not installed: pip install 'tracediff[browser-tests]'"
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            return f"the program {program} is not installed"
    return ""


BROWSER_MARKS = [
    pytest.mark.browser,
    pytest.mark.skipif(bool(missing_browser()), reason=missing_browser()),
    # selenium's own: sockets that its pool of connections leaves to the garbage collector
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
"""Marks of a test file whose tests open browsers."""


@contextmanager
def open_browser(profile: Path, size: tuple[int, int] = DESKTOP, scheme: str = "light") -> Any:
    """Open a browser with a window of `size` pixels; a width below 600 counts as a phone."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for flag in (*FLAGS, f"--user-data-dir={profile / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", LOGS)
    browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        metrics = {"deviceScaleFactor": 1, "mobile": size[0] < 600}
        metrics |= {"width": size[0], "height": size[1]}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        feature = {"name": "prefers-color-scheme", "value": scheme}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        yield browser
    finally:
        browser.quit()


def requests(browser: Any) -> Iterator[str]:
    """Yield the address of everything that the pages so far asked for."""
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            yield message["params"]["request"]["url"]


def complaints(browser: Any) -> list[str]:
    """Return what the pages so far wrote to the console."""
    return [entry["message"] for entry in browser.get_log("browser")]


def open_report(browser: Any, folder: Path, *comparisons: SideBySide, fragment: str = "") -> None:
    """Write a report, open it, and wait for the first selected event, if there is one."""
    from selenium.webdriver.support.ui import WebDriverWait

    path = folder / "report.html"
    path.write_bytes(html_report(comparisons, title="a report"))
    browser.get("about:blank")
    complaints(browser)
    list(requests(browser))
    browser.get(path.as_uri() + fragment)
    if any(compared.pairs for compared in comparisons):
        WebDriverWait(browser, 20).until(lambda b: b.execute_script(SELECTED) is not None)
