"""`tracediff calibrate`: the tolerances that repeated runs of the same work need."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path
from typing import Annotated

import typer

from tracediff.cli.exits import ExitStatus
from tracediff.cli.output import open_console, print_json, print_problem
from tracediff.cli.trace_output import check_rules_output
from tracediff.errors import UsageError
from tracediff.storage import read_trace, write_whole

command = typer.Typer(add_completion=False)


@command.command()
def calibrate(
    runs: Annotated[
        list[str], typer.Argument(metavar="TRACE…", help="Traces of the same work, two or more.")
    ],
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="RULES", help="Write the rules to a file."),
    ] = None,
    margin: Annotated[
        float, typer.Option("--margin", metavar="TIMES", help="Multiplies what was measured.")
    ] = 2.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the calibration as JSON.")] = False,
) -> None:
    """Measure how far repeated runs lie apart, and write the tolerances under which they agree.

    `diff --tolerance @RULES` takes the file. No rule is narrower than the one that holds without
    it. Exit status: 0 the runs agree under the rules, 1 some events differ in what no tolerance
    may absorb, 2 could not say.
    """
    # Aligning and drawing load for those who calibrate.
    from tracediff.calibration import calibrate as measure
    from tracediff.render.calibration import calibration_to_json, evidence_text, print_calibration
    from tracediff.storage.tolerance_file import FiledRule, tolerance_file

    if len(runs) < 2:
        raise UsageError("calibrate compares runs with each other: give two traces or more")
    if not math.isfinite(margin) or margin < 1:
        raise UsageError(f"--margin takes a number of at least 1, not {margin:g}")
    for run, other in combinations(runs, 2):
        if Path(run).exists() and Path(other).exists() and Path(run).samefile(other):
            print_problem(f"warning: {run} and {other} are one and the same file: no second run")
            break
    path = None if output is None else check_rules_output(output, *runs)
    found = measure([read_trace(run) for run in runs], margin)
    if path is not None:
        rules = [FiledRule(rule.rule, evidence_text(rule)) for rule in found.rules]
        write_whole(path, tolerance_file(rules, margin, len(runs)))
        print_problem(f"wrote {path}")
    if as_json:
        print_json(calibration_to_json(found))
    else:
        print_calibration(found, open_console())
    raise typer.Exit(ExitStatus.DIVERGED if found.differences else ExitStatus.SAME)
