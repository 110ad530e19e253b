"""One part of an answer: a text, a refusal, thinking, the arguments of one tool call.

Knows text that grows. Must not know APIs.
"""

from __future__ import annotations

from io import StringIO
from typing import Final, NamedTuple

TEXT: Final = "text"
REFUSAL: Final = "refusal"
THINKING: Final = "thinking"
TOOL_CALL: Final = "tool_call"
OTHER: Final = "other"


class PartKey(NamedTuple):
    """Which part: the answer it belongs to (of `n` that were asked for), kind, number in kind."""

    choice: int
    kind: str
    number: int


class Part:
    """A part that grows; `deltas` counts the pieces handed out so far.

    Half a surrogate pair at the end of a piece waits for the other half, so that a character which
    a server cuts in two is one character, and one that never becomes whole survives as it is.
    `secret` is left out of the text.
    """

    __slots__ = ("_held", "_secret", "_text", "call_id", "deltas", "key", "name")

    def __init__(self, key: PartKey, secret: str = "") -> None:
        self.key = key
        self._secret = secret
        self.name = ""
        self.call_id = ""
        self.deltas = 0
        self._held = ""
        self._text = StringIO(newline="")

    @property
    def label(self) -> str:
        """`tool_call 0`."""
        return f"{self.key.kind} {self.key.number}"

    @property
    def text(self) -> str:
        """Everything that came, without the secret."""
        text = self._text.getvalue() + self._held
        return text.replace(self._secret, "***") if self._secret else text

    def grow(self, piece: str) -> str:
        """Append a piece that is not empty; return what can be handed out, empty if nothing."""
        last = piece[-1]
        if self._held or "\ud800" <= last <= "\udbff":
            piece = self._completed(piece)
            if not piece:
                return ""
        self._text.write(piece)
        self.deltas += 1
        return piece

    def flush(self) -> str:
        """Return the half that waited in vain."""
        held, self._held = self._held, ""
        if held:
            self._text.write(held)
            self.deltas += 1
        return held

    def _completed(self, piece: str) -> str:
        piece = self._held + piece
        self._held = ""
        if "\ud800" <= piece[-1] <= "\udbff":
            piece, self._held = piece[:-1], piece[-1]
        paired = piece.encode("utf-16-le", "surrogatepass")
        return paired.decode("utf-16-le", "surrogatepass") if _pairs_up(paired) else piece


def _pairs_up(paired: bytes) -> bool:
    try:
        paired.decode("utf-16-le")
    except UnicodeDecodeError:
        return False
    return True
