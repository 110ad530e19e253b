"""In which formats a report is wanted, and where each of them goes.

Knows formats, files and the terminal. Must not know how a comparison was made.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from tracediff.cli.output import PIPED_WIDTH, print_bytes, print_problem
from tracediff.comparison import SideBySide, with_line
from tracediff.diff import TraceDiff
from tracediff.errors import StorageError, UsageError
from tracediff.storage import encode_json, write_whole

if TYPE_CHECKING:
    from tracediff.render.workspace import Workspace

FORMATS: Final = ("terminal", "json", "junit", "github", "markdown", "sarif", "html")
ENDINGS: Final = {
    ".html": "html",
    ".json": "json",
    ".md": "markdown",
    ".sarif": "sarif",
    ".txt": "terminal",
    ".xml": "junit",
}
"""The format that the ending of a file's name asks for."""

FOR_FILES: Final = ("html", "sarif")
"""Formats that nobody reads in a terminal."""

TRACE_MARK: Final = ".jsonl"

FormatOption = typer.Option(
    "--format",
    metavar="FORMAT",
    help="terminal, json, junit, github, markdown, sarif or html; default: what FILE's name ends "
    "in, else terminal.",
)
OutputOption = typer.Option(
    "-o",
    "--output",
    metavar="FILE",
    help="Write a report to FILE (.html, .json, .md, .sarif, .xml for junit); may be repeated.",
)


@dataclass(frozen=True, slots=True)
class ReportPlan:
    """The format for standard output, and each file with its format."""

    standard: str = "terminal"
    files: tuple[tuple[Path, str], ...] = ()

    @property
    def formats(self) -> frozenset[str]:
        """All formats that are wanted."""
        return frozenset((self.standard, *(wanted for _, wanted in self.files)))


@dataclass(frozen=True, slots=True)
class Findings:
    """What reports are made from: comparisons in order, and how they are told in a terminal.

    `single` says that there is one comparison and not a list of them.
    """

    title: str
    comparisons: Sequence[SideBySide]
    print_terminal: Callable[[], None]
    single: bool = False
    show_all: bool = False

    @property
    def results(self) -> Sequence[TraceDiff]:
        """The results of the comparisons."""
        return [found.diff for found in self.comparisons]


def plan_reports(
    wanted: str | None,
    outputs: Sequence[Path],
    *,
    as_json: bool,
    inputs: Sequence[str | Path],
) -> ReportPlan:
    """Return what goes where; raise UsageError or StorageError before any work is done.

    A file's format is that of its name's ending, else `wanted`; standard output gets `wanted`
    where no file took it, else the terminal report.
    """
    if as_json and wanted not in (None, "json"):
        raise UsageError(f"--json and --format {wanted} ask for two formats: give one of them")
    wanted = "json" if as_json else wanted
    if wanted is not None and wanted not in FORMATS:
        raise UsageError(f"--format takes {', '.join(FORMATS[:-1])} or {FORMATS[-1]}, not {wanted}")
    files = []
    for path in outputs:
        _refuse(path, inputs)
        ending = ENDINGS.get(path.suffix.lower(), wanted)
        if ending is None:
            raise UsageError(f"-o {path}: the ending says no format; give one with --format")
        files.append((path, ending))
    taken = any(chosen == wanted for _, chosen in files)
    standard = "terminal" if wanted is None or taken else wanted
    if standard in FOR_FILES and sys.stdout.isatty():
        raise UsageError(
            f"--format {standard} is not for a terminal: write it to a file with "
            f"-o report.{standard}, or pipe it"
        )
    return ReportPlan(standard, tuple(files))


def write_reports(plan: ReportPlan, findings: Findings) -> None:
    """Write every report that is wanted; raise StorageError for a file that cannot be written."""
    if plan.formats != {"terminal"}:
        findings = replace(findings, comparisons=[_located(one) for one in findings.comparisons])
    # Files first: whoever reads standard output may go away before its end.
    for path, wanted in plan.files:
        write_whole(path, _report(wanted, findings))
        print_problem(f"wrote {path} ({wanted})")
    if "github" in plan.formats:
        _append_step_summary(findings)
    if plan.standard == "terminal":
        findings.print_terminal()
    else:
        print_bytes(_report(plan.standard, findings))


def _located(found: SideBySide) -> SideBySide:
    return replace(found, diff=with_line(found.diff))


def _refuse(path: Path, inputs: Sequence[str | Path]) -> None:
    """Raise where a report at `path` would destroy something or cannot be written."""
    if str(path) == "-":
        raise UsageError("-o takes the name of a file: without -o a report goes to standard output")
    if TRACE_MARK in path.name:
        raise UsageError(f"-o {path} is the name of a trace, which no report may overwrite")
    for name in map(Path, inputs):
        if path.exists() and name.exists() and path.samefile(name):
            raise UsageError(f"-o {path} is one of the inputs, which no report may overwrite")
    if path.is_dir():
        raise UsageError(f"-o {path} is a folder: give the name of a file in it")
    if not path.parent.is_dir():
        raise StorageError(f"cannot write {path}: there is no folder {path.parent}")


def _report(wanted: str, findings: Findings) -> bytes:
    """Return a report as bytes; each format's module loads where it is used."""
    if wanted == "html":
        from tracediff.render.html.page import html_report

        return html_report(findings.comparisons, title=findings.title)
    if wanted == "json":
        return _json_report(findings)
    return _text_report(wanted, findings).encode("utf-8", "backslashreplace")


def _json_report(findings: Findings) -> bytes:
    from tracediff.render.data import diff_to_json, folder_to_json

    results, show_all = findings.results, findings.show_all
    content = (
        diff_to_json(results[0], show_all=show_all)
        if findings.single
        else folder_to_json(results, show_all=show_all)
    )
    return encode_json(content, indent=True) + b"\n"


def _text_report(wanted: str, findings: Findings) -> str:
    if wanted == "terminal":
        from tracediff.render.plain_text import diffs_to_text

        return diffs_to_text(findings.results, PIPED_WIDTH, show_all=findings.show_all)
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
