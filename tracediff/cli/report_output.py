"""Writes the reports of one command, whatever way it ends.

Knows formats, files and the terminal. Must not know how a comparison was made.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from tracediff.cli.output import PIPED_WIDTH, open_console, print_bytes, print_problem
from tracediff.cli.report_plan import ReportPlan, named_outputs, plan_reports, plan_usable
from tracediff.cli.streams import OutputLost
from tracediff.comparison import SideBySide, with_line
from tracediff.diff import Outcome, TraceDiff
from tracediff.errors import StorageError, TracediffError, UsageError
from tracediff.render.pairs import judge_alone, problem, problems_of, with_problems
from tracediff.render.terminal import print_diffs
from tracediff.storage import encode_json, write_whole
from tracediff.storage.partial import storage_errors

if TYPE_CHECKING:
    from tracediff.render.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Findings:
    """What reports are made from: comparisons in order, and how they are told in a terminal.

    `print_terminal` gets the console, and the results with what is wrong with all of them (of a
    single one, the result as it stands alone). `single` says that there is one comparison and not
    a list of them.
    """

    title: str
    comparisons: Sequence[SideBySide]
    print_terminal: Callable[[Console, Sequence[TraceDiff]], None]
    single: bool = False
    show_all: bool = False

    @property
    def told(self) -> Sequence[TraceDiff]:
        """What the terminal report tells."""
        return [judge_alone(self.results[0])] if self.single else with_problems(self.results)

    @property
    def results(self) -> Sequence[TraceDiff]:
        """The results of the comparisons."""
        return [found.diff for found in self.comparisons]


def settle_reports(
    wanted: str | None,
    outputs: Sequence[Path],
    *,
    as_json: bool,
    inputs: Sequence[str | Path],
    title: str,
) -> ReportPlan:
    """Return what goes where, as `plan_reports`; if one file is refused, the others say so."""
    try:
        return plan_reports(wanted, outputs, as_json=as_json, inputs=inputs)
    except TracediffError as error:
        _report_error(plan_usable(wanted, outputs, inputs), title, error)
        raise


def report_misuse(words: Sequence[str], message: str) -> None:
    """Have the reports named on a command line that was not understood say so.

    A report of an earlier run would be taken for this one's.
    """
    outputs = named_outputs(words)
    names = {str(path) for path in outputs}
    inputs = [word for word in words[1:] if word not in names]
    title = f"tracediff {words[0]}"
    _report_error(plan_usable(None, outputs, inputs), title, UsageError(message))


@contextmanager
def reported_errors(
    plan: ReportPlan, title: str, pair: tuple[str, str] | None = None
) -> Iterator[None]:
    """Have every report that is wanted say so where the block fails, and the error raised again.

    `pair` names the two traces, where there are no more than those. Reports of an earlier run go
    before the block starts: whatever ends it, none of them is taken for this one's.
    """
    for path, _ in plan.files:
        with storage_errors(path):
            path.unlink(missing_ok=True)
    try:
        yield
    except OutputLost:
        raise
    except Exception as error:
        _report_error(plan, title, error, pair)
        raise


def _report_error(
    plan: ReportPlan, title: str, error: Exception, pair: tuple[str, str] | None = None
) -> None:
    """Write all reports that can be written; standard output gets one where a program reads it."""
    is_known = isinstance(error, TracediffError)
    message = str(error) if is_known else f"{type(error).__name__}: {error}"
    outcome = Outcome.NOTHING_COMPARED if isinstance(error, UsageError) else Outcome.UNREADABLE
    found = problem(message, outcome)
    if pair is not None:
        found = replace(found, left=pair[0], right=pair[1])
    findings = Findings(title, [SideBySide(found)], _print_plainly, single=pair is not None)
    # Whatever goes wrong here must not hide the error that there is to tell.
    for path, wanted in plan.files:
        with suppress(Exception):
            _write_file(path, wanted, findings)
    with suppress(Exception):
        _write_standard(plan, findings, tell_terminal=False)


def _print_plainly(console: Console, diffs: Sequence[TraceDiff]) -> None:
    print_diffs(diffs, console)


def write_reports(plan: ReportPlan, findings: Findings) -> None:
    """Write every report that is wanted; raise StorageError for a file that cannot be written.

    What is wrong with all comparisons together, such as a glob that fits nothing, is one more in
    every format, so that none of them reads as passed.
    """
    if plan.formats != {"terminal"}:
        findings = replace(findings, comparisons=[_located(one) for one in findings.comparisons])
    # Files first: whoever reads standard output may go away before its end.
    for path, wanted in plan.files:
        _write_file(path, wanted, findings)
    _write_standard(plan, findings)


def _write_file(path: Path, wanted: str, findings: Findings) -> None:
    write_whole(path, _report(wanted, findings))
    print_problem(f"wrote {path} ({wanted})")


def _write_standard(plan: ReportPlan, findings: Findings, *, tell_terminal: bool = True) -> None:
    if "github" in plan.formats:
        _append_step_summary(findings)
    if plan.standard != "terminal":
        print_bytes(_report(plan.standard, findings))
    elif tell_terminal:
        findings.print_terminal(open_console(), findings.told)


def _located(found: SideBySide) -> SideBySide:
    return replace(found, diff=with_line(found.diff))


def _report(wanted: str, findings: Findings) -> bytes:
    """Return a report as bytes; each format's module loads where it is used."""
    if wanted == "html":
        from tracediff.render.html.page import html_report

        problems = [SideBySide(diff) for diff in problems_of(findings.results)]
        return html_report([*findings.comparisons, *problems], title=findings.title)
    if wanted == "json":
        return _json_report(findings)
    return _text_report(wanted, findings).encode("utf-8", "backslashreplace")


def _json_report(findings: Findings) -> bytes:
    from tracediff.render.data import diff_to_json, folder_to_json

    results, show_all = findings.results, findings.show_all
    content = (
        diff_to_json(judge_alone(results[0]), show_all=show_all)
        if findings.single
        else folder_to_json(results, show_all=show_all)
    )
    return encode_json(content, indent=True) + b"\n"


def _text_report(wanted: str, findings: Findings) -> str:
    if wanted == "terminal":
        from tracediff.render.plain_text import printed_text

        told = findings.told
        return printed_text(lambda console: findings.print_terminal(console, told), PIPED_WIDTH)
    results = findings.results
    if wanted == "junit":
        from tracediff.render.junit import junit_report

        return junit_report(results, title=findings.title)
    if wanted == "github":
        from tracediff.render.github import github_annotations

        return github_annotations(results, workspace=_workspace())
    if wanted == "markdown":
        from tracediff.render.markdown import markdown_report

        return markdown_report(results, title=findings.title)
    from tracediff.render.sarif import sarif_report

    return sarif_report(results, workspace=_workspace())


def _workspace() -> Workspace:
    """Return the checkout, which paths in annotations are relative to, and the current folder."""
    from tracediff.render.workspace import Workspace

    here = Path.cwd()
    return Workspace(Path(os.environ.get("GITHUB_WORKSPACE") or here), here)


def _append_step_summary(findings: Findings) -> None:
    """Add the summary to the page of the step, where GitHub names a file for it."""
    name = os.environ.get("GITHUB_STEP_SUMMARY")
    if not name:
        return
    from tracediff.render.github import github_summary

    text = github_summary(findings.results, title=findings.title)
    try:
        with Path(name).open("ab") as file:
            file.write(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise StorageError(f"cannot write the step summary {name}: {error.strerror}") from error
