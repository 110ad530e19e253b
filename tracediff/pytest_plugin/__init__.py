"""The pytest plugin: records a trace in a test and holds it against a golden beside the test.

Knows pytest. Every pytest run of an environment loads this module, so it loads nothing heavy; what
records and compares is loaded by the first test that asks for it.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tracediff.pytest_plugin.assertion import UPDATE_OPTION, AssertTrace
from tracediff.pytest_plugin.goldens import goldens_folder
from tracediff.pytest_plugin.ledger import Ledger, Uses, to_report
from tracediff.pytest_plugin.summary import summary_lines

if TYPE_CHECKING:
    from tracediff.pytest_plugin.memory_recorder import MemoryRecorder

__all__ = ["AssertTrace"]

_LEDGER = pytest.StashKey[Ledger]()
_COLLECTED = pytest.StashKey[Counter[Path]]()
_CHOSEN = pytest.StashKey[Counter[Path]]()
_USES = pytest.StashKey[Uses]()
_ENDED_EARLY = pytest.StashKey[bool]()


class _ReportReader:
    """Enters into the ledger what the reports of all tests say, those from workers too.

    A worker does not know which goldens the others use. Where two tests used one, the report that
    comes second becomes a failure here, before anything else has seen it.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None]:
        """Take one report, ahead of what counts failures and writes them down."""
        found = getattr(report, "tracediff", None)
        if found is not None:
            problem = self._ledger.claim_all(report.nodeid, found)
            if problem and not report.failed:
                _fail_report(report, problem)
            passed = report.when == "call" and report.passed
            self._ledger.add(report.nodeid, found, passed=passed, failed=report.failed)
        yield


def _fail_report(report: pytest.TestReport, problem: str) -> None:
    report.outcome = "failed"
    report.longrepr = problem
    if hasattr(report, "wasxfail"):
        del report.wasxfail


@pytest.fixture
def trace_recorder(request: pytest.FixtureRequest) -> Generator[MemoryRecorder]:
    """A tracediff.Recorder into memory; @pytest.mark.trace_recorder(...) sets its options."""
    from tracediff.pytest_plugin.memory_recorder import MemoryRecorder

    marker = request.node.get_closest_marker("trace_recorder")
    recorder = MemoryRecorder(*marker.args, **marker.kwargs) if marker else MemoryRecorder()
    yield recorder
    if recorder.unused_events and not request.node.stash.get(_ENDED_EARLY, False):
        warnings.warn(
            f"{request.node.nodeid} recorded a trace and compared it with nothing: end the test "
            "with assert_trace(trace_recorder, NAME), or use trace_recorder.trace()",
            pytest.PytestWarning,
            stacklevel=1,
        )
    recorder.abandon()


@pytest.fixture
def assert_trace(request: pytest.FixtureRequest) -> AssertTrace:
    """Return assert_trace(trace, name), which compares a trace with the golden beside the test."""
    return AssertTrace(request, request.config.stash[_LEDGER], _uses_of(request.node))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that writes goldens."""
    parser.getgroup("tracediff").addoption(
        UPDATE_OPTION,
        action="store_true",
        help="Write the goldens of assert_trace that are missing or differ.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Start the session's ledger, and make the marker known."""
    ledger = config.stash[_LEDGER] = Ledger()
    config.pluginmanager.register(_ReportReader(ledger), "tracediff-reports")
    config.addinivalue_line(
        "markers",
        "trace_recorder(kind, tensors, tolerances, ...): options of the fixture trace_recorder, "
        "which are those of tracediff.Recorder",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Count the tests of each file before any are taken out."""
    config.stash[_COLLECTED] = _count_files(items)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Count the tests of each file that will run."""
    session.config.stash[_CHOSEN] = _count_files(session.items)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, None]:
    """Put on each report what the test did to goldens; under xdist it travels with it."""
    outcome = yield
    if call.excinfo is not None:
        item.stash[_ENDED_EARLY] = True
    folder = goldens_folder(item.path)
    uses = _uses_of(item)
    if uses.used or folder.is_dir():
        tests = _whole_file_tests(item.config, item.path)
        outcome.get_result().tracediff = to_report(folder, tests, uses)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say what was written and which goldens are obsolete."""
    lines = list(summary_lines(config.stash[_LEDGER], config.invocation_params.dir))
    if lines:
        terminalreporter.section("tracediff")
    for line in lines:
        terminalreporter.line(line)


def _uses_of(item: pytest.Item) -> Uses:
    return item.stash.setdefault(_USES, Uses())


def _count_files(items: list[pytest.Item]) -> Counter[Path]:
    return Counter(item.path for item in items)


def _whole_file_tests(config: pytest.Config, test_file: Path) -> int:
    """Return how many tests a file has, 0 where only some of them were chosen to run."""
    collected = config.stash.get(_COLLECTED, Counter())[test_file]
    some_were_named = any("::" in argument for argument in config.args)
    some_were_left_out = collected != config.stash.get(_CHOSEN, Counter())[test_file]
    only_failed = bool(config.getoption("lf", False))
    return 0 if some_were_named or some_were_left_out or only_failed else collected
