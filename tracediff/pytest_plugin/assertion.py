"""`assert_trace`: holds a trace against the golden beside the test, or writes it on request.

Loads nothing heavy before it is called.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from tracediff.errors import StorageError, TracediffError, TraceError, UsageError
from tracediff.pytest_plugin.goldens import golden_path
from tracediff.pytest_plugin.ledger import Ledger, Uses

if TYPE_CHECKING:
    import pytest

    from tracediff.diff import DiffOptions
    from tracediff.events import Trace
    from tracediff.pytest_plugin.memory_recorder import MemoryRecorder

UPDATE_OPTION = "--tracediff-update"


class AssertTrace:
    """What the fixture `assert_trace` gives to one test."""

    def __init__(self, request: pytest.FixtureRequest, ledger: Ledger, uses: Uses) -> None:
        self._test: str = request.node.nodeid
        self._test_file: Path = request.path
        self._folder: Path = request.config.invocation_params.dir
        self._command = _update_command(request.config, self._test)
        self._update = bool(request.config.getoption(UPDATE_OPTION))
        self._make_folder: Callable[[str], Path] = request.getfixturevalue(
            "tmp_path_factory"
        ).mktemp
        self._ledger = ledger
        self._uses = uses
        self._claimed: set[str] = set()

    def __call__(
        self,
        trace: Trace | MemoryRecorder | str | Path,
        name: str,
        *,
        tolerance: str | Iterable[str] = (),
        options: DiffOptions | None = None,
        allow_nan: str | Iterable[str] = (),
    ) -> None:
        """Fail unless `trace` is the same as the golden `name`, as `tracediff diff` sees it.

        `trace` is a Trace, the `trace_recorder` of the test, which is closed by this, or the path
        of a trace. `tolerance` takes rules as `--tolerance` does, such as `logits=ulp:4`; they
        come before those of `options`. `allow_nan` takes globs of the tensors in which NaN is
        meant; elsewhere it fails. Each name is used once in a test file. With
        `--tracediff-update` the golden is written before it is compared, unless the trace could
        never pass.

        Raises AssertionError with the terminal report, and UsageError for a wrong request.
        """
        __tracebackhide__ = True
        try:
            problem = self._find_problem(trace, name, tolerance, options, allow_nan)
        except TracediffError as error:
            raise error.with_traceback(None) from None
        if problem:
            raise AssertionError(problem)

    def _find_problem(
        self,
        source: Trace | MemoryRecorder | str | Path,
        name: str,
        tolerance: str | Iterable[str],
        given: DiffOptions | None,
        allow_nan: str | Iterable[str],
    ) -> str:
        """Return why the test fails, an empty string where it does not."""
        from tracediff.pytest_plugin import check

        golden = self._claim(name)
        shown = _shown(golden, self._folder)
        options = check.build_options(given, tolerance)
        try:
            fresh = check.read_fresh(source, golden)
        except (TraceError, StorageError) as error:
            diff = check.unreadable(error, shown, str(source))
            return check.describe_failure(diff, None, golden)
        missing = not golden.exists()
        if missing or self._update:
            check.refuse_as_golden(fresh, options, allow_nan)
        if missing and not self._update:
            return f"there is no golden {shown}; this writes it:\n{self._command}"
        diff = check.compare(golden, shown, fresh, options)
        if self._update:
            if done := check.write_golden(golden, fresh, diff):
                self._uses.written.append((str(golden), done))
            diff = check.compare(golden, shown, fresh, options)
        if diff.outcome not in check.SAME:
            kept = self._make_folder("tracediff") / golden.name
            report = check.describe_failure(diff, fresh, kept)
            return f"{report}If that is intended, this writes the golden anew:\n{self._command}"
        check.refuse_nan(fresh, allow_nan)
        return ""

    def _claim(self, name: str) -> Path:
        """Return the golden's path; raise UsageError for a wrong name and one used before."""
        golden = golden_path(self._test_file, name)
        if name.casefold() in self._claimed:
            raise UsageError(f"this test has used the golden {name!r} already; take another name")
        self._ledger.claim(str(golden), self._test)
        self._claimed.add(name.casefold())
        self._uses.used.append(str(golden))
        return golden


def _shown(path: Path, folder: Path) -> str:
    """Return a path as a user in `folder` would write it."""
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path)


def _update_command(config: pytest.Config, test: str) -> str:
    """Return the command that writes the goldens of one test, for the folder pytest runs in."""
    file, separator, rest = test.partition("::")
    path = os.path.relpath(config.rootpath / file, config.invocation_params.dir)
    return f"pytest {shlex.quote(Path(path).as_posix() + separator + rest)} {UPDATE_OPTION}"
