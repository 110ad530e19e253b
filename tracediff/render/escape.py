"""Makes text from a trace safe and short enough to print.

A trace may come from anyone: control characters, terminal escapes, bidirectional overrides and
lone surrogates are shown, never sent to the terminal.
"""

from __future__ import annotations

import json
import unicodedata
from typing import Any

LONGEST = 200
"""Characters of one value that a report prints; longer ones are cut and say how long they are."""

LONGEST_MESSAGE = 10_000
"""Characters of a path or a message that is printed: nobody can use one that was cut."""

CONTEXT_SHARE = 4
"""Of a long string, one part in so many is shown of what comes before the first difference."""

STRETCH = 4096
"""Characters of two strings that are compared at a time."""

HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def visible(text: str, limit: int = LONGEST) -> str:
    """Return printable text: what a terminal would act on is escaped, what is long is cut."""
    if len(text) <= limit and text.isascii() and text.isprintable():
        return text
    cut = text if len(text) <= limit else text[:limit]
    shown = "".join(_visible_character(character) for character in cut)
    return shown if cut is text else f"{shown}… ({len(text)} characters)"


def visible_value(value: Any, limit: int = LONGEST) -> str:
    """Return a JSON value as one printable line."""
    if isinstance(value, str):
        # An enumeration member stands for the absence of a value and prints without quotes.
        return visible(value, limit) if type(value) is not str else f'"{visible(value, limit)}"'
    if isinstance(value, list) and len(value) > limit:
        head = json.dumps(value[:limit], ensure_ascii=False)
        return f"{visible(head, limit)} ({len(value)} entries)"
    return visible(json.dumps(value, ensure_ascii=False), limit)


def visible_pair(left: Any, right: Any, limit: int = LONGEST) -> tuple[str, str]:
    """Return two JSON values as printable lines, each showing the place where they differ.

    Strings that are longer than `limit` and begin alike are cut at the front too.
    """
    if type(left) is not str or type(right) is not str or max(len(left), len(right)) <= limit:
        return visible_value(left, limit), visible_value(right, limit)
    alike = _common_start(left, right)
    begun = max(0, alike - limit // CONTEXT_SHARE)
    if begun == 0:
        return visible_value(left, limit), visible_value(right, limit)
    first, second = (visible(side[begun:], limit) for side in (left, right))
    return f'…"{first}" (from character {begun})', f'…"{second}" (from character {begun})'


def _common_start(left: str, right: str) -> int:
    """Return how many characters two strings begin with that are the same."""
    alike, shorter = 0, min(len(left), len(right))
    while alike < shorter and left[alike : alike + STRETCH] == right[alike : alike + STRETCH]:
        alike += STRETCH
    while alike < shorter and left[alike] == right[alike]:
        alike += 1
    return min(alike, shorter)


def _visible_character(character: str) -> str:
    if unicodedata.category(character) not in HIDDEN_CATEGORIES:
        return character
    code = ord(character)
    return (
        f"\\x{code:02x}"
        if code < 0x100
        else f"\\u{code:04x}"
        if code < 0x10000
        else f"\\U{code:08x}"
    )
