"""What the tests of a session did to goldens, put together from their reports.

Knows names and counts only. Each test's part travels on its report as plain JSON, so that under
xdist the process that prints the summary learns of it like any other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracediff.errors import UsageError
from tracediff.pytest_plugin.goldens import list_goldens


@dataclass(slots=True)
class Uses:
    """What one test did: goldens that it used, and what happened to those it may write.

    `written` holds pairs of a path and what was done with it.
    """

    used: list[str] = field(default_factory=list)
    written: list[tuple[str, str]] = field(default_factory=list)


class Ledger:
    """Collects what tests did, and says which goldens have two owners and which have none."""

    def __init__(self) -> None:
        self.written: list[tuple[str, str]] = []
        self._owners: dict[str, str] = {}
        self._used: set[str] = set()
        self._tests: dict[str, int] = {}
        self._passed: defaultdict[str, set[str]] = defaultdict(set)

    def claim(self, golden: str, test: str) -> None:
        """Note that a test uses a golden; raise UsageError where another test does.

        Names that differ in case only are one and the same file on some systems.
        """
        owner = self._owners.setdefault(golden.casefold(), test)
        if owner != test:
            raise UsageError(
                f"the golden {golden} belongs to {owner} already; {test} needs another name"
                f"{_name_hint(golden, owner, test)}"
            )

    def claim_all(self, test: str, found: Mapping[str, Any]) -> str:
        """Claim what a report says a test used; return what is wrong with it, else nothing."""
        try:
            for golden in found["used"]:
                self.claim(golden, test)
        except UsageError as error:
            return str(error)
        return ""

    def add(self, test: str, found: Mapping[str, Any], *, passed: bool, failed: bool) -> None:
        """Take the part of one report: `found` is what `to_report` returned."""
        self.written += [(path, done) for path, done in found["written"]]
        self._used.update(found["used"])
        folder = found["folder"]
        self._tests[folder] = found["tests"]
        if passed:
            self._passed[folder].add(test)
        if failed:
            self._passed[folder].discard(test)

    def find_obsolete(self) -> list[Path]:
        """Return goldens that no test used, of those test files whose tests all ran and passed."""
        return [
            golden
            for folder, tests in sorted(self._tests.items())
            if tests and len(self._passed[folder]) == tests
            for golden in list_goldens(Path(folder))
            if str(golden) not in self._used
        ]


def _name_hint(golden: str, owner: str, test: str) -> str:
    """Return what to write where two tests are one function with different parameters."""
    if owner.partition("[")[0] != test.partition("[")[0]:
        return ""
    return f': put what the parameters are into it, such as f"{Path(golden).stem}-{{parameter}}"'


def to_report(folder: Path, tests: int, uses: Uses) -> dict[str, Any]:
    """Return one test's part as plain JSON, and forget it, so that no phase reports it twice.

    `tests` is how many tests the file has, 0 where not all of them were chosen to run.
    """
    found = {"folder": str(folder), "tests": tests, "used": uses.used, "written": uses.written}
    uses.used, uses.written = [], []
    return found
