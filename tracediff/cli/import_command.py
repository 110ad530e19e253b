"""`tracediff import WHAT`: what other tools wrote, as a trace.

Knows the names of what can be imported and loads a module when it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from tracediff.cli.help_pages import tidy_help
from tracediff.errors import UsageError
from tracediff.suggestions import suggest

KINDS = ("tensors", "msprobe", "debugmode", "sse")


class ImportGroup(TyperGroup):
    """Lists what can be imported without loading it."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of what can be imported."""
        return list(KINDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return one importing command, loading its module; None for an unknown name."""
        if cmd_name not in KINDS:
            return None
        module = import_module(f"tracediff.cli.import_{cmd_name}")
        command = typer.main.get_command(module.command)
        command.name = cmd_name
        tidy_help(command, ctx)
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the named command and its arguments; raise UsageError with near matches."""
        if args and not args[0].startswith("-") and args[0] not in KINDS:
            raise UsageError(f"{args[0]!r} is nothing to import; {suggest(args[0], KINDS)}")
        return super().resolve_command(ctx, args)


command = typer.Typer(cls=ImportGroup, no_args_is_help=True, add_completion=False)


@command.callback()
def import_trace() -> None:
    """Turn what other tools wrote into a trace. What that cannot decide compares as undecidable."""
