"""A tokenizer over a fixed vocabulary: longest match, and no guess about what it cannot cover.

Knows pieces and ids. Must not know templates, models or traces.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tracediff.errors import TokenizerError


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a prompt: either one control token or ordinary text.

    Keeping the two apart is what prevents text that merely spells a control token from becoming
    one.
    """

    text: str
    is_control: bool = False


class Tokenizer:
    """Maps text to ids by the longest piece that fits at each position, and back.

    `pieces` maps ids to spellings; `control_ids` are the ids that only control segments produce.
    """

    def __init__(self, pieces: Mapping[int, str], control_ids: Iterable[int]) -> None:
        controls = frozenset(control_ids)
        self._pieces = dict(pieces)
        self._control = {self._pieces[key]: key for key in sorted(controls)}
        self._ordinary = {
            piece: key for key, piece in sorted(self._pieces.items()) if key not in controls
        }
        self._longest = max(len(piece) for piece in self._ordinary)

    def encode(self, segments: Iterable[Segment]) -> list[int]:
        """Return the ids of all segments in order.

        Raises TokenizerError with the byte offset within its segment where no piece fits.
        """
        ids: list[int] = []
        for segment in segments:
            if segment.is_control:
                ids.append(self._control_id(segment.text))
            else:
                ids.extend(self._encode_text(segment.text))
        return ids

    def decode(self, token: int) -> str:
        """Return the spelling of one id."""
        return self._pieces[token]

    def _control_id(self, text: str) -> int:
        if text not in self._control:
            raise TokenizerError(text, 0, text)
        return self._control[text]

    def _encode_text(self, text: str) -> list[int]:
        ids = []
        start = 0
        while start < len(text):
            piece = self._longest_piece(text, start)
            if piece is None:
                offset = len(text[:start].encode("utf-8", "surrogatepass"))
                raise TokenizerError(text, offset, text[start:])
            ids.append(self._ordinary[piece])
            start += len(piece)
        return ids

    def _longest_piece(self, text: str, start: int) -> str | None:
        for length in range(min(self._longest, len(text) - start), 0, -1):
            candidate = text[start : start + length]
            if candidate in self._ordinary:
                return candidate
        return None
