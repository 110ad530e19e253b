"""One server for a module's tests: starting one takes longer than asking it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from local_server import serving


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a server that lets requests ask for faults."""
    with serving(allow_faults=True) as found:
        yield found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder for traces."""
    return tmp_path / "traces"
