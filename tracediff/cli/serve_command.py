"""`tracediff serve`: the toy decoders over HTTP, one trace a request."""

from __future__ import annotations

from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from typing import Annotated

import typer

from tracediff.cli.output import print_json, print_problem
from tracediff.errors import UsageError

command = typer.Typer(add_completion=False)

LOOPBACK = ("127.0.0.1", "localhost", "::1")
NEEDED = ("fastapi", "uvicorn")


@command.command()
def serve(
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; only this machine by default.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port; 0 takes any free one.")
    ] = 8000,
    record: Annotated[
        Path | None,
        typer.Option(
            "--record",
            metavar="DIR",
            help="Write one trace a request into this folder, with a timing sidecar.",
        ),
    ] = None,
    tensors: Annotated[
        str,
        typer.Option("--tensors", metavar="LEVEL", help="What traces keep of tensors, as in run."),
    ] = "sketch",
    kernel: Annotated[
        str, typer.Option("--kernel", help="Numeric path: ordered, blas or float64.")
    ] = "ordered",
    faults: Annotated[
        list[str] | None,
        typer.Option(
            "--fault", metavar="NAME[:N]", help="Go wrong on purpose; --list-faults names them."
        ),
    ] = None,
    allow_faults: Annotated[
        bool,
        typer.Option(
            "--allow-faults", help="Let a request ask for faults by header x-tracediff-fault."
        ),
    ] = False,
    list_faults: Annotated[
        bool, typer.Option("--list-faults", help="Print the faults that there are, and stop.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the address, or the faults, as JSON.")
    ] = False,
) -> None:
    """Serve the toy decoders as OpenAI chat completions and Anthropic messages, until Ctrl-C.

    The models are toy-decoder-v1 and toy-tool-decoder-v1. Exit status: 0 it was stopped, 2 it
    could not start.
    """
    if list_faults:
        _print_faults(as_json=as_json)
        return
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise UsageError(
            f"`tracediff serve` needs {' and '.join(missing)}: pip install 'tracediff[serve]'"
        )
    from tracediff.serving.application import ServeOptions, build_application
    from tracediff.serving.faults import parse_faults
    from tracediff.serving.run_server import serve as serve_until_stopped

    options = ServeOptions(record, tensors, kernel, parse_faults(faults or ()), allow_faults)
    closing = Event()
    application = build_application(options, closing)
    if host not in LOOPBACK:
        print_problem(f"warning: {host} may be reached from other machines; there is no access key")

    def tell(address: str) -> None:
        if as_json:
            print_json({"format": "tracediff-serve/1", "address": address})
        else:
            traces = "no traces are written" if record is None else f"traces in {record}"
            print_problem(f"serving on {address}, {traces}; Ctrl-C stops it")

    with suppress(KeyboardInterrupt):
        serve_until_stopped(application, host, port, tell, closing)
    print_problem("stopped")


def _print_faults(*, as_json: bool) -> None:
    from tracediff.serving.faults import MEANINGS, NUMBERED

    spelled = {
        f"{name}[:N]" if name in NUMBERED else str(name): text for name, text in MEANINGS.items()
    }
    if as_json:
        print_json(spelled)
        return
    width = max(map(len, spelled))
    for name, text in spelled.items():
        typer.echo(f"{name.ljust(width)}  {text}")
