"""Sends a stream of server-sent events, and can break off as a lost connection does.

Knows ASGI. Must not know what the events say.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send


class ConnectionLost(Exception):
    """Raised by the source of a stream: the response is left without its end."""


class EventStream(Response):
    """A response whose chunks are those of the source, each sent by itself."""

    media_type = "text/event-stream"

    def __init__(self, chunks: AsyncGenerator[bytes, None], headers: Mapping[str, str]) -> None:
        super().__init__(headers={"cache-control": "no-cache", **headers})
        del self.headers["content-length"]
        self._chunks = chunks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send everything; close the source whatever happens."""
        start: dict[str, Any] = {
            "type": "http.response.start",
            "status": self.status_code,
            "headers": self.raw_headers,
        }
        await send(start)
        async with aclosing(self._chunks) as chunks:
            try:
                async for chunk in chunks:
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
            except ConnectionLost:
                return
        await send({"type": "http.response.body", "body": b"", "more_body": False})
