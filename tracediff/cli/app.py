"""The command group: knows the commands' names and loads a command's module when it is used.

Turns errors into one line and an exit status; must not know what a command does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import typer

from tracediff.cli.help_pages import tidy_help
from tracediff.cli.interruption import COULD_NOT_SAY, raised_interruptions
from tracediff.cli.lazy_group import LazyGroup
from tracediff.cli.streams import OutputLost
from tracediff.errors import TracediffError

COMMANDS = (
    *("run", "diff", "gate", "check", "show", "list", "map", "calibrate"),
    *("import", "record", "serve"),
)


class CommandGroup(LazyGroup):
    """Lists the commands without loading them, and guards every one against unclear failures."""

    names = COMMANDS
    modules = "tracediff.cli.{}_command"
    unknown = "there is no command {}"

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help page of the group itself."""
        tidy_help(self, ctx)
        super().format_help(ctx, formatter)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; whatever goes wrong becomes one line on stderr and exit status 2."""
        try:
            with raised_interruptions():
                return self._invoke(ctx)
        except KeyboardInterrupt as error:
            _fail("; ".join(["interrupted", *map(str, error.args)]), error)

    def _invoke(self, ctx: Any) -> Any:
        words = [*getattr(ctx, "_protected_args", ()), *ctx.args]
        try:
            return super().invoke(ctx)
        except OutputLost:
            raise
        except TracediffError as error:
            _fail(str(error), error)
        except (OSError, MemoryError) as error:
            _fail(f"{type(error).__name__}: {error}", error)
        except Exception as error:
            if type(error).__module__.partition(".")[0] in ("click", "typer"):
                if words[:1] in (["diff"], ["gate"]) and hasattr(error, "format_message"):
                    _report_misuse(words, error.format_message())
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


def _report_misuse(words: Sequence[str], message: str) -> None:
    """Have the reports that are asked for say that the command was not understood."""
    from tracediff.cli.report_output import report_misuse

    report_misuse(words, message)


def _fail(message: str, error: BaseException) -> NoReturn:
    if os.environ.get("TRACEDIFF_DEBUG") == "1":
        raise error
    from tracediff.cli.output import print_problem

    print_problem(message)
    sys.exit(COULD_NOT_SAY)
