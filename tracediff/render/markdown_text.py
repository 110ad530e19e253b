"""Text from traces as GitHub-flavoured Markdown in which nothing of it has a meaning.

A value stands in `<code>` or in a fenced block: there services link no @name, #number or commit,
and ping nobody. Within `<code>` the marks that mean something to Markdown, HTML or a table are
character references, and so are those that make an address a link.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

_MEANINGFUL: Final = re.compile(r"[#$&*:<>@\[\]\\_`|~]|(?<=www)\.", re.IGNORECASE)


def code(text: str) -> str:
    """Return printable text as code within a line or a cell of a table."""
    inert = _MEANINGFUL.sub(lambda mark: f"&#{ord(mark[0])};", text)
    return f"<code>{inert}</code>"


def fenced(text: str, language: str) -> str:
    """Return printable lines as a block of code, fenced by more backticks than it holds."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are Markdown already."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def collapsed(summary: str, block: str) -> str:
    """Return a block that opens by a click; the empty lines make it Markdown again."""
    return f"<details><summary>{summary}</summary>\n\n{block}\n\n</details>"
