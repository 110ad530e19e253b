"""`tracediff import sse`: the captured answer of a model server, as a trace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from tracediff.cli.answer_output import finish_recording
from tracediff.cli.output import standard_input
from tracediff.cli.trace_output import check_output, named_partial

command = typer.Typer(add_completion=False)

PIECE = 1 << 16


@command.command()
def import_sse(
    capture: Annotated[
        str,
        typer.Argument(
            metavar="CAPTURE",
            help="Raw bytes of the answer, with or without the head of the HTTP response; - is "
            "standard input.",
        ),
    ],
    api: Annotated[
        str,
        typer.Option(
            "--api",
            metavar="API",
            help="Whose words it speaks: openai-chat, openai-responses or anthropic-messages.",
        ),
    ],
    output: Annotated[str, typer.Option("-o", "--output", metavar="TRACE", help="Trace to write.")],
    request: Annotated[
        Path | None,
        typer.Option("--request", metavar="FILE", help="The body that was sent, if it is known."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Record the answer that a capture holds, streamed or not, layer by layer.

    Chunked, gzip and deflate bodies are unpacked where the head says so.

    Exit status: 0 the answer is whole and keeps its contract, 1 a rule is
    broken, 2 it is not whole: what there is stays in TRACE.partial, which
    never compares as equal.
    """
    # Recording loads numpy, which the list of commands does not need.
    from tracediff.storage import TraceWriter
    from tracediff.storage.sources import open_source
    from tracediff.streaming.dialects import new_dialect
    from tracediff.streaming.record import record_capture
    from tracediff.streaming.request import captured, read_request, unknown_request

    new_dialect(api)
    path = check_output(output, capture, *([] if request is None else [request]))
    facts = unknown_request(api)
    if request is not None:
        with open_source(request) as stream:
            facts = captured(read_request(_read_all(stream), api, str(request)))
    existed = path.exists()
    source = standard_input() if capture == "-" else capture
    with named_partial(path), open_source(source) as stream:
        recorded = record_capture(_pieces(stream), TraceWriter(path), facts, api)
    finish_recording(recorded, capture, path, existed, as_json=as_json)


def _pieces(stream: BinaryIO) -> Iterator[bytes]:
    while piece := stream.read(PIECE):
        yield piece


def _read_all(stream: BinaryIO) -> bytes:
    return b"".join(_pieces(stream))
