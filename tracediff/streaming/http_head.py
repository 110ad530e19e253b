"""The head of an HTTP response: status and the few fields that say how its body is to be read.

Knows bytes and field names. Must not know bodies.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

HTTP: Final = b"HTTP/"
LONGEST_HEAD: Final = 1 << 18
"""Bytes that a head may have."""

_STATUS_LINE: Final = re.compile(rb"HTTP/\d(?:\.\d)? +(\d{3})(?: |$)")
_TUNNEL: Final = re.compile(rb"HTTP/\d(?:\.\d)? +200 connection established", re.IGNORECASE)
_END: Final = re.compile(rb"\r?\n\r?\n")
_REQUEST_IDS: Final = ("x-request-id", "request-id")


@dataclass(frozen=True, slots=True)
class Head:
    """Status, media type, encodings as they were applied, and how the body is delimited.

    `length` is the stated length of the body in bytes; `request_id` what the server calls it.
    """

    status: int
    media_type: str = ""
    encodings: tuple[str, ...] = ()
    chunked: bool = False
    length: int | None = None
    request_id: str = ""

    @property
    def status_class(self) -> str:
        """`2xx` of 200."""
        return f"{self.status // 100}xx"


def head_of(status: int, fields: Iterable[tuple[str, str]]) -> Head:
    """Return the head of a status and its fields, whose names may have any case."""
    known: dict[str, list[str]] = {}
    for name, value in fields:
        known.setdefault(name.strip().lower(), []).append(value.strip())

    def words(name: str) -> list[str]:
        listed = ",".join(known.get(name, ())).lower().split(",")
        return [word.strip() for word in listed if word.strip()]

    lengths = {word for word in words("content-length") if word.isascii() and word.isdigit()}
    media = known.get("content-type", [""])[0].partition(";")[0].strip().lower()
    ids = [known[name][0] for name in _REQUEST_IDS if name in known]
    return Head(
        status,
        media,
        tuple(word for word in words("content-encoding") if word != "identity"),
        "chunked" in words("transfer-encoding"),
        int(lengths.pop()[:18]) if len(lengths) == 1 else None,
        ids[0] if ids else "",
    )


def split_head(raw: bytes) -> tuple[Head, int] | None:
    """Return the head at the start of `raw` and where its body starts, None while it is not whole.

    Heads of interim answers (1xx) and of a proxy's tunnel before it are skipped. Raises ValueError
    for bytes that are no head.
    """
    start = 0
    while True:
        end = _END.search(raw, start)
        if end is None:
            if len(raw) - start > LONGEST_HEAD:
                raise ValueError(f"the HTTP head is longer than {LONGEST_HEAD} bytes")
            return None
        lines = raw[start : end.start()]
        head = _parse_head(lines)
        start = end.end()
        if head.status >= 200 and not _TUNNEL.match(lines):
            return head, start


def _parse_head(raw: bytes) -> Head:
    first, *lines = raw.split(b"\n")
    found = _STATUS_LINE.match(first.rstrip(b"\r"))
    if found is None:
        raise ValueError("the first line is no HTTP status line")
    fields = (line.decode("latin-1").partition(":") for line in lines)
    return head_of(int(found[1]), ((name, value) for name, _, value in fields))
