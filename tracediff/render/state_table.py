"""The seven questions about a trace as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from tracediff.render.escape import visible
from tracediff.render.rows import print_row

QUESTION_WIDTH = 20
LONGEST_ANSWER = 1000


def print_state_table(rows: Sequence[tuple[str, str]], console: Console) -> None:
    """Print question and answer, row by row."""
    for question, answer in rows:
        print_row(console, question, visible(answer, LONGEST_ANSWER), QUESTION_WIDTH)
