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
        _print_line(console, Text.assemble(start, line))


def print_indented(console: Console, text: str | Text, indent: int, further: int) -> None:
    """Print text that wraps at words: the first line indented by `indent`, all after by `further`.

    `further` is not less than `indent`.
    """
    body = Text(text) if isinstance(text, str) else text.copy()
    first = body.wrap(console, max(console.width - indent, NARROWEST))[:1] or [Text("")]
    _print_line(console, Text.assemble(" " * indent, first[0]))
    rest = body[len(first[0]) :]
    if rest.plain.strip():
        print_row(console, "", rest, further)


def _print_line(console: Console, line: Text) -> None:
    line.rstrip()
    console.print(line, soft_wrap=True)


def counted(count: int, noun: str) -> str:
    """Return `1 event`, `2 events`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
