"""The terminal report as a text without colours, for places that are no terminal."""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.console import Console

from tracediff.diff import TraceDiff
from tracediff.render.terminal import print_diffs


def diff_to_text(diff: TraceDiff, width: int) -> str:
    """Return the terminal report of one comparison; like `diffs_to_text`."""
    return diffs_to_text([diff], width)


def diffs_to_text(diffs: Sequence[TraceDiff], width: int, *, show_all: bool = False) -> str:
    """Return the terminal report of comparisons, `width` columns wide, with a final line feed.

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
    print_diffs(diffs, console, show_all=show_all)
    return written.getvalue()
