"""`tracediff diff`: compare two traces and name the first event in which they part."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from tracediff.cli.exits import ExitStatus, status_of, worst_status
from tracediff.cli.output import open_console, print_json, print_problem, standard_input
from tracediff.cli.tolerance_option import parse_tolerances
from tracediff.comparison import diff_files, diff_folders
from tracediff.diff import DiffOptions, Outcome, TraceDiff
from tracediff.diff.options import LEVELS, VIEWS
from tracediff.errors import StorageError, UsageError
from tracediff.render.data import diff_to_json, folder_to_json
from tracediff.render.drift import print_drift
from tracediff.render.terminal import print_diffs

command = typer.Typer(add_completion=False)

NAN_CHOICES = ("equal", "differ")


@command.command()
def diff(
    left: Annotated[
        str, typer.Argument(metavar="LEFT", help="Trace or folder that sets the rules.")
    ],
    right: Annotated[
        str, typer.Argument(metavar="RIGHT", help="Trace or folder compared with it.")
    ],
    tolerance: Annotated[
        list[str] | None,
        typer.Option(
            "--tolerance",
            metavar="GLOB=RULE",
            help="Override a tolerance, such as '*=exact', 'layer.*=allclose:1e-5,1e-6' "
            "(rtol, atol), 'next_logits=ulp:4', '*=rel_l2:1e-4'.",
        ),
    ] = None,
    nan: Annotated[
        str, typer.Option("--nan", metavar="equal|differ", help="What NaN against NaN means.")
    ] = "equal",
    view: Annotated[
        list[str] | None,
        typer.Option("--view", metavar="NAME", help="Normalise: joined-text, unordered-siblings."),
    ] = None,
    level: Annotated[
        str | None,
        typer.Option("--level", metavar="LEVEL", help="Images: latent, pixel or bytes deep."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="GLOB", help="Only these event types, or tensor:GLOB."),
    ] = None,
    skip: Annotated[
        list[str] | None,
        typer.Option("--skip", metavar="GLOB", help="Not these event types, or tensor:GLOB."),
    ] = None,
    contracts: Annotated[
        bool,
        typer.Option("--contracts", help="Check each trace's own contract instead of comparing."),
    ] = False,
    drift: Annotated[
        bool, typer.Option("--drift", help="Print how far each tensor drifted, and draw it.")
    ] = False,
    strict_settings: Annotated[
        bool, typer.Option("--strict-settings", help="Differing settings count as a divergence.")
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", min=1, help="Processes for folders; default: one a processor."),
    ] = None,
    show_all: Annotated[
        bool, typer.Option("--all", help="List every origin and every differing setting.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Compare two traces, or two folders of traces, and name the first event in which they part.

    LEFT or RIGHT may be - for standard input. Traces of two folders are paired by name, and one
    without a counterpart diverges. Exit status: 0 equal or equal within tolerance, 1 diverged,
    2 could not say; of several pairs 2 outranks 1 outranks 0.
    """
    options = DiffOptions(
        parse_tolerances(tolerance or ()),
        _one_of("--nan", nan, NAN_CHOICES) == "equal",
        strict_settings,
        tuple(_one_of("--view", name, VIEWS) for name in view or ()),
        None if level is None else _one_of("--level", level, LEVELS),
        tuple(only or ()),
        tuple(skip or ()),
        drift,
    )
    if contracts:
        raise typer.Exit(_check_contracts(left, right, as_json=as_json))
    results = _compare(left, right, options, jobs)
    is_folder = "-" not in (left, right) and Path(left).is_dir()
    if as_json:
        print_json(folder_to_json(results) if is_folder else diff_to_json(results[0]))
    else:
        console = open_console()
        print_diffs(results, console, show_all=show_all)
        if drift:
            print_drift(results[0].drift, console)
        if not is_folder and results[0].outcome is Outcome.INCOMPARABLE:
            _check_contracts(left, right, as_json=False)
    unused = set.intersection(*(set(result.unused_rules) for result in results))
    for glob in sorted(unused):
        print_problem(f"{glob!r} fits no tensor and no event type: nothing was compared under it")
    statuses = [status_of(result.outcome) for result in results]
    raise typer.Exit(ExitStatus.COULD_NOT_SAY if unused else worst_status(statuses))


def _check_contracts(left: str, right: str, *, as_json: bool) -> ExitStatus:
    # Contracts and the schema load only for those who ask for them.
    from tracediff.cli.check_command import check_all

    return check_all([left, right], as_json=as_json)


def _one_of(option: str, value: str, allowed: Sequence[str]) -> str:
    if value not in allowed:
        raise UsageError(f"{option} takes {' or '.join(allowed)}, not {value!r}")
    return value


def _compare(left: str, right: str, options: DiffOptions, jobs: int | None) -> list[TraceDiff]:
    if left == right == "-":
        raise UsageError("only one of the two traces can come from standard input")
    if "-" in (left, right):
        return [diff_files(_source(left), _source(right), options)]
    folders = [Path(name).is_dir() for name in (left, right)]
    if all(folders):
        return diff_folders(Path(left), Path(right), options, jobs=jobs)
    if any(folders):
        folder, file = (left, right) if folders[0] else (right, left)
        raise UsageError(f"{folder} is a folder and {file} is none: give two files or two folders")
    result = diff_files(left, right, options)
    if result.outcome is Outcome.UNREADABLE:
        raise StorageError(result.message)
    if Path(left).samefile(right):
        print_problem(f"warning: {left} and {right} are one and the same file")
    return [result]


def _source(name: str) -> str | BinaryIO:
    return standard_input() if name == "-" else name
