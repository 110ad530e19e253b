"""Where a command's output goes: results to stdout, messages to stderr."""

from __future__ import annotations

import os
import sys
from typing import Any

from rich.console import Console

from tracediff.errors import TracediffError
from tracediff.render.escape import visible
from tracediff.storage import encode_json

PIPED_WIDTH = 100
LONGEST_MESSAGE = 2000


def open_console() -> Console:
    """Return a console on stdout: colours on a terminal only (NO_COLOR, FORCE_COLOR decide)."""
    fixed = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    width = PIPED_WIDTH if fixed else None
    return Console(highlight=False, markup=False, emoji=False, width=width)


def print_json(value: Any) -> None:
    """Print one JSON document on stdout, in UTF-8 whatever the locale."""
    sys.stdout.flush()
    sys.stdout.buffer.write(encode_json(value, indent=True) + b"\n")
    sys.stdout.buffer.flush()


def print_problem(error: TracediffError | str) -> None:
    """Print one line about what went wrong on stderr."""
    sys.stderr.write(f"tracediff: {visible(str(error), LONGEST_MESSAGE)}\n")
