"""How a body's bytes arrive: chunked or by length, and compressed.

Knows RFC 9112 chunks and the gzip and deflate encodings, bytes in and bytes out, in constant
memory. Must not know what the bytes say.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import Final, Protocol

GZIP_START: Final = b"\x1f\x8b"
_SIZE_LINE: Final = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;[^\r\n]*)?\r?\n")
_LONGEST_LINE: Final = 4096
_PIECE: Final = 1 << 20
"""Bytes that are decompressed at once, however well they are packed."""


class BadTransfer(ValueError):
    """Bytes that are not as the head says; `consumed` of the given ones were still right."""

    def __init__(self, reason: str, consumed: int) -> None:
        super().__init__(reason)
        self.consumed = consumed


class Dechunker:
    """Takes a chunked body apart; `feed` yields the content of chunks, a long one in pieces."""

    def __init__(self) -> None:
        self._pending = b""
        self._left = 0
        self._state = "size"

    @property
    def is_whole(self) -> bool:
        """Whether the last chunk and the end after it came."""
        return self._state == "end"

    @property
    def is_between(self) -> bool:
        """Whether what was yielded last is the end of a chunk."""
        return not self._left

    def feed(self, raw: bytes) -> Iterator[bytes]:
        """Yield content; raise BadTransfer for bytes that are no chunk, or follow the last one."""
        data = self._pending + raw
        before = len(self._pending)
        at = 0
        self._pending = b""
        while at < len(data):
            if self._state == "data":
                piece = data[at : at + self._left]
                at += len(piece)
                self._left -= len(piece)
                if not self._left:
                    self._state = "after data"
                yield piece
                continue
            end = data.find(b"\n", at) + 1
            if self._state == "end":
                raise BadTransfer("bytes follow the last chunk", max(at - before, 0))
            if not end:
                self._pending = data[at:]
                if len(self._pending) > _LONGEST_LINE:
                    raise BadTransfer("this is no chunk of a chunked body", max(at - before, 0))
                return
            self._line(data[at:end], max(at - before, 0))
            at = end

    def _line(self, line: bytes, consumed: int) -> None:
        is_empty = not line.strip(b"\r\n")
        if self._state == "size":
            size = _SIZE_LINE.fullmatch(line)
            if size is None:
                raise BadTransfer("this is no size of a chunk", consumed)
            self._left = int(size[1], 16)
            self._state = "data" if self._left else "trailer"
        elif self._state == "trailer":
            self._state = "end" if is_empty else "trailer"
        elif is_empty:
            self._state = "size"
        else:
            raise BadTransfer("a chunk is longer than its size says", consumed)


def looks_chunked(start: bytes) -> bool | None:
    """Whether a body starts with the size of a chunk; None while it cannot be told.

    Tools such as `curl -i` print the head as it came and the body without its chunks.
    """
    line, ended, _ = start.partition(b"\n")
    if ended:
        return _SIZE_LINE.fullmatch(line + b"\n") is not None
    return None if len(start) < _LONGEST_LINE else False


class Decoder(Protocol):
    """Undoes one content encoding."""

    @property
    def is_whole(self) -> bool:
        """Whether the compressed data came to its end."""

    def feed(self, raw: bytes) -> Iterator[bytes]:
        """Yield what `raw` unpacks to; raise BadTransfer where it cannot be unpacked."""


class Inflater:
    """Unpacks gzip (several members too) or deflate, with or without the zlib wrapper."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._window = 31 if encoding == "gzip" else 15
        self._inflate = zlib.decompressobj(self._window)
        self._started = False
        self._ended = False

    @property
    def is_whole(self) -> bool:
        """Whether the compressed data came to its end."""
        return self._ended

    def feed(self, raw: bytes) -> Iterator[bytes]:
        """Yield what `raw` unpacks to, at most a mebibyte at once; raise BadTransfer."""
        rest, held_back = raw, False
        while rest or held_back:
            if self._ended:
                self._ended = False
                self._inflate = zlib.decompressobj(self._window)
            elif not self._started and self._window == 15 and rest[0] & 0x0F != 8:
                self._inflate = zlib.decompressobj(-15)  # deflate without the wrapper, as some send
            self._started = True
            try:
                piece = self._inflate.decompress(rest, _PIECE)
            except zlib.error:
                reason = f"this is no {self._encoding} data"
                raise BadTransfer(reason, len(raw) - len(rest)) from None
            self._ended = self._inflate.eof
            rest = self._inflate.unused_data if self._ended else self._inflate.unconsumed_tail
            held_back = len(piece) == _PIECE and not self._ended
            if piece:
                yield piece


ENCODINGS: Final = ("gzip", "x-gzip", "deflate")


def decoder_of(encoding: str) -> Decoder | None:
    """Return a decoder of a content encoding, None for one that is not known here."""
    if encoding not in ENCODINGS:
        return None
    return Inflater("deflate" if encoding == "deflate" else "gzip")
