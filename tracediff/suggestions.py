"""What to say about a name that does not exist. Imports nothing of the project."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

SHOWN = 30


def suggest(word: str, known: Iterable[str]) -> str:
    """Return 'did you mean …? known are …' for an error message."""
    names = list(known)
    near = difflib.get_close_matches(word, names, n=3, cutoff=0.5)
    near += [name for name in names if word and word in name and name not in near][: 3 - len(near)]
    question = f"did you mean {' or '.join(near)}? " if near else ""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{question}known are {', '.join(names[:SHOWN]) or 'none'}{more}"
