"""In which formats a report is wanted, and where each of them goes.

Knows formats, names of files and the terminal. Must not know how a report is made.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import typer

from tracediff.errors import StorageError, TracediffError, UsageError

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
    help="Write a report to FILE (.html, .json, .md, .sarif, .txt, .xml for junit); may be "
    "repeated.",
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
    files: list[tuple[Path, str]] = []
    for path in outputs:
        if path.resolve() in [other.resolve() for other, _ in files]:
            raise UsageError(f"-o {path} is given twice; each report needs a file of its own")
        files.append((path, _file_format(path, wanted, inputs)))
    taken = any(chosen == wanted for _, chosen in files)
    standard = "terminal" if wanted is None or taken else wanted
    if standard in FOR_FILES and sys.stdout.isatty():
        raise UsageError(
            f"--format {standard} is not for a terminal: write it to a file with "
            f"-o report.{standard}, or pipe it"
        )
    return ReportPlan(standard, tuple(files))


def plan_usable(
    wanted: str | None, outputs: Sequence[Path], inputs: Sequence[str | Path]
) -> ReportPlan:
    """Return a plan of the files alone that can be written, where others cannot."""
    files: dict[Path, str] = {}
    for path in outputs:
        with suppress(TracediffError, OSError):
            files[path] = _file_format(path, wanted if wanted in FORMATS else None, inputs)
    return ReportPlan(files=tuple(files.items()))


def named_outputs(words: Sequence[str]) -> list[Path]:
    """Return the files that a command line names for reports, whatever else stands in it."""
    found = []
    for word, following in zip(words, (*words[1:], ""), strict=True):
        if word in ("-o", "--output") and following:
            found.append(Path(following))
        elif word.startswith("--output="):
            found.append(Path(word.removeprefix("--output=")))
        elif word.startswith("-o") and len(word) > 2:
            found.append(Path(word.removeprefix("-o")))
    return found


def _file_format(path: Path, wanted: str | None, inputs: Sequence[str | Path]) -> str:
    _refuse(path, inputs)
    ending = ENDINGS.get(path.suffix.lower(), wanted)
    if ending is None:
        raise UsageError(f"-o {path}: the ending says no format; give one with --format")
    return ending


def _refuse(path: Path, inputs: Sequence[str | Path]) -> None:
    """Raise where a report at `path` would destroy something or cannot be written."""
    if str(path) == "-":
        raise UsageError("-o takes the name of a file: without -o a report goes to standard output")
    if TRACE_MARK in path.name.lower():
        raise UsageError(f"-o {path} is the name of a trace, which no report may overwrite")
    for name in map(Path, inputs):
        if path.exists() and name.exists() and path.samefile(name):
            raise UsageError(f"-o {path} is one of the inputs, which no report may overwrite")
    if path.is_dir():
        raise UsageError(f"-o {path} is a folder: give the name of a file in it")
    if not path.parent.is_dir():
        raise StorageError(f"cannot write {path}: there is no folder {path.parent}")
    if path.exists() and not path.is_file():
        raise UsageError(f"-o {path} is no regular file, which a report takes the place of")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise StorageError(f"cannot write {path}: the folder {path.parent} may not be written to")
