"""`tracediff import tensors`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracediff.cli.output import print_json, print_problem
from tracediff.cli.trace_output import check_output

MOST_SKIPPED = 5

command = typer.Typer(add_completion=False)


@command.command()
def import_tensors(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FOLDER|FILE", help="A .safetensors, .npz or .npy file, or a folder."
        ),
    ],
    output: Annotated[str, typer.Option("-o", "--output", metavar="TRACE", help="Trace to write.")],
    tensors: Annotated[
        str,
        typer.Option(
            "--tensors", metavar="LEVEL", help="digest, sketch, values, values=N or full."
        ),
    ] = "sketch",
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> None:
    """Record every tensor of a file or folder under its name, one event a tensor.

    Pickles (.pt, .bin) are not read, links to folders are not followed.
    """
    # Recording loads numpy, which the list of commands does not need.
    from tracediff.importing.tensors import import_tensors as record
    from tracediff.render.rows import counted

    found = record(Path(source), check_output(output, source), level=tensors)
    if found.skipped:
        more = ", …" if len(found.skipped) > MOST_SKIPPED else ""
        listed = ", ".join(found.skipped[:MOST_SKIPPED])
        files = counted(len(found.skipped), "file")
        print_problem(f"warning: {files} without tensors to read: {listed}{more}")
    if as_json:
        print_json({"trace": output, "tensors": found.tensors, "skipped": list(found.skipped)})
    else:
        typer.echo(f"{counted(found.tensors, 'tensor')} in {output}")
