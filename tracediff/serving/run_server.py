"""Runs the application on a socket until it is told to stop.

Knows uvicorn and sockets. Must not know the application's routes.
"""

from __future__ import annotations

import errno
import logging
import socket
from collections.abc import Callable
from threading import Event
from types import FrameType

import uvicorn
from fastapi import FastAPI

from tracediff.errors import UsageError

DRAIN_SECONDS = 5


class Server(uvicorn.Server):
    """A server on a bound socket; when it is told to stop it sets `closing` first."""

    def __init__(self, application: FastAPI, closing: Event) -> None:
        config = uvicorn.Config(
            application,
            log_level="error",
            access_log=False,
            lifespan="on",
            timeout_graceful_shutdown=DRAIN_SECONDS,
        )
        super().__init__(config)
        self._closing = closing
        logging.getLogger("uvicorn.error").addFilter(_is_no_dropped_connection)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take a signal: answers that are under way break off at once."""
        self._closing.set()
        super().handle_exit(sig, frame)

    def serve_on(self, bound: socket.socket) -> None:
        """Serve until `should_exit` is set or an interruption arrives."""
        self.run(sockets=[bound])


def _is_no_dropped_connection(record: logging.LogRecord) -> bool:
    """Whether a line of the log is about anything but an answer that was broken off on purpose."""
    return "without completing response" not in record.getMessage()


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes any free one. Raises UsageError."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        bound = socket.socket(family, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
    except OSError as error:
        in_use = error.errno == errno.EADDRINUSE
        advice = "choose another --port" if in_use else "check --host and --port"
        raise UsageError(
            f"cannot listen on {host} port {port}: {error.strerror}; {advice}"
        ) from None
    return bound


def serve(
    application: FastAPI,
    host: str,
    port: int,
    on_ready: Callable[[str], None],
    closing: Event | None = None,
) -> None:
    """Serve until interrupted; `on_ready` gets the address as soon as connections are accepted.

    An interruption sets `closing`, which is to be the application's.
    """
    bound = bind(host, port)
    bound.listen(128)
    shown = f"[{host}]" if ":" in host else host
    on_ready(f"http://{shown}:{bound.getsockname()[1]}")
    with bound:
        Server(application, closing or Event()).serve_on(bound)
