"""`tracediff map`: proposes rules that say which name of one trace is which of another."""

from __future__ import annotations

from typing import Annotated

import typer

from tracediff.cli.exits import ExitStatus
from tracediff.cli.output import open_console, print_json, print_problem, standard_input
from tracediff.cli.trace_output import check_rules_output
from tracediff.errors import UsageError
from tracediff.events import Trace
from tracediff.storage import read_trace
from tracediff.storage.partial import write_whole

command = typer.Typer(add_completion=False)


@command.command("map")
def map_names(
    left: Annotated[str, typer.Argument(metavar="LEFT", help="Trace whose names are mapped.")],
    right: Annotated[str, typer.Argument(metavar="RIGHT", help="Trace with the other names.")],
    suggest: Annotated[
        bool, typer.Option("--suggest", help="Propose rules, with what speaks for each.")
    ] = False,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="RULES", help="Write the rules to a file."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the proposal as JSON.")] = False,
) -> None:
    """Propose rules for `diff --map`, from order, shapes, digests and distances of two traces.

    Nothing is applied: read the rules, correct them, then run `tracediff diff LEFT RIGHT --map
    RULES`. Exit status: 0 every name has a counterpart, 1 some have none, 2 could not propose.
    """
    # Aligning and drawing load for those who ask for a proposal.
    from tracediff.diff.map_suggestion import suggest_map
    from tracediff.render.map_suggestion import print_suggestion, rules_text, suggestion_to_json

    if not suggest:
        raise UsageError(
            "map proposes rules with --suggest; `diff LEFT RIGHT --map RULES` applies them"
        )
    if left == right == "-":
        raise UsageError("only one of the two traces can come from standard input")
    path = None if output is None else check_rules_output(output, left, right)
    traces = _read(left), _read(right)
    found = suggest_map(*traces)
    if path is not None:
        write_whole(path, rules_text(found).encode())
        print_problem(f"wrote {path}")
    if as_json:
        print_json(suggestion_to_json(found))
    else:
        print_suggestion(found, open_console())
    raise typer.Exit(ExitStatus.SAME if found.is_complete else ExitStatus.DIVERGED)


def _read(name: str) -> Trace:
    return read_trace(standard_input() if name == "-" else name)
