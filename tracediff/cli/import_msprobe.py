"""`tracediff import msprobe`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracediff.cli.output import print_json
from tracediff.cli.trace_output import check_output

command = typer.Typer(add_completion=False)


@command.command()
def import_msprobe(
    source: Annotated[str, typer.Argument(metavar="DUMP.json", help="The dump.json of msprobe.")],
    output: Annotated[str, typer.Option("-o", "--output", metavar="TRACE", help="Trace to write.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> None:
    """Record the calls of an msprobe dump, for PyTorch or MindSpore.

    A CRC-32 or MD5 on both sides proves equality; statistics alone show differences only, and what
    agrees in them compares as undecidable.
    """
    # Recording loads numpy, which the list of commands does not need.
    from tracediff.importing.msprobe import import_msprobe as record
    from tracediff.render.rows import counted

    count = record(Path(source), check_output(output, source))
    if as_json:
        print_json({"trace": output, "calls": count})
    else:
        typer.echo(f"{counted(count, 'call')} in {output}")
