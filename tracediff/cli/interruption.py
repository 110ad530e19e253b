"""What Ctrl-C and a request to end do: one line and exit status 2, at any moment.

Knows signals only, and loads next to nothing: it is in force before anything else is imported.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

COULD_NOT_SAY = 2
_STANDARD_ERROR = 2

Handler = Callable[[int, FrameType | None], None]


def end_when_interrupted() -> None:
    """Have an interruption end the process on the spot: there is nothing to put in order yet."""
    _install(_end)


@contextmanager
def raised_interruptions() -> Iterator[None]:
    """Have an interruption raise KeyboardInterrupt inside the block, and end the process after."""
    process = os.getpid()

    def interrupt(number: int, frame: FrameType | None) -> None:
        if os.getpid() != process:
            # A forked process that works for this one, which says itself what happened.
            os._exit(COULD_NOT_SAY)
        # A second interruption would only disturb the putting in order after the first. The
        # interpreter gives up handlers of Python's own before it ends, but not this one.
        _install(signal.SIG_IGN)
        raise KeyboardInterrupt

    _install(interrupt)
    try:
        yield
    finally:
        # After an interruption this changes nothing: ending on the spot would leave behind what
        # the interpreter puts in order as it ends, and `timeout` sends two signals at once.
        _install(_end)


def _install(handler: Handler | signal.Handlers) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        # What was ignored from the start, as a shell does for its background, stays ignored.
        if signal.getsignal(number) not in (signal.SIG_IGN, None):
            signal.signal(number, handler)


def _end(number: int, frame: FrameType | None) -> None:
    try:
        os.write(_STANDARD_ERROR, b"tracediff: interrupted\n")
    finally:
        os._exit(COULD_NOT_SAY)
