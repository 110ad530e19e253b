"""Reads a capture: the raw bytes of one answer, with or without the head of its HTTP response.

Knows how the two are told apart. Must not know files.
"""

from __future__ import annotations

from collections.abc import Callable

from tracediff.streaming.body import BodyReader
from tracediff.streaming.ending import Incomplete
from tracediff.streaming.http_head import HTTP, Head, split_head
from tracediff.streaming.transfer import GZIP_START, BadTransfer, Inflater

OpenBody = Callable[[Head | None, int], BodyReader]
"""Makes the reader of the body that follows a head, given the body's offset."""


class CaptureReader:
    """Reads one capture; `feed` takes its bytes in pieces of any size.

    A capture that was compressed as a file is unpacked first, head and body alike.
    """

    def __init__(self, open_body: OpenBody) -> None:
        self._open_body = open_body
        self._start = b""
        self._size = 0
        self._unpack: Inflater | None = None
        self._body: BodyReader | None = None
        self._problem: Incomplete | None = None

    def feed(self, raw: bytes) -> None:
        """Read the next bytes; whatever they are, nothing is raised."""
        self._size += len(raw)
        if self._unpack is None and self._body is None:
            raw, self._start = self._start + raw, b""
            if GZIP_START.startswith(raw[: len(GZIP_START)]) and len(raw) < len(GZIP_START):
                self._start = raw
                return
            self._unpack = Inflater("gzip") if raw.startswith(GZIP_START) else None
        if self._unpack is None:
            self._read(raw)
        elif self._problem is None:
            self._read_packed(self._unpack, raw)

    def close(self) -> Incomplete | None:
        """Return why the answer is not whole, None where it is."""
        found = self._close()
        if self._unpack is None or self._problem is not None:
            return found
        if not self._unpack.is_whole:
            events = 0 if self._body is None else self._body.events
            return Incomplete("the compressed capture ends before its end", self._size, events)
        # Offsets in what was unpacked would not be found in the file.
        return found and Incomplete(found.reason, self._size if found.byte else 0, found.events)

    def _close(self) -> Incomplete | None:
        if self._problem is not None:
            return self._problem
        if self._body is not None:
            return self._body.close()
        if not self._size:
            return Incomplete("the capture is empty", 0, 0)
        if self._start and not HTTP.startswith(self._start[: len(HTTP)]):
            return Incomplete("the body is empty", self._size, 0)
        return Incomplete("it ends inside the HTTP head", self._size, 0)

    def _read_packed(self, unpack: Inflater, raw: bytes) -> None:
        before = self._size - len(raw)
        try:
            for piece in unpack.feed(raw):
                self._read(piece)
        except BadTransfer as error:
            events = 0 if self._body is None else self._body.events
            self._problem = Incomplete(str(error), before + error.consumed, events)

    def _read(self, raw: bytes) -> None:
        if self._body is not None:
            self._body.feed(raw)
        elif self._problem is None:
            self._start += raw
            self._find_head()

    def _find_head(self) -> None:
        start = self._start
        if HTTP.startswith(start):
            return
        try:
            found = split_head(start) if start.startswith(HTTP) else (None, 0)
        except ValueError as error:
            self._problem = Incomplete(str(error), 0, 0)
            return
        if found is None:
            return
        head, at = found
        self._start = b""
        self._body = self._open_body(head, at)
        self._body.feed(start[at:])
