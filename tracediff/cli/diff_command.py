"""`tracediff diff`: compare two traces and name the first event in which they part."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, BinaryIO

import typer
from rich.console import Console

from tracediff.cli.exits import ExitStatus, status_of, worst_status
from tracediff.cli.ignored_files import note_misnamed
from tracediff.cli.map_option import read_name_map
from tracediff.cli.output import print_problem, standard_input
from tracediff.cli.progress import show_progress
from tracediff.cli.report_output import (
    Findings,
    reported_errors,
    settle_reports,
    write_reports,
)
from tracediff.cli.report_plan import FormatOption, OutputOption, ReportPlan
from tracediff.cli.tolerance_option import parse_tolerances
from tracediff.comparison import (
    SideBySide,
    compare_side_by_side,
    diff_files,
    diff_folders,
    first_panel,
    show_pairs,
)
from tracediff.comparison.processes import OnDone
from tracediff.diff import DiffOptions, Outcome, TraceDiff
from tracediff.diff.options import LEVELS, VIEWS
from tracediff.errors import StorageError, UsageError
from tracediff.render.drift import print_drift
from tracediff.render.pairs import describe_unused, unused_in_all
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
            "(rtol, atol), 'next_logits=ulp:4', '*=rel_l2:1e-4'; @FILE takes the rules that "
            "`tracediff calibrate` wrote.",
        ),
    ] = None,
    nan: Annotated[
        str, typer.Option("--nan", metavar="equal|differ", help="What NaN against NaN means.")
    ] = "equal",
    names: Annotated[
        str | None,
        typer.Option(
            "--map",
            metavar="RULES",
            help="File of rules such as 'layers.* -> blocks.*': which of left's names is which of "
            "right's. `tracediff map` proposes them.",
        ),
    ] = None,
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
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress bar.")] = False,
    wanted: Annotated[str | None, FormatOption] = None,
    outputs: Annotated[list[Path] | None, OutputOption] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Same as --format json.")] = False,
) -> None:
    """Compare two traces, or two folders of traces, and name the first event in which they part.

    LEFT or RIGHT may be - for standard input. Traces of two folders are paired by name, and one
    without a counterpart diverges. Exit status: 0 equal or equal within tolerance, 1 diverged,
    2 could not say; of several pairs 2 outranks 1 outranks 0.
    """
    title = f"{left} | {right}"
    plan = settle_reports(wanted, outputs or (), as_json=as_json, inputs=(left, right), title=title)
    if contracts:
        raise typer.Exit(_check_contracts(left, right, plan))
    single = "-" in (left, right) or not Path(left).is_dir()

    with reported_errors(plan, title, (left, right) if single else None):
        options = DiffOptions(
            parse_tolerances(tolerance or ()),
            _one_of("--nan", nan, NAN_CHOICES) == "equal",
            strict_settings,
            tuple(_one_of("--view", name, VIEWS) for name in view or ()),
            None if level is None else _one_of("--level", level, LEVELS),
            tuple(only or ()),
            tuple(skip or ()),
            drift,
            None if names is None else read_name_map(names),
        )
        with show_progress("comparing", quiet=quiet) as tell:
            comparisons = _compare(
                left, right, options, jobs, whole="html" in plan.formats, on_done=tell
            )

        def print_terminal(console: Console, told: Sequence[TraceDiff]) -> None:
            panel = first_panel(told[0]) if single else None
            print_diffs(told, console, show_all=show_all, panel=panel)
            if drift:
                print_drift(told[0].drift, console)

        findings = Findings(title, comparisons, print_terminal, single, show_all)
        write_reports(plan, findings)
    results = findings.results
    if single and plan.standard == "terminal" and results[0].outcome is Outcome.INCOMPARABLE:
        _check_contracts(left, right, ReportPlan())
    unused = unused_in_all(results)
    for glob in unused:
        print_problem(describe_unused(glob))
    statuses = [status_of(result.outcome) for result in results]
    raise typer.Exit(ExitStatus.COULD_NOT_SAY if unused else worst_status(statuses))


def _check_contracts(left: str, right: str, plan: ReportPlan) -> ExitStatus:
    # Contracts and the schema load only for those who ask for them.
    from tracediff.cli.check_command import check_all

    if plan.files or plan.standard not in ("terminal", "json"):
        raise UsageError("--contracts has no report but that of check: terminal or --json")
    return check_all([left, right], as_json=plan.standard == "json")


def _one_of(option: str, value: str, allowed: Sequence[str]) -> str:
    if value not in allowed:
        raise UsageError(f"{option} takes {' or '.join(allowed)}, not {value!r}")
    return value


def _compare(
    left: str,
    right: str,
    options: DiffOptions,
    jobs: int | None,
    *,
    whole: bool,
    on_done: OnDone,
) -> Sequence[SideBySide]:
    """Compare two files or folders; `whole` keeps all pairs of events, as far as they are shown."""
    if left == right == "-":
        raise UsageError("only one of the two traces can come from standard input")
    folders = [name != "-" and Path(name).is_dir() for name in (left, right)]
    if all(folders):
        results = diff_folders(Path(left), Path(right), options, jobs=jobs, on_done=on_done)
        note_misnamed(Path(left), Path(right))
        return show_pairs(results, options) if whole else [SideBySide(diff) for diff in results]
    if any(folders):
        folder, file = (left, right) if folders[0] else (right, left)
        raise UsageError(f"{folder} is a folder and {file} is none: give two files or two folders")
    sources = _source(left), _source(right)
    if whole:
        found = compare_side_by_side(*sources, options)
    else:
        found = SideBySide(diff_files(*sources, options))
    if found.diff.outcome is Outcome.UNREADABLE:
        raise StorageError(found.diff.message)
    if "-" not in (left, right) and Path(left).samefile(right):
        print_problem(f"warning: {left} and {right} are one and the same file")
    return [found]


def _source(name: str) -> str | BinaryIO:
    return standard_input() if name == "-" else name
