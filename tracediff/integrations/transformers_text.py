"""Turns generated ids into pieces of text, one id at a time.

Knows tokenizers by their methods, and stop sequences. Must not know models or events.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tracediff.engine.stopping import StopMatcher

_INCOMPLETE: Final = "\ufffd"
"""What a tokenizer spells for bytes that are no whole character yet."""


class TextStream:
    """The text of one row. `tokenizer` may be None: then there is none.

    Text that may become a stop sequence, and characters that are not whole, are held back.
    """

    def __init__(self, tokenizer: Any, stops: Sequence[str]) -> None:
        self._tokenizer = tokenizer
        self._matcher = StopMatcher(stops)
        self._ids: list[int] = []
        self._starts: list[int] = []
        self._length = 0
        self._shown = 0
        self._read = 0

    @property
    def stop_sequence(self) -> str | None:
        """The stop sequence that was found."""
        return self._matcher.matched

    def push(self, token: int) -> str:
        """Return the text that may be returned after one more id."""
        self._starts.append(self._length)
        self._ids.append(token)
        return self._matcher.push(self._advance(is_last=False))

    def finish(self) -> str:
        """Return the text that was held back."""
        return self._matcher.push(self._advance(is_last=True)) + self._matcher.flush()

    def piece(self, token: int) -> str | None:
        """Return the spelling of one id."""
        if self._tokenizer is None:
            return None
        found = self._tokenizer.convert_ids_to_tokens(token)
        return found if isinstance(found, str) else None

    def count_within(self, length: int) -> int:
        """Return how many ids a returned text of `length` characters reaches into."""
        return sum(start < length for start in self._starts)

    def _advance(self, is_last: bool) -> str:
        """Return the text of the ids that are not shown yet.

        They are decoded together with those shown last, since spaces depend on neighbours.
        """
        if self._tokenizer is None or self._read == len(self._ids):
            return ""
        before = decode(self._tokenizer, self._ids[self._shown : self._read])
        now = decode(self._tokenizer, self._ids[self._shown :])
        if len(now) <= len(before) or (now.endswith(_INCOMPLETE) and not is_last):
            return ""
        self._shown, self._read = self._read, len(self._ids)
        self._length += len(now) - len(before)
        return now[len(before) :]


def decode(tokenizer: Any, ids: Sequence[int], *, is_prompt: bool = False) -> str:
    """Return the text of ids; special ones are left out except of a prompt."""
    return str(
        tokenizer.decode(
            list(ids), skip_special_tokens=not is_prompt, clean_up_tokenization_spaces=False
        )
    )
