"""`tracediff gate`: do the fixtures, or new traces of the user's own, still give the goldens?"""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tracediff.cli.exits import ExitStatus, status_of, worst_status
from tracediff.cli.golden_folder import GOLDENS
from tracediff.cli.ignored_files import note_misnamed
from tracediff.cli.output import open_console, print_json, print_problem
from tracediff.cli.progress import show_progress
from tracediff.cli.report_output import (
    Findings,
    reported_errors,
    settle_reports,
    write_reports,
)
from tracediff.cli.report_plan import FormatOption, OutputOption, ReportPlan
from tracediff.cli.tolerance_option import parse_tolerances
from tracediff.comparison import SideBySide, compare_side_by_side
from tracediff.diff import DiffOptions, Outcome, TraceDiff
from tracediff.errors import UsageError
from tracediff.gate import (
    Gated,
    GateRules,
    gate_fixtures,
    gate_recorded,
    plan_update,
    write_changes,
)
from tracediff.render.gate import PASSED, print_gate, print_update, update_to_json
from tracediff.render.pairs import describe_unused, unused_in_all

command = typer.Typer(add_completion=False)


@dataclass(frozen=True, slots=True)
class _Request:
    """What is gated: goldens in `folder` against `new`, or against fresh runs of fixtures."""

    folder: Path
    new: Path | None
    fixtures: tuple[str, ...]
    rules: GateRules
    jobs: int | None
    update: bool
    quiet: bool


@command.command()
def gate(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="DIR", help="Folder with the goldens; default: traces/."),
    ] = None,
    new: Annotated[
        Path | None,
        typer.Option(
            "--new",
            metavar="DIR",
            help="Gate the traces in this folder, recorded by you and paired by name, instead of "
            "running fixtures.",
        ),
    ] = None,
    fixtures: Annotated[
        list[str] | None,
        typer.Option(
            "--fixture", metavar="NAME", help="Only goldens of this fixture; may be repeated."
        ),
    ] = None,
    update: Annotated[
        bool,
        typer.Option(
            "--update", help="Rewrite goldens that changed, make those that lack, and say what."
        ),
    ] = False,
    tolerance: Annotated[
        list[str] | None,
        typer.Option(
            "--tolerance", metavar="GLOB=RULE", help="Override a tolerance, as `diff` does."
        ),
    ] = None,
    strict_settings: Annotated[
        bool, typer.Option("--strict-settings", help="Differing settings count as a divergence.")
    ] = False,
    allow_nan: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-nan", metavar="GLOB", help="Tensors in which NaN is meant; may be repeated."
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, help="Processes; default: one a processor.")
    ] = None,
    quiet: Annotated[
        bool,
        typer.Option("-q", "--quiet", help="No progress bar, and no line for goldens that pass."),
    ] = False,
    wanted: Annotated[str | None, FormatOption] = None,
    outputs: Annotated[list[Path] | None, OutputOption] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the reports as JSON.")] = False,
) -> None:
    """Run every golden's fixture again, as the golden was recorded, and compare.

    A fixture or branch without a golden, a golden without a fixture, and NaN that nothing declares
    in a golden's tensors never pass. Exit status: 0 all pass, 1 a golden diverged, 2 could not say;
    2 outranks 1 outranks 0. With --update: 0 done, 2 nothing was written.
    """
    if update and (outputs or wanted not in (None, "terminal", "json")):
        raise UsageError("--update prints what it changes, as text or with --json; gate before it")
    goldens = folder or GOLDENS
    title = f"gate {goldens}"
    inputs = [goldens] if new is None else [goldens, new]
    plan = settle_reports(wanted, outputs or (), as_json=as_json, inputs=inputs, title=title)
    with reported_errors(replace(plan, standard="terminal") if update else plan, title):
        if new is not None and fixtures:
            raise UsageError("--new compares traces of your own: --fixture has no meaning with it")
        options = DiffOptions(parse_tolerances(tolerance or ()), strict_settings=strict_settings)
        rules = GateRules(options, tuple(allow_nan or ()))
        request = _Request(goldens, new, tuple(fixtures or ()), rules, jobs, update, quiet)
        if folder is None:
            _check_default_folder(request)
        with tempfile.TemporaryDirectory(prefix="tracediff-gate-") as staging:
            results = _gate(request, Path(staging))
            note_misnamed(*(Path(name) for name in inputs))
            status = _update(request, results, plan) if update else _report(request, results, plan)
    raise typer.Exit(status)


def _check_default_folder(request: _Request) -> None:
    """Raise UsageError where no folder is named and there is none of the default name."""
    if GOLDENS.is_dir() or (request.update and (request.new or request.fixtures)):
        return
    options = [] if request.new is None else ["--new", str(request.new)]
    options += [word for fixture in request.fixtures for word in ("--fixture", fixture)]
    named = shlex.join(["tracediff", "gate", "DIR", *options])
    made = shlex.join(["tracediff", "gate", *(options or ["--fixture", "NAME"]), "--update"])
    raise UsageError(
        f"there is no folder {GOLDENS} here: name the folder with your goldens, `{named}`, or "
        f"make it, `{made}`"
    )


def _gate(request: _Request, staging: Path) -> Sequence[Gated]:
    if request.new is not None:
        with show_progress("comparing with goldens", quiet=request.quiet) as tell:
            return gate_recorded(
                request.folder,
                request.new,
                request.rules,
                create=request.update,
                jobs=request.jobs,
                on_done=tell,
            )
    with show_progress("running fixtures", quiet=request.quiet) as tell:
        return gate_fixtures(
            request.folder,
            staging,
            request.rules,
            fixtures=request.fixtures,
            create=request.update,
            jobs=request.jobs,
            on_done=tell,
        )


def _report(request: _Request, results: Sequence[Gated], plan: ReportPlan) -> ExitStatus:
    diffs = [result.diff for result in results]

    def print_terminal(console: Console, told: Sequence[TraceDiff]) -> None:
        print_gate(told, console, _update_command(request), quiet=request.quiet)

    # The one format that shows every pair of events needs both traces.
    whole = "html" in plan.formats
    comparisons = [_comparison(result, request.rules.options, whole=whole) for result in results]
    write_reports(plan, Findings(f"gate {request.folder}", comparisons, print_terminal))
    unused = unused_in_all(diffs)
    for glob in unused:
        print_problem(describe_unused(glob))
    statuses = [status_of(diff.outcome) for diff in diffs]
    return ExitStatus.COULD_NOT_SAY if unused else worst_status(statuses)


def _comparison(result: Gated, options: DiffOptions, *, whole: bool) -> SideBySide:
    was_read = result.diff.outcome in (*PASSED, Outcome.DIVERGED)
    if not whole or not was_read or result.new is None or not result.golden.exists():
        return SideBySide(result.diff)
    return replace(compare_side_by_side(result.golden, result.new, options), diff=result.diff)


def _update(request: _Request, results: Sequence[Gated], plan: ReportPlan) -> ExitStatus:
    changes = plan_update(results, request.rules.nan_tensors)
    write_changes(changes)
    if plan.standard == "json":
        print_json(update_to_json(changes))
    else:
        print_update(changes, open_console(), quiet=request.quiet)
    return ExitStatus.SAME


def _update_command(request: _Request) -> str:
    """Return the command that accepts what the new traces do."""
    words = ["tracediff", "gate", str(request.folder)]
    words += [] if request.new is None else ["--new", str(request.new)]
    words += [word for fixture in request.fixtures for word in ("--fixture", fixture)]
    return shlex.join([*words, "--update"])
