"""Where a command's input comes from and its output goes: results to stdout, messages to stderr."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any, BinaryIO

from rich.console import Console

from tracediff.cli.streams import OutputLost, output_errors
from tracediff.errors import TracediffError, UsageError
from tracediff.render.escape import LONGEST_MESSAGE, visible
from tracediff.storage import encode_json

PIPED_WIDTH = 100


def open_console() -> Console:
    """Return a console on stdout: colours on a terminal only (NO_COLOR, FORCE_COLOR decide)."""
    fixed = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    width = PIPED_WIDTH if fixed else None
    plain = False if os.environ.get("NO_COLOR") else None
    return Console(highlight=False, markup=False, emoji=False, width=width, force_terminal=plain)


def print_json(value: Any) -> None:
    """Print one JSON document on stdout, in UTF-8 whatever the locale."""
    print_bytes(encode_json(value, indent=True) + b"\n")


def print_bytes(content: bytes) -> None:
    """Print a document that is encoded already on stdout."""
    sys.stdout.flush()
    with output_errors():
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()


def print_problem(error: TracediffError | str) -> None:
    """Print one line about what went wrong on stderr."""
    with suppress(OutputLost):
        sys.stderr.write(f"tracediff: {visible(str(error), LONGEST_MESSAGE)}\n")


def standard_input() -> BinaryIO:
    """Return standard input as bytes; raise UsageError where it is closed."""
    if sys.stdin is None:
        raise UsageError("- is standard input, and that is closed")
    return sys.stdin.buffer
