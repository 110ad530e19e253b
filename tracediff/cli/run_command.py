"""`tracediff run`: run a fixture, write its trace, say what came out."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from tracediff.cli.exits import ExitStatus
from tracediff.cli.output import open_console, print_json, print_problem
from tracediff.cli.progress import show_progress
from tracediff.cli.trace_output import check_output, named_partial
from tracediff.contracts import check_trace
from tracediff.errors import UsageError
from tracediff.events import Trace
from tracediff.render.data import check_to_json
from tracediff.render.run_summary import RunSummary, print_run
from tracediff.storage import TraceWriter, read_timing, read_trace, write_beside
from tracediff.workloads.environment import describe_environment
from tracediff.workloads.run import RunRequest, find_workload, record_fixture
from tracediff.workloads.settings import parse_assignments

command = typer.Typer(add_completion=False)

RUNS = Path("runs")


@command.command()
def run(
    fixture: Annotated[str, typer.Argument(help="Name of a fixture; `tracediff list` shows them.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Trace file to write (.jsonl, .jsonl.gz). Default: a file in runs/, with a name "
            "of its own for every combination of options.",
        ),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Override a setting; VALUE is JSON or plain text."
        ),
    ] = None,
    inject: Annotated[
        str | None, typer.Option("--inject", metavar="NAME", help="Inject a fault by name.")
    ] = None,
    kernel: Annotated[
        str, typer.Option("--kernel", help="Numeric path: ordered, blas or float64.")
    ] = "ordered",
    tensors: Annotated[
        str,
        typer.Option(
            "--tensors",
            metavar="LEVEL",
            help="What is kept of tensors: digest, sketch, values, values=N or full.",
        ),
    ] = "sketch",
    stream: Annotated[
        bool, typer.Option("--stream", help="Print the text while it is generated.")
    ] = False,
    save_image: Annotated[
        bool,
        typer.Option(
            "--save-image", help="Write pictures beside the trace; with -o they always are."
        ),
    ] = False,
    preview: Annotated[bool, typer.Option("--preview", help="Same as --set preview=true.")] = False,
    quiet: Annotated[
        bool,
        typer.Option("-q", "--quiet", help="No progress bar, and the result alone if all holds."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Run a fixture, write its trace and check its contract.

    Exit status: 0 the contract holds, 1 a rule is broken, 2 it could not run.
    """
    overrides = parse_assignments(assignments or ())
    if preview:
        overrides.setdefault("preview", True)
    if output is not None:
        check_output(str(output))
    if inject is not None and not find_workload(fixture).injections:
        raise UsageError(f"{fixture} has no injections; --inject {inject} cannot be given")
    request = RunRequest(fixture, overrides, inject, kernel, tensors)
    path = default_output(request) if output is None else output

    def open_writer() -> TraceWriter:
        if output is None:
            RUNS.mkdir(exist_ok=True)
        return TraceWriter(path, environment=describe_environment())

    def print_piece(piece: str) -> None:
        if stream and not as_json:
            sys.stdout.write(piece)
            sys.stdout.flush()

    # Text that is streamed shows the progress, and would be in its way.
    silent = quiet or (stream and not as_json)
    with named_partial(path), show_progress(f"running {fixture}", quiet=silent):
        result = record_fixture(request, open_writer, print_piece)
    if stream and not as_json:
        sys.stdout.write("\n")
    pictures = result.attachments if save_image or output is not None else {}
    if save_image and not pictures:
        print_problem(f"warning: {fixture} makes no picture, so --save-image wrote none")
    written = [write_beside(path, ending, content) for ending, content in pictures.items()]
    trace = read_trace(path)
    report = check_trace(trace)
    times = _stream_times(trace, path)
    facts = {**result.facts, **({"written": [str(path) for path in written]} if written else {})}
    summary = RunSummary(fixture, str(path), result.headline, facts, times, report)
    if as_json:
        print_json(_summary_to_json(summary))
    else:
        print_run(summary, open_console(), quiet=quiet)
    raise typer.Exit(ExitStatus.DIVERGED if report.violations else ExitStatus.SAME)


def default_output(request: RunRequest) -> Path:
    """Return runs/FIXTURE[.INJECTION][.KERNEL][.TENSORS][.hash of overrides].jsonl."""
    parts = [request.fixture]
    if request.injection is not None:
        parts.append(request.injection)
    if request.kernel != "ordered":
        parts.append(request.kernel)
    if request.tensors != "sketch":
        parts.append(request.tensors)
    if request.overrides:
        # The request may still turn out to be wrong: any value is spelled here.
        spelled = json.dumps(sorted(request.overrides.items()), ensure_ascii=True)
        parts.append(hashlib.sha256(spelled.encode()).hexdigest()[:8])
    return RUNS / f"{'.'.join(parts)}.jsonl"


def _stream_times(trace: Trace, path: Path) -> Mapping[str, float]:
    """Return time to first token and time per further token in ms, where text was streamed."""
    timing = read_timing(path)
    if timing is None:
        return {}
    start = timing.nanoseconds.get(trace.root.event_id)
    deltas = [
        timing.nanoseconds[event.event_id]
        for event in trace.events
        if event.event_type == "stream.delta" and event.event_id in timing.nanoseconds
    ]
    if start is None or not deltas:
        return {}
    times = {"first token": (deltas[0] - start) / 1e6}
    if len(deltas) > 1:
        times["per further token"] = (deltas[-1] - deltas[0]) / 1e6 / (len(deltas) - 1)
    return times


def _summary_to_json(summary: RunSummary) -> dict[str, Any]:
    return {
        "format": "tracediff-run/1",
        "fixture": summary.fixture,
        "path": summary.path,
        "result": summary.headline,
        **summary.facts,
        "milliseconds": dict(summary.times),
        "contract": check_to_json(summary.report),
    }
