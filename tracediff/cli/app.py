"""The command group: knows the commands' names and loads a command's module when it is used.

Turns errors into one line and an exit status; must not know what a command does.
"""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from types import FrameType
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from tracediff.errors import TracediffError

COMMANDS = ("run", "diff", "check", "show", "list")
COULD_NOT_SAY = 2


class CommandGroup(TyperGroup):
    """Lists the commands without loading them, and guards every one against unclear failures."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the commands' names in the order in which they are used."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return one command, loading its module; None for an unknown name."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"tracediff.cli.{cmd_name}_command")
        command = typer.main.get_command(module.command)
        command.name = cmd_name
        return command

    def invoke(self, ctx: Any) -> Any:
        """Run a command; whatever goes wrong becomes one line on stderr and exit status 2."""
        signal.signal(signal.SIGTERM, _interrupt)
        try:
            return super().invoke(ctx)
        except TracediffError as error:
            _fail(str(error), error)
        except KeyboardInterrupt as error:
            _fail("interrupted", error)
        except BrokenPipeError:
            # The reader of the output has gone; nothing can be said to it any more.
            sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115
            sys.exit(COULD_NOT_SAY)
        except (OSError, MemoryError) as error:
            _fail(f"{type(error).__name__}: {error}", error)
        except Exception as error:
            if type(error).__module__.partition(".")[0] in ("click", "typer"):
                raise
            _fail(
                f"internal error: {type(error).__name__}: {error}; "
                "set TRACEDIFF_DEBUG=1 to see where, and please report it",
                error,
            )


app = typer.Typer(
    name="tracediff",
    cls=CommandGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(value: bool) -> None:
    if value:
        from tracediff import __version__

        typer.echo(f"tracediff {__version__}")
        raise typer.Exit


@app.callback()
def tracediff(
    version: bool = typer.Option(
        False, "--version", help="Print the version.", is_eager=True, callback=_print_version
    ),
) -> None:
    """Record what a model execution did, and find the first event in which two executions part.

    Exit status: 0 same, 1 diverged or a rule is broken, 2 could not say.
    """


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _fail(message: str, error: BaseException) -> NoReturn:
    if os.environ.get("TRACEDIFF_DEBUG") == "1":
        raise error
    from tracediff.cli.output import print_problem

    print_problem(message)
    sys.exit(COULD_NOT_SAY)
