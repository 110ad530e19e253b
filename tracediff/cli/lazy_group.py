"""A group of commands whose modules load when they are used.

Knows names and where their modules are. Must not know what a command does.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperGroup

from tracediff.cli.help_pages import tidy_help
from tracediff.errors import UsageError
from tracediff.suggestions import suggest


class LazyGroup(TyperGroup):
    """Lists commands by `names` without loading them.

    `modules` is the name of a command's module with {} for the command's; each has a Typer called
    `command`. `unknown` says what an unknown name is not, with {} for the name.
    """

    names: ClassVar[tuple[str, ...]]
    modules: ClassVar[str]
    unknown: ClassVar[str]

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the commands' names in the order in which they are used."""
        return list(self.names)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return one command, loading its module; None for an unknown name."""
        if cmd_name not in self.names:
            return None
        command = typer.main.get_command(import_module(self.modules.format(cmd_name)).command)
        command.name = cmd_name
        tidy_help(command, ctx)
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the named command and its arguments; raise UsageError with near matches."""
        if args and not args[0].startswith("-") and args[0] not in self.names:
            near = suggest(args[0], self.names)
            raise UsageError(f"{self.unknown.format(repr(args[0]))}; {near}")
        return super().resolve_command(ctx, args)
