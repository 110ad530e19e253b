"""Browsers that all tests of a file share: starting one takes a second."""

from collections.abc import Iterator
from typing import Any

import pytest
from browsers import DESKTOP, PHONE, open_browser


@pytest.fixture(scope="module")
def desktop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A browser with a window as wide as a desk allows."""
    with open_browser(tmp_path_factory.mktemp("desktop"), DESKTOP) as browser:
        yield browser


@pytest.fixture(scope="module")
def phone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A browser as narrow as a phone."""
    with open_browser(tmp_path_factory.mktemp("phone"), PHONE, "dark") as browser:
        yield browser
