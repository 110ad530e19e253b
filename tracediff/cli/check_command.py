"""`tracediff check`: is a file a trace, and does it keep its contract?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tracediff.cli.exits import ExitStatus, worst_status
from tracediff.cli.output import open_console, print_json, print_problem, standard_input
from tracediff.cli.progress import show_progress
from tracediff.contracts import check_trace
from tracediff.errors import TracediffError, UsageError
from tracediff.events import Trace
from tracediff.render.contract import print_check
from tracediff.render.data import check_to_json, problem_to_json
from tracediff.storage import read_trace
from tracediff.storage.schema import check_schema

TIMING_ENDING = ".timing.jsonl"
TRACE_ENDINGS = (".jsonl", ".jsonl.gz", ".jsonl.zst")

command = typer.Typer(add_completion=False)


@command.command()
def check(
    traces: Annotated[
        list[str], typer.Argument(metavar="TRACE…", help="Trace files; - is standard input.")
    ],
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="List every rule that was applied.")
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option("-q", "--quiet", help="No progress bar, and nothing of traces that hold."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the reports as JSON.")] = False,
) -> None:
    """Check schema, structure and contract of traces.

    Exit status: 0 everything holds, 1 a rule is broken, 2 a file could not be read as a trace.
    """
    raise typer.Exit(check_all(traces, as_json=as_json, verbose=verbose, quiet=quiet))


def check_all(
    traces: Sequence[str], *, as_json: bool, verbose: bool = False, quiet: bool = False
) -> ExitStatus:
    """Check traces one after the other, print what was found, and return the status of all.

    With `quiet`, nothing is printed of traces that hold.
    """
    statuses: list[ExitStatus] = []
    reports = []
    console = open_console()
    for name in traces:
        if name.endswith(TIMING_ENDING) and len(traces) > 1:
            # A glob over a folder finds the sidecars too.
            print_problem(f"{name} is a timing sidecar and no trace: skipped")
            continue
        try:
            with show_progress(f"checking {name}", quiet=quiet):
                trace = _read(name)
                report = check_trace(trace)
        except TracediffError as error:
            statuses.append(ExitStatus.COULD_NOT_SAY)
            reports.append(problem_to_json(name, error))
            print_problem(error)
            continue
        for warning in trace.warnings:
            print_problem(f"warning: {name}: {warning}")
        statuses.append(ExitStatus.DIVERGED if report.violations else ExitStatus.SAME)
        reports.append(check_to_json(report))
        if not as_json and not (quiet and not report.violations):
            print_check(report, console, verbose=verbose)
            console.file.flush()
    if as_json:
        print_json(reports)
    return worst_status(statuses)


def _read(name: str) -> Trace:
    if name.endswith(TIMING_ENDING) and Path(name).exists():
        raise UsageError(f"{name} is a timing sidecar and no trace; it belongs to {_owner(name)}")
    trace = read_trace(standard_input() if name == "-" else name)
    check_schema(trace)
    return trace


def _owner(sidecar: str) -> str:
    """Return the trace beside which a timing sidecar was written."""
    bare = sidecar.removesuffix(TIMING_ENDING)
    names = [bare + ending for ending in TRACE_ENDINGS]
    return next((name for name in names if Path(name).exists()), names[0])
