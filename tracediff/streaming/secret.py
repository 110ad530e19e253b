"""Leaves the key out of everything that is read, also where a server tells it in pieces.

Knows one secret text, and the order in which things are told. Must not know where the key comes
from. A piece that may be the beginning of the key is held back, with all that is told behind it,
until it is known: the pieces of other texts stay as they came.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any, Final

from tracediff.streaming.assembly import Delta
from tracediff.streaming.parts import REFUSAL, TEXT, THINKING

MARK: Final = "***"
"""What stands in the place of the key."""

MOST_HELD: Final = 4096
"""Things that wait for the end of a key; behind more of them, its beginning is left out too."""

_JOINED: Final = (TEXT, REFUSAL, THINKING)
"""Kinds whose parts are joined into one text in the end."""


def redact(value: Any, secret: str) -> Any:
    """Return a JSON value without the secret in any of its texts and names; "" leaves it alone."""
    if not secret:
        return value
    if isinstance(value, str):
        return value.replace(secret, MARK)
    if isinstance(value, list):
        return [redact(entry, secret) for entry in value]
    if isinstance(value, dict):
        return {redact(key, secret): redact(entry, secret) for key, entry in value.items()}
    return value


@dataclass(slots=True)
class _Piece:
    """A delta that waits: what of its text is settled, what is not, and whether any is left out."""

    delta: Delta
    settled: str
    loose: str
    touched: bool = False


class HeldBack:
    """Passes on what is told in its order; pieces that hold a part of the key come without it."""

    def __init__(self, secret: str, on_delta: Callable[[Delta], None]) -> None:
        self._secret = secret
        self._on_delta = on_delta
        self._waiting: deque[_Piece | Callable[[], None]] = deque()
        self._open: dict[Hashable, list[_Piece]] = {}

    def tell(self, call: Callable[[], None]) -> None:
        """Pass on anything that is no piece of a text."""
        self._waiting.append(call)
        self._pass_on()

    def delta(self, delta: Delta) -> None:
        """Pass on a piece of a text."""
        key = delta.part.key
        group = (key.choice, key.kind, None if key.kind in _JOINED else key.number)
        piece = _Piece(delta, "", delta.text)
        pieces = [*self._open.pop(group, ()), piece]
        self._settle(pieces)
        still = [held for held in pieces if held.loose]
        if still:
            self._open[group] = still
        self._waiting.append(piece)
        self._pass_on()

    def flush(self) -> None:
        """Pass on everything: nothing more comes."""
        for pieces in self._open.values():
            for piece in pieces:
                piece.settled, piece.loose = piece.settled + piece.loose, ""
        self._open.clear()
        self._pass_on()

    def _settle(self, pieces: list[_Piece]) -> None:
        """Settle what can be no part of a key any more, and leave out what is."""
        secret, text = self._secret, "".join(piece.loose for piece in pieces)
        found, at = [], text.find(secret)
        while at >= 0:
            found.append(at)
            at = text.find(secret, at + len(secret))
        settled = len(text) - _beginning(text[found[-1] + len(secret) :] if found else text, secret)
        start = 0
        for piece in pieces:
            end = start + len(piece.loose)
            piece.settled += _without(text, start, min(end, settled), found, len(secret))
            piece.touched |= any(at < end and start < at + len(secret) for at in found)
            piece.loose = text[max(start, settled) : end] if end > settled else ""
            start = end

    def _pass_on(self) -> None:
        waiting = self._waiting
        if len(waiting) > MOST_HELD:
            self._leave_out()
        while waiting:
            first = waiting[0]
            if isinstance(first, _Piece):
                if first.loose:
                    return
                self._hand_out(first)
            else:
                first()
            waiting.popleft()

    def _leave_out(self) -> None:
        for pieces in self._open.values():
            for number, piece in enumerate(pieces):
                piece.settled += "" if number else MARK
                piece.loose, piece.touched = "", True
        self._open.clear()

    def _hand_out(self, piece: _Piece) -> None:
        delta = piece.delta
        if piece.touched:  # tokens spell the text once more
            delta = replace(delta, text=piece.settled, tokens=None)
        self._on_delta(delta)


def _beginning(text: str, secret: str) -> int:
    """Return how many of the last characters may be the first ones of the secret."""
    longest = min(len(text), len(secret) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(secret[:n])), 0)


def _without(text: str, start: int, end: int, found: list[int], length: int) -> str:
    """Return a stretch of a text; a secret that begins in it is a mark, the rest of one nothing."""
    kept, at = [], start
    for place in found:
        if place + length <= at or place >= end:
            continue
        kept.append(text[at : max(place, at)])
        if place >= at:
            kept.append(MARK)
        at = min(place + length, end)
    kept.append(text[at:end] if at < end else "")
    return "".join(kept)
