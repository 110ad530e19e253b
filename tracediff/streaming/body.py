"""Reads an HTTP body: takes chunks and compression off, and hands the content to an answer reader.

Knows heads, transfer codings and content encodings. Must not know what the content says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from typing import Final

from tracediff.streaming.answer import AnswerReader
from tracediff.streaming.ending import Incomplete
from tracediff.streaming.http_head import Head
from tracediff.streaming.transfer import (
    BadTransfer,
    Dechunker,
    Decoder,
    decoder_of,
    looks_chunked,
)

EVENT_STREAM: Final = "text/event-stream"
_FORMS: Final = {EVENT_STREAM: "sse", "application/json": "json", "": None}
_PLAIN: Final = (b"data", b"event", b"id:", b"retry", b":", b"{", b"[", b"<")
"""How content starts that is not, or no longer, packed."""

_ENOUGH: Final = 6
OnChunk = Callable[[bytes, bool], None]
"""Gets a piece of a transport's chunk, and whether the chunk ends with it."""


class BodyReader:
    """Reads the body that follows `head` (None: nothing is known of it).

    `start` is the offset of the body in what was received, for messages. `framed` says whether
    `feed` gets the body with its chunk sizes, as a capture has it, or else chunk by chunk.
    `on_chunk` gets the body before it is unpacked.
    """

    def __init__(
        self,
        head: Head | None,
        answer: AnswerReader,
        *,
        start: int = 0,
        framed: bool = True,
        on_chunk: OnChunk | None = None,
    ) -> None:
        self._head = head
        self._answer = answer
        self._at = self._start = start
        self._on_chunk = on_chunk
        self._begin = b""
        self._begun = False
        self._chunks: Dechunker | None = None
        self._framed = framed and head is not None and head.chunked
        self._live = not framed
        self._packed = b""  # the first bytes of the content, until how they are packed is known
        self._decoders: list[Decoder] | None = None
        self._problem = "" if head is None else _unreadable(head)
        self._problem_at = start

    @property
    def byte(self) -> int:
        """The offset of the next byte."""
        return self._at

    @property
    def events(self) -> int:
        """How many server-sent events were whole until now."""
        return self._answer.events

    def feed(self, raw: bytes) -> None:
        """Read the next bytes; whatever they are, nothing is raised."""
        self._at += len(raw)
        if not self._begun:
            raw = self._settle(raw)
        if raw and not self._problem:
            self._read(raw)

    def close(self, *, cut: str = "", delivered: bool = False) -> Incomplete | None:
        """Return why the answer is not whole, None where it is.

        `cut` is why the connection ended early, if it did; `delivered` says that the transport
        vouches for the end of the body.
        """
        if self._begin:
            start, self._begin, self._begun = self._begin, b"", True
            self._read(start)
        if self._packed and not self._problem:
            self._answer.feed(self._packed)
        reason, at = self._problem, self._problem_at
        if not reason:
            reason, at = cut or self._cut_short(), self._at
        proved = not reason and (delivered or self._is_proved())
        found = self._answer.close(proved=proved)
        if found and self._head is not None and self._head.status >= 400:
            found = f"the server answers {self._head.status}, and {found}"
        if self._answer.lacks_start and not reason:
            return Incomplete(found, self._start, 0)
        reason = reason or found
        return Incomplete(reason, at, self._answer.events) if reason else None

    def _settle(self, raw: bytes) -> bytes:
        """Decide by the first bytes whether the body is chunked; return them when that is done.

        Tools such as `curl -i` print the head as it came and the body without its chunks.
        """
        self._begin += raw
        is_chunked = looks_chunked(self._begin) if self._framed else False
        if is_chunked is None:
            return b""
        self._begun = True
        self._chunks = Dechunker() if is_chunked else None
        start, self._begin = self._begin, b""
        return start

    def _read(self, raw: bytes) -> None:
        before = self._at - len(raw)
        try:
            for content in self._contents(raw):
                self._answer.feed(content)
        except BadTransfer as error:
            self._problem, self._problem_at = str(error), before + error.consumed
        if self._answer.failure and not self._problem:
            self._problem, self._problem_at = self._answer.failure, before

    def _contents(self, raw: bytes) -> Iterator[bytes]:
        chunks: Iterable[bytes] = (raw,) if self._chunks is None else self._chunks.feed(raw)
        for chunk in chunks:
            if self._on_chunk is not None:
                between = self._live if self._chunks is None else self._chunks.is_between
                self._on_chunk(chunk, between)
            if self._decoders is not None:
                yield from reduce(_unpacked, self._decoders, iter((chunk,)))
                continue
            self._packed += chunk
            if len(self._packed) >= _ENOUGH:
                start, self._packed = self._packed, b""
                self._decoders = self._choose_decoders(start)
                yield from reduce(_unpacked, self._decoders, iter((start,)))

    def _choose_decoders(self, start: bytes) -> list[Decoder]:
        """Return what unpacks a body that starts like this; raise BadTransfer if nothing does.

        Tools such as `curl -i --compressed` print the head as it came and the body unpacked.
        """
        is_plain = self._head is None or start.lstrip().startswith(_PLAIN)
        encodings = () if is_plain or self._head is None else self._head.encodings
        decoders = []
        for encoding in reversed(encodings):
            decoder = decoder_of(encoding)
            if decoder is None:
                raise BadTransfer(f"the content encoding {encoding:.40} is not understood", 0)
            decoders.append(decoder)
        return decoders

    def _cut_short(self) -> str:
        """Return what shows that bytes are missing, "" where nothing does."""
        if self._chunks is not None and not self._chunks.is_whole:
            return "the body ends before its last chunk"
        length = self._stated_length()
        if length is not None and self._at - self._start < length:
            return f"the body has {self._at - self._start} of {length} bytes"
        if length is not None and self._at - self._start > length:
            return f"the body has {self._at - self._start} bytes where its head says {length}"
        if any(not decoder.is_whole for decoder in self._decoders or ()):
            return "the compressed body ends before its end"
        return ""

    def _is_proved(self) -> bool:
        return self._chunks is not None or self._stated_length() is not None

    def _stated_length(self) -> int | None:
        """Return the length that the head states, None where it is not that of these bytes."""
        if self._head is None or self._head.chunked:
            return None
        if self._head.encodings and not self._decoders:
            return None  # stated for the packed body, of which this is the content
        return self._head.length


def _unpacked(contents: Iterator[bytes], decoder: Decoder) -> Iterator[bytes]:
    for content in contents:
        yield from decoder.feed(content)


def _unreadable(head: Head) -> str:
    """Return why a body of this head is not read, "" where it is."""
    if 300 <= head.status < 400:
        return f"the server answers {head.status} and points elsewhere; name the final URL"
    if head.media_type in _FORMS or head.media_type.endswith("+json"):
        return ""
    return (
        f"the server answers {head.status} with the content type {head.media_type!r:.60}; "
        f"an answer is {EVENT_STREAM} or application/json"
    )


def form_of(head: Head | None) -> str | None:
    """Return `sse` or `json` by the content type, None where it does not say."""
    if head is None:
        return None
    return "json" if head.media_type.endswith("+json") else _FORMS.get(head.media_type)
