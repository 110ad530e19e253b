"""A server in this process on a free port of the loopback, and a client that hides nothing."""

import http.client
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import urlsplit

from tracediff.events import Trace
from tracediff.storage import read_trace

QUESTION = "天空为什么是蓝色？"
ANSWER = "短波蓝光的散射通常更强。"
CHAT, MESSAGES = "/v1/chat/completions", "/v1/messages"
TEXT_MODEL, TOOL_MODEL = "toy-decoder-v1", "toy-tool-decoder-v1"
PATIENCE_SECONDS = 30


@contextmanager
def serving(**options: Any) -> Iterator[str]:
    """Serve with these options; yield the address."""
    from tracediff.serving.application import ServeOptions, build_application
    from tracediff.serving.run_server import Server, bind

    with bind("127.0.0.1", 0) as bound:
        bound.listen(128)
        server = Server(build_application(ServeOptions(**options)), Event())
        thread = threading.Thread(target=server.serve_on, args=(bound,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{bound.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(PATIENCE_SECONDS)
            assert not thread.is_alive()


@dataclass(frozen=True)
class Answered:
    """What came back: status, headers, the chunks, and whether the response had its end."""

    status: int
    headers: Mapping[str, str]
    chunks: list[bytes] = field(default_factory=list)
    is_whole: bool = True

    @property
    def body(self) -> bytes:
        """All bytes."""
        return b"".join(self.chunks)

    @property
    def json(self) -> Any:
        """The body as a document."""
        return json.loads(self.body)

    @property
    def events(self) -> list[Any]:
        """The data of every server-sent event: documents, and texts that are none."""
        lines = self.body.decode().split("\n")
        data = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
        return [json.loads(text) if text.startswith("{") else text for text in data]


def post(address: str, path: str, body: Any, fault: str | None = None) -> Answered:
    """Send a body (bytes as they are, else as JSON) and read all of the response."""
    place = urlsplit(address)
    connection = http.client.HTTPConnection(
        str(place.hostname), place.port, timeout=PATIENCE_SECONDS
    )
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"content-type": "application/json"}
    if fault is not None:
        headers["x-tracediff-fault"] = fault
    try:
        connection.request("POST", path, content, headers)
        response = connection.getresponse()
        chunks, is_whole = _read(response)
        found = {key.lower(): value for key, value in response.getheaders()}
        return Answered(response.status, found, chunks, is_whole)
    finally:
        connection.close()


def _read(response: http.client.HTTPResponse) -> tuple[list[bytes], bool]:
    chunks: list[bytes] = []
    try:
        while chunk := response.read1():
            chunks.append(chunk)
    except http.client.IncompleteRead:
        return chunks, False
    return chunks, True


def chat(text: str = QUESTION, model: str = TEXT_MODEL, **fields: Any) -> dict[str, Any]:
    """Return the body of a chat completion."""
    return {"model": model, "messages": [{"role": "user", "content": text}], **fields}


def message(text: str = QUESTION, model: str = TEXT_MODEL, **fields: Any) -> dict[str, Any]:
    """Return the body of a message."""
    return {"max_tokens": 8, **chat(text, model), **fields}


def recorded(folder: Path, number: int) -> Trace:
    """Return the trace of a request, when it is there: what was given up is recorded later."""
    path = folder / f"req-{number:06d}.jsonl"
    until = time.monotonic() + PATIENCE_SECONDS
    while not path.exists() and time.monotonic() < until:
        time.sleep(0.01)
    return read_trace(path)


def choice(trace: Trace, event_type: str) -> Any:
    """Return the choice of the one event of a type."""
    (found,) = (event for event in trace.events if event.event_type == event_type)
    return found.payload["choice"]
