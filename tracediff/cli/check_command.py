"""`tracediff check`: is a file a trace, and does it keep its contract?"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from tracediff.cli.exits import ExitStatus, worst_status
from tracediff.cli.output import open_console, print_json, print_problem
from tracediff.contracts import check_trace
from tracediff.errors import TracediffError
from tracediff.events import Trace
from tracediff.render.data import check_to_json, problem_to_json
from tracediff.render.terminal import print_check
from tracediff.storage import read_trace
from tracediff.storage.schema import check_schema

TIMING_ENDING = ".timing.jsonl"

command = typer.Typer(add_completion=False)


@command.command()
def check(
    traces: Annotated[
        list[str], typer.Argument(metavar="TRACE…", help="Trace files; - is standard input.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print the reports as JSON.")] = False,
) -> None:
    """Check schema, structure and contract of traces.

    Exit status: 0 everything holds, 1 a rule is broken, 2 a file could not be read as a trace.
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
            report = check_trace(_read(name))
        except TracediffError as error:
            statuses.append(ExitStatus.COULD_NOT_SAY)
            reports.append(problem_to_json(name, error))
            print_problem(error)
            continue
        statuses.append(ExitStatus.DIVERGED if report.violations else ExitStatus.SAME)
        reports.append(check_to_json(report))
        if not as_json:
            print_check(report, console)
            console.file.flush()
    if as_json:
        print_json(reports)
    raise typer.Exit(worst_status(statuses))


def _read(name: str) -> Trace:
    trace = read_trace(sys.stdin.buffer if name == "-" else name)
    check_schema(trace)
    return trace
