"""The order in which people count: layer 2 before layer 10."""

from __future__ import annotations

import re


def natural_key(name: str) -> list[tuple[int, str]]:
    """Return a key under which runs of digits are compared as numbers, before other text."""
    parts = re.split(r"([0-9]+)", name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
