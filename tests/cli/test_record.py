"""The command record: asks a server on the loopback and records what it answers."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from streaming.wire import block, chat, http, message, say, usage

pytest.importorskip("httpx", reason="needs httpx: pip install 'tracediff[record]'")
pytestmark = pytest.mark.record

Command = Callable[..., Any]
SECRET = "sk-very-secret"
CHAT = chat(say("Hel", "lo"), usage(3, 2))
WHOLE = {
    "object": "chat.completion",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "a"}, "finish_reason": "stop"}
    ],
}


class Handler(BaseHTTPRequestHandler):
    """Answers by the first part of the path; remembers what it was sent."""

    seen: list[dict[str, Any]]
    failures: int

    def do_POST(self) -> None:
        length = int(self.headers["content-length"])
        self.seen.append({"fields": dict(self.headers), "body": self.rfile.read(length)})
        way = self.path.split("/")[1]
        if way == "limited" and len(self.seen) == 1:
            self._send(429, b'{"error":{"type":"rate_limit_error"}}', "application/json", "0")
        elif way == "whole":
            self._send(200, json.dumps(WHOLE).encode(), "application/json")
        elif way == "wrong":
            told = {"error": {"type": "authentication_error", "message": f"not {SECRET}"}}
            self._send(401, json.dumps(told).encode(), "application/json")
        elif way == "later":
            self._send(503, b"", "application/json", "3600")
        elif way == "echo":
            echoed = chat(say("it is sk-", "very-sec", "ret."))
            self._send(200, echoed, "text/event-stream")
        elif way == "page":
            self._send(200, b"<html></html>", "text/html")
        elif way == "dropped":
            self._send(200, CHAT[:500], "text/event-stream", length=len(CHAT))
        elif self.path.endswith("messages"):
            self._send(200, message(block(0, "text", "Hello")), "text/event-stream")
        else:
            self._send(200, CHAT, "text/event-stream")

    def _send(
        self, status: int, body: bytes, kind: str, after: str = "", length: int | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(length or len(body)))
        if after:
            self.send_header("Retry-After", after)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the address of a server, and the list of what it was sent."""
    seen: list[dict[str, Any]] = []
    handler = type("Remembering", (Handler,), {"seen": seen})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as found:
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{found.server_address[1]}", seen
        found.shutdown()
        thread.join()


Server = tuple[str, list[dict[str, Any]]]


def record(tracediff: Command, folder: Path, url: str, *arguments: str, **environment: str) -> Any:
    """Record a request for a stream into a.jsonl."""
    (folder / "r.json").write_text('{"model":"m","stream":true,"messages":[]}')
    plain = {"OPENAI_API_KEY": "", "ANTHROPIC_API_KEY": "", "NO_PROXY": "127.0.0.1"}
    options = ("--request", "r.json", "-o", "a.jsonl", *arguments)
    return tracediff("record", url, *options, **{**plain, **environment})


def test_an_answer(tracediff: Command, tmp_path: Path, server: Server) -> None:
    """The body is sent as it is with the key; the trace has neither key nor address."""
    url, seen = server
    done = record(
        tracediff, tmp_path, f"{url}/v1/chat/completions?x={SECRET}", OPENAI_API_KEY=SECRET
    )
    assert (done.status, done.err) == (0, "")
    assert "Hello" in done.out
    assert seen[0]["body"] == (tmp_path / "r.json").read_bytes()
    fields = {name.lower(): value for name, value in seen[0]["fields"].items()}
    assert fields["authorization"] == f"Bearer {SECRET}"
    written = [path.read_text("utf-8") for path in tmp_path.glob("a.*")]
    assert len(written) == 2, "a trace and its timing sidecar"
    assert not any(SECRET in text or "127.0.0.1" in text for text in written)
    assert tracediff("check", "a.jsonl").status == 0


@pytest.mark.parametrize("request_file", [(), ("--request", "r.json")], ids=["alone", "request"])
@pytest.mark.parametrize("head", [True, False], ids=["head", "no-head"])
def test_recorded_equals_imported(
    head: bool,
    request_file: tuple[str, ...],
    tracediff: Command,
    tmp_path: Path,
    server: Server,
) -> None:
    """What is recorded live equals an import of its capture; what that lacks is said."""
    record(tracediff, tmp_path, f"{server[0]}/v1/chat/completions")
    headed = http(CHAT, f"Content-Length: {len(CHAT)}", "Content-Type: text/event-stream")
    (tmp_path / "b.sse").write_bytes(headed if head else CHAT)
    tracediff("import", "sse", "b.sse", "--api", "openai-chat", "-o", "b.jsonl", *request_file)
    for pair in (("a.jsonl", "b.jsonl"), ("b.jsonl", "a.jsonl")):
        done = tracediff("diff", *pair)
        assert (done.status, done.out.split()[0]) == (0, "EQUAL")
        assert ("requests not compared" in done.out) is (not request_file)
        assert ("status and content type not compared" in done.out) is (not head)


def test_a_key_in_pieces(tracediff: Command, tmp_path: Path, server: Server) -> None:
    """A key that the server tells back in pieces is neither recorded nor printed."""
    done = record(
        tracediff, tmp_path, f"{server[0]}/echo/v1/chat/completions", OPENAI_API_KEY=SECRET
    )
    assert done.status == 0
    assert "***" in done.out
    written = "".join(path.read_text("utf-8") for path in tmp_path.glob("a.*"))
    for text in (done.out, done.err, written):
        assert SECRET not in text
    assert tracediff("check", "a.jsonl").status == 0


def test_a_wait_that_is_too_long(tracediff: Command, tmp_path: Path, server: Server) -> None:
    """A server that wants to be asked much later is told, and that this was not done."""
    done = record(tracediff, tmp_path, f"{server[0]}/later/v1/chat/completions")
    assert done.status == 2
    assert "the server answers 503" in done.err
    assert "asks to wait 3600 s, which goes beyond the 60 s of --max-time" in done.err


@pytest.mark.parametrize(
    ("path", "result"),
    [
        pytest.param("limited/v1/chat/completions", "Hello", id="tried-again"),
        pytest.param("v1/messages", "Hello", id="messages"),
        pytest.param("whole/v1/chat/completions", "a", id="not-streamed"),
    ],
)
def test_further_answers(
    path: str, result: str, tracediff: Command, tmp_path: Path, server: Server
) -> None:
    """The API is guessed from the path; transient errors are tried again."""
    done = record(tracediff, tmp_path, f"{server[0]}/{path}", "--json")
    assert (done.status, json.loads(done.out)["result"]) == (0, result)


def test_an_error_is_an_answer(tracediff: Command, tmp_path: Path, server: Server) -> None:
    """An error is recorded and breaks a rule; what it tells is shown without the key."""
    url = f"{server[0]}/wrong/v1/chat/completions"
    done = record(tracediff, tmp_path, url, "--key-env", "MINE", MINE=SECRET)
    assert done.status == 1
    assert "authentication_error" in done.out
    assert SECRET not in done.out + done.err + (tmp_path / "a.jsonl").read_text("utf-8")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        pytest.param("page", "content type 'text/html'", id="page"),
        pytest.param("dropped", "the connection ends before the body does", id="dropped"),
    ],
)
def test_incomplete(
    path: str, reason: str, tracediff: Command, tmp_path: Path, server: Server
) -> None:
    """No whole answer is one line with its reason, a partial trace, and status 2."""
    done = record(tracediff, tmp_path, f"{server[0]}/{path}/v1/chat/completions?key={SECRET}")
    assert (done.status, done.out) == (2, "")
    assert reason in done.err
    assert SECRET not in done.err
    assert done.err.count("\n") == 1
    assert (tmp_path / "a.jsonl.partial").exists()


def test_nobody_there(tracediff: Command, tmp_path: Path) -> None:
    """A server that cannot be reached is tried again, and then there is no answer."""
    url = "http://127.0.0.1:9/v1/chat/completions"
    done = record(tracediff, tmp_path, url, "--tries", "2")
    assert done.status == 2
    assert "there is no answer" in done.err


@pytest.mark.parametrize(
    ("url", "arguments", "message"),
    [
        pytest.param("http://127.0.0.1/v1", (), "does not say which API", id="no-api"),
        pytest.param("http://127.0.0.1/v1", ("--api", "x"), "no API 'x'", id="unknown-api"),
        pytest.param("ftp://127.0.0.1/v1/messages", (), "no http or https URL", id="scheme"),
        pytest.param("127.0.0.1:80/v1/messages", (), "begins with http:// or https://",
                     id="no-scheme"),
        pytest.param("me:word@127.0.0.1:80/v1/x", (), "path of '127.0.0.1:80/v1/x'",
                     id="password"),
        pytest.param("http://127.0.0.1/v1/messages", ("--key-env", "NONE"), "no variable 'NONE'",
                     id="no-key"),
        pytest.param("http://127.0.0.1/v1/messages", ("--request", "no.json"), "no.json",
                     id="no-request"),
    ],
)  # fmt: skip
def test_wrong_requests(
    url: str, arguments: tuple[str, ...], message: str, tracediff: Command, tmp_path: Path
) -> None:
    """What cannot be asked is one line and status 2, and leaves no file."""
    done = record(tracediff, tmp_path, url, *arguments)
    assert not [*tmp_path.glob("a.*")]
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert done.err.count("\n") == 1
