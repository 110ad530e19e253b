"""`tracediff diff`: compare two traces and name the first event in which they part."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tracediff.cli.exits import status_of
from tracediff.cli.output import open_console, print_json, print_problem
from tracediff.cli.tolerance_option import parse_tolerances
from tracediff.diff import DiffOptions, Outcome, TraceDiff, diff_traces
from tracediff.errors import TraceError, UsageError
from tracediff.events import Trace
from tracediff.render.data import diff_to_json
from tracediff.render.terminal import print_diff
from tracediff.storage import read_trace

command = typer.Typer(add_completion=False)

NAN_CHOICES = ("equal", "differ")


@command.command()
def diff(
    left: Annotated[str, typer.Argument(metavar="LEFT", help="The trace that sets the rules.")],
    right: Annotated[str, typer.Argument(metavar="RIGHT", help="The trace compared with it.")],
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
    strict_settings: Annotated[
        bool, typer.Option("--strict-settings", help="Differing settings count as a divergence.")
    ] = False,
    show_all: Annotated[
        bool, typer.Option("--all", help="List every origin and every differing setting.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Compare two traces and name the first event in which they part.

    LEFT or RIGHT may be - for standard input. Exit status: 0 equal or equal within tolerance,
    1 diverged, 2 could not say.
    """
    if nan not in NAN_CHOICES:
        raise UsageError(f"--nan takes equal or differ, not {nan!r}")
    if left == right == "-":
        raise UsageError("only one of the two traces can come from standard input")
    options = DiffOptions(parse_tolerances(tolerance or ()), nan == "equal", strict_settings)
    result = _compare(left, right, options)
    if as_json:
        print_json(diff_to_json(result))
    else:
        print_diff(result, open_console(), show_all=show_all)
    if "-" not in (left, right) and _same_file(left, right):
        print_problem(f"warning: {left} and {right} are one and the same file")
    raise typer.Exit(status_of(result.outcome))


def _compare(left: str, right: str, options: DiffOptions) -> TraceDiff:
    """Return the comparison; a file that is no whole trace gives its own outcome."""
    traces = []
    for name in (left, right):
        try:
            traces.append(_read(name))
        except TraceError as error:
            return TraceDiff(Outcome(error.outcome), left, right, message=str(error))
    return diff_traces(traces[0], traces[1], options)


def _read(name: str) -> Trace:
    return read_trace(sys.stdin.buffer if name == "-" else name)


def _same_file(left: str, right: str) -> bool:
    return Path(left).samefile(right)
