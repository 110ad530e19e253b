"""`tracediff import WHAT`: what other tools wrote, as a trace.

Knows the names of what can be imported and loads a module when it is used.
"""

from __future__ import annotations

import typer

from tracediff.cli.lazy_group import LazyGroup


class ImportGroup(LazyGroup):
    """What can be imported."""

    names = ("tensors", "msprobe", "debugmode", "sse")
    modules = "tracediff.cli.import_{}"
    unknown = "{} is nothing to import"


command = typer.Typer(cls=ImportGroup, no_args_is_help=True, add_completion=False)


@command.callback()
def import_trace() -> None:
    """Turn what other tools wrote into a trace. What that cannot decide compares as undecidable."""
