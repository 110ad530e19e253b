"""`tracediff show`: a trace as a tree, or one event in full."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracediff.cli.output import open_console, print_json, standard_input
from tracediff.contracts.state_table import describe_states
from tracediff.errors import UsageError
from tracediff.events import Event, Trace
from tracediff.render.data import event_to_json
from tracediff.render.event_text import print_event
from tracediff.render.state_table import print_state_table
from tracediff.render.step_table import print_steps
from tracediff.render.timing import measure_run, print_timing, timing_to_json
from tracediff.render.tree import print_tree
from tracediff.storage import read_timing, read_trace
from tracediff.suggestions import suggest

command = typer.Typer(add_completion=False)


@command.command()
def show(
    path: Annotated[
        str, typer.Argument(metavar="TRACE", help="A trace file; - is standard input.")
    ],
    event: Annotated[
        str | None, typer.Option("--event", metavar="ID", help="Show one event in full.")
    ] = None,
    contract: Annotated[
        bool,
        typer.Option("--contract", help="Show what starts, moves and ends it: seven questions."),
    ] = False,
    plot: Annotated[
        bool,
        typer.Option(
            "--plot", help="Draw latents and pictures of a trace recorded with --tensors full."
        ),
    ] = False,
    timing: Annotated[
        bool,
        typer.Option(
            "--timing", help="Show when things happened, from the timing sidecar beside the trace."
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the events, or the answers, as JSON.")
    ] = False,
) -> None:
    """Show a trace as a tree of events with shapes and choices."""
    if (event is not None) + contract + plot + timing > 1:
        raise UsageError(
            "--event, --contract, --plot and --timing show different things; give one of them"
        )
    trace = read_trace(standard_input() if path == "-" else path)
    if timing:
        _show_timing(trace, path, as_json=as_json)
        return
    chosen = trace.events if event is None else (_find_event(trace, event),)
    if as_json and contract:
        print_json(dict(describe_states(trace)))
    elif as_json:
        print_json([event_to_json(found) for found in chosen])
    elif contract:
        print_state_table(describe_states(trace), open_console())
    elif event is not None:
        print_event(chosen[0], open_console())
    elif plot:
        _plot(trace)
    else:
        console = open_console()
        print_tree(trace, console)
        print_steps(trace, console)


def _show_timing(trace: Trace, path: str, *, as_json: bool) -> None:
    sidecar = None if path == "-" else read_timing(Path(path))
    if sidecar is None:
        raise UsageError(
            f"{trace.name} has no timing sidecar; `tracediff run`, `tracediff record` and "
            "`tracediff serve --record` write one, NAME.timing.jsonl, which has to lie beside the "
            "trace"
        )
    times = measure_run(trace, sidecar.nanoseconds)
    untimed = sum(event.event_id not in sidecar.nanoseconds for event in trace.events)
    if times is None or untimed:
        raise UsageError(
            f"the timing sidecar of {trace.name} lacks {untimed} of its {len(trace.events)} "
            "events, so it belongs to another trace; record it again"
        )
    if as_json:
        print_json(timing_to_json(times))
    else:
        print_timing(times, open_console())


def _plot(trace: Trace) -> None:
    # Drawing needs numpy, the rest of `show` does not.
    from tracediff.render.plot import print_plots

    if not print_plots(trace, open_console()):
        raise UsageError(
            f"{trace.name} keeps no latent or picture whole; record an image fixture with "
            "--tensors full, and keep its .tensors folder beside the trace"
        )


def _find_event(trace: Trace, event_id: str) -> Event:
    for event in trace.events:
        if event.event_id == event_id:
            return event
    known = [event.event_id for event in trace.events]
    raise UsageError(f"{trace.name} has no event {event_id!r}; {suggest(event_id, known)}")
