"""`tracediff show`: a trace as a tree, or one event in full."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from tracediff.cli.output import open_console, print_json
from tracediff.contracts.state_table import describe_states
from tracediff.errors import UsageError
from tracediff.events import Event, Trace
from tracediff.render.data import event_to_json
from tracediff.render.state_table import print_state_table
from tracediff.render.tree import print_event, print_tree
from tracediff.storage import read_trace
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
        typer.Option("--contract", help="Show initial objects, updates, irreversible point, …"),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the events as JSON.")] = False,
) -> None:
    """Show a trace as a tree of events with shapes and choices."""
    if event is not None and contract:
        raise UsageError("--event and --contract show different things; give one of them")
    trace = read_trace(sys.stdin.buffer if path == "-" else path)
    chosen = trace.events if event is None else (_find_event(trace, event),)
    if as_json:
        print_json([event_to_json(found) for found in chosen])
    elif contract:
        print_state_table(describe_states(trace), open_console())
    elif event is not None:
        print_event(chosen[0], open_console())
    else:
        print_tree(trace, open_console())


def _find_event(trace: Trace, event_id: str) -> Event:
    for event in trace.events:
        if event.event_id == event_id:
            return event
    known = [event.event_id for event in trace.events]
    raise UsageError(f"{trace.name} has no event {event_id!r}; {suggest(event_id, known)}")
