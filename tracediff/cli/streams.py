"""Standard output and error as a command needs them: any text can be written, failures are clear.

Knows streams and the environment that decides about colours. Must not know what is printed.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from tracediff.cli.interruption import COULD_NOT_SAY
from tracediff.errors import TracediffError


class OutputLost(TracediffError):
    """What was printed cannot be written; without a message where its reader has gone."""


@contextmanager
def output_errors() -> Iterator[None]:
    """Raise OutputLost for what the system refuses inside the block."""
    try:
        yield
    except BrokenPipeError:
        raise OutputLost from None
    except OSError as error:
        raise OutputLost(f"cannot write the output: {error.strerror}") from None


class Output(io.TextIOWrapper):
    """A text stream that raises OutputLost, which no library takes for a failure of its own."""

    def write(self, text: str) -> int:
        """Write text; raise OutputLost."""
        with output_errors():
            return super().write(text)

    def flush(self) -> None:
        """Hand what was written to the system; raise OutputLost."""
        with output_errors():
            super().flush()


@contextmanager
def standard_streams() -> Iterator[None]:
    """Give the block streams that take any text; where output is lost, exit with status 2.

    Characters that the locale's encoding lacks are written as escapes.
    """
    sys.stderr = _nowhere() if sys.stderr is None else _tolerant(sys.stderr)
    if sys.stdout is None:
        sys.stderr.write("tracediff: standard output is closed: the result cannot be written\n")
        sys.exit(COULD_NOT_SAY)
    sys.stdout = _tolerant(sys.stdout)
    _settle_colours()
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
    except OutputLost as error:
        with suppress(OutputLost):
            sys.stderr.write(f"tracediff: {error}\n" if str(error) else "")
            sys.stderr.flush()
        _discard_the_rest()
        sys.exit(COULD_NOT_SAY)


def _tolerant(stream: TextIO) -> Output:
    return Output(
        stream.buffer,
        encoding=stream.encoding,
        errors="backslashreplace",
        line_buffering=bool(stream.line_buffering),
    )


def _nowhere() -> Output:
    return Output(Path(os.devnull).open("wb"), encoding="utf-8", errors="backslashreplace")


def _discard_the_rest() -> None:
    """Let what is still held back go nowhere: the interpreter flushes once more as it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OutputLost:
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _settle_colours() -> None:
    """Say in the terms of the libraries that print what NO_COLOR and FORCE_COLOR ask for."""
    if os.environ.get("NO_COLOR"):
        # They leave out colours only, and still set bold, unless the terminal is known as dumb.
        os.environ["TERM"] = "dumb"
        os.environ.pop("FORCE_COLOR", None)
    elif os.environ.get("FORCE_COLOR", "").lower() in ("", "0", "false", "no"):
        os.environ.pop("FORCE_COLOR", None)
