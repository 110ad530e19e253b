"""`tracediff import debugmode`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracediff.cli.output import print_json
from tracediff.cli.trace_output import check_output

command = typer.Typer(add_completion=False)


@command.command()
def import_debugmode(
    source: Annotated[
        str, typer.Argument(metavar="LOG", help="What DebugMode.debug_string() returned.")
    ],
    output: Annotated[str, typer.Option("-o", "--output", metavar="TRACE", help="Trace to write.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> None:
    """Record the operators of a log of PyTorch's DebugMode.

    Its hashes show differences only: what agrees in them compares as undecidable.
    """
    # Recording loads numpy, which the list of commands does not need.
    from tracediff.importing.debugmode import import_debugmode as record
    from tracediff.render.rows import counted

    count = record(Path(source), check_output(output, source))
    if as_json:
        print_json({"trace": output, "operators": count})
    else:
        typer.echo(f"{counted(count, 'operator')} in {output}")
