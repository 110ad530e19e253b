"""Reads a capture: the raw bytes of one answer, with or without the head of its HTTP response.

Knows how the two are told apart. Must not know files.
"""

from __future__ import annotations

from collections.abc import Callable

from tracediff.streaming.body import BodyReader
from tracediff.streaming.ending import Incomplete
from tracediff.streaming.http_head import HTTP, Head, split_head

OpenBody = Callable[[Head | None, int], BodyReader]
"""Makes the reader of the body that follows a head, given the body's offset."""


class CaptureReader:
    """Reads one capture; `feed` takes its bytes in pieces of any size."""

    def __init__(self, open_body: OpenBody) -> None:
        self._open_body = open_body
        self._start = b""
        self._size = 0
        self._body: BodyReader | None = None
        self._problem: Incomplete | None = None

    def feed(self, raw: bytes) -> None:
        """Read the next bytes; whatever they are, nothing is raised."""
        self._size += len(raw)
        if self._body is not None:
            self._body.feed(raw)
        elif self._problem is None:
            self._start += raw
            self._find_head()

    def close(self) -> Incomplete | None:
        """Return why the answer is not whole, None where it is."""
        if self._body is not None:
            return self._body.close()
        if self._problem is not None:
            return self._problem
        if not self._size:
            return Incomplete("the capture is empty", 0, 0)
        return Incomplete("it ends inside the HTTP head", self._size, 0)

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
