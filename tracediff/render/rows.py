"""Labelled rows of text: the label in the first columns, the text wrapped beside it."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

LABEL_WIDTH = 13
NARROWEST = 20


def print_row(console: Console, label: str, text: str | Text, width: int = LABEL_WIDTH) -> None:
    """Print one row; the text wraps under itself and never under its label."""
    body = Text(text) if isinstance(text, str) else text
    style = "dim" if label.startswith(" ") else "bold"
    lines = body.wrap(console, max(console.width - width, NARROWEST)) or [Text("")]
    for index, line in enumerate(lines):
        start = Text(label.ljust(width), style) if index == 0 else Text(" " * width)
        console.print(Text.assemble(start, line), soft_wrap=True)


def counted(count: int, noun: str) -> str:
    """Return `1 event`, `2 events`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
