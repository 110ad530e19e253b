"""One try: a request that is sent, and the response as it comes or why there is none.

Knows httpx. Must not know what is recorded, or whether there is a next try.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from typing import Final
from urllib.parse import urlsplit

import httpx

from tracediff.client.keys import Key, key_fields
from tracediff.client.retrying import TRANSIENT, error_code
from tracediff.errors import UsageError
from tracediff.streaming.http_head import Head, head_of
from tracediff.streaming.transfer import BadTransfer, Decoder, decoder_of

LONGEST_ERROR: Final = 1 << 18
"""Bytes of an error's body that are looked at for its code."""

_BROKEN = (httpx.ConnectError, httpx.ConnectTimeout, httpx.NetworkError, httpx.ProtocolError)
"""What happens to a connection before its first byte and may not happen the next time."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: the URL, the body as it is sent, the API, and the key."""

    url: str
    body: bytes
    api: str
    key: Key = field(default_factory=Key)


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Why there is no response: `error` in one word, `reason` for people."""

    error: str
    reason: str
    is_transient: bool


class Exchange:
    """A response whose body is still to come."""

    def __init__(self, response: httpx.Response, secret: str) -> None:
        fields = response.headers.multi_items()
        if secret:
            fields = [(name, value.replace(secret, "***")) for name, value in fields]
        self.head: Head = head_of(response.status_code, fields)
        waits = [value for name, value in fields if name.lower() == "retry-after"]
        self.retry_after: str = waits[0] if waits else ""
        self.is_delimited = (
            self.head.chunked or self.head.length is not None or response.http_version == "HTTP/2"
        )
        self._secret = secret
        self._raw = response.iter_raw()
        self._begun: list[bytes] = []
        self._cut: httpx.HTTPError | None = None

    def error_code(self) -> str:
        """Return the code of a transient error, which is in its body; "" where it tells none."""
        if self.head.status not in TRANSIENT:
            return ""
        try:
            while sum(map(len, self._begun)) < LONGEST_ERROR:
                self._begun.append(next(self._raw))
        except StopIteration:
            pass
        except httpx.HTTPError as error:
            self._cut = error
        return error_code(_unpacked(b"".join(self._begun), self.head)).replace(
            self._secret or "\0", "***"
        )

    def chunks(self) -> Iterator[bytes]:
        """Yield the body as it came, packed and without its chunk sizes; raise CutShort."""
        yield from self._begun
        try:
            if self._cut is not None:
                raise self._cut
            yield from self._raw
        except httpx.HTTPError as error:
            raise CutShort(tell(error, self._secret)) from None


class CutShort(Exception):
    """The connection ended before the body did."""


def shown_url(url: str) -> str:
    """Return a URL as messages may show it: without user, password, query and fragment."""
    try:
        parts = urlsplit(url)
        port = "" if parts.port is None else f":{parts.port}"
    except ValueError:
        return "the URL"
    if not parts.hostname:
        return repr(url.partition("?")[0].partition("#")[0].rpartition("@")[2])[:100]
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"


def check_url(url: str) -> None:
    """Raise UsageError for a URL that cannot be asked."""
    try:
        parts = httpx.URL(url)
        is_asked = parts.scheme in ("http", "https") and bool(parts.host)
    except (httpx.InvalidURL, ValueError, TypeError):
        is_asked = False
    if not is_asked:
        raise UsageError(
            f"{shown_url(url)} is no http or https URL; one begins with http:// or https://"
        )


@contextmanager
def send(client: httpx.Client, question: Question) -> Iterator[Exchange | NoAnswer]:
    """Send a request once. Raises UsageError for a URL that cannot be asked."""
    fields = {"content-type": "application/json", "accept-encoding": "gzip, deflate"}
    fields |= key_fields(question.api, question.key)
    secret = question.key.secret
    try:
        request = client.build_request("POST", question.url, content=question.body, headers=fields)
        # User and password of the URL would else take the place of the key.
        own = httpx.Auth() if secret else httpx.USE_CLIENT_DEFAULT
        response = client.send(request, stream=True, auth=own)
    except (httpx.UnsupportedProtocol, httpx.InvalidURL, ValueError):
        raise UsageError(f"{shown_url(question.url)} is no http or https URL") from None
    except _BROKEN as error:
        yield NoAnswer("connection", tell(error, secret), is_transient=True)
    except httpx.TimeoutException:
        yield NoAnswer("timeout", "the server did not answer in time", is_transient=False)
    except httpx.HTTPError as error:
        yield NoAnswer("connection", tell(error, secret), is_transient=False)
    else:
        try:
            yield Exchange(response, secret)
        finally:
            response.close()


def tell(error: Exception, secret: str) -> str:
    """Return what an error says, without the key."""
    told = str(error) or type(error).__name__
    return (told.replace(secret, "***") if secret else told)[:200]


def _unpacked(body: bytes, head: Head) -> bytes:
    decoders = [decoder_of(encoding) for encoding in reversed(head.encodings)]
    known = [decoder for decoder in decoders if decoder is not None]
    try:
        contents: Iterator[bytes] = reduce(_through, known, iter((body,)))
        return b"".join(contents)
    except BadTransfer:
        return b""


def _through(contents: Iterator[bytes], decoder: Decoder) -> Iterator[bytes]:
    for content in contents:
        yield from decoder.feed(content)
