"""The terminal report as a text without colours, for places that are no terminal."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence

from rich.console import Console

from tracediff.diff import TraceDiff
from tracediff.render.terminal import print_diffs


def diff_to_text(diff: TraceDiff, width: int) -> str:
    """Return the terminal report of one comparison; like `diffs_to_text`."""
    return diffs_to_text([diff], width)


def diffs_to_text(diffs: Sequence[TraceDiff], width: int, *, show_all: bool = False) -> str:
    """Return the terminal report of comparisons, `width` columns wide, with a final line feed."""
    return printed_text(lambda console: print_diffs(diffs, console, show_all=show_all), width)


def printed_text(print_report: Callable[[Console], None], width: int) -> str:
    """Return what a function prints on a console, `width` columns wide.

    Neither the environment nor the terminal changes it.
    """
    written = io.StringIO()
    console = Console(
        file=written,
        width=width,
        color_system=None,
        force_terminal=False,
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
    )
    print_report(console)
    return written.getvalue()
