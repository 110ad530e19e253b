"""Help pages of commands: paragraphs that wrap as one, and no type for options that take no value.

Knows how typer lays out help. Must not know any command.
"""

from __future__ import annotations

import inspect
from typing import Any


def tidy_help(command: Any, context: Any) -> None:
    """Change what a command's help page shows; `context` knows the names of the help option.

    Typer keeps the line ends of every paragraph but the first, and calls the value of a flag
    `<bool>`, also that of --help.
    """
    if command.help:
        command.help = join_lines(command.help)
    for parameter in (*command.params, command.get_help_option(context)):
        if getattr(parameter, "is_flag", False) and parameter.metavar is None:
            parameter.metavar = ""


def join_lines(text: str) -> str:
    """Return paragraphs, which blank lines part, with the lines of each joined by blanks."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(" ".join(paragraph.split("\n")) for paragraph in paragraphs)
