"""Asking a server: tries, answers, and connections that end; without a network."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from streaming.wire import chat, event, packed, say

httpx = pytest.importorskip("httpx", reason="needs httpx: pip install 'tracediff[record]'")

from tracediff.client.asking import record_answer  # noqa: E402
from tracediff.client.exchange import Question, shown_url  # noqa: E402
from tracediff.client.keys import Key  # noqa: E402
from tracediff.client.retrying import Clock, RetryPolicy  # noqa: E402
from tracediff.comparison import diff_files  # noqa: E402
from tracediff.diff import Outcome  # noqa: E402
from tracediff.errors import UsageError  # noqa: E402
from tracediff.storage import TraceWriter  # noqa: E402
from tracediff.streaming.record import Recorded  # noqa: E402

pytestmark = pytest.mark.record

SECRET = "sk-very-secret"
CHAT = chat(say("Hello"))
URL = "http://user:password@host/v1/chat/completions?key=hidden"
LIMITED = {"error": {"type": "rate_limit_error", "message": "slow down"}}
QUOTA = {"error": {"type": "insufficient_quota", "message": "pay first"}}


class Broken(httpx.SyncByteStream):
    """A body whose connection is lost after its first bytes."""

    def __init__(self, begun: bytes) -> None:
        self._begun = begun

    def __iter__(self) -> Iterator[bytes]:
        yield self._begun
        raise httpx.ReadError("lost")


def answer(body: bytes = CHAT, status: int = 200, **fields: str) -> Any:
    """Return a response; its content type is that of a stream unless a field says another."""
    headers = {"content-type": "text/event-stream"}
    headers |= {name.replace("_", "-"): value for name, value in fields.items()}
    return httpx.Response(status, headers=headers, stream=httpx.ByteStream(body))


def error(status: int, body: Any = LIMITED, **fields: str) -> Any:
    """Return a response that tells an error."""
    content = json.dumps(body).encode()
    return answer(content, status, content_type="application/json",
                  content_length=str(len(content)), **fields)  # fmt: skip


class Asked:
    """A client that gets these answers one after the other, and a clock that only waiting moves."""

    def __init__(self, *answers: Any) -> None:
        self.requests: list[Any] = []
        self.waits: list[float] = []
        self._answers = list(answers)
        self._time = 0.0

    def ask(self, path: Path, policy: RetryPolicy | None = None, **question: Any) -> Recorded:
        """Ask and record into `path`."""
        asked = {"url": URL, "body": b'{"model":"m","stream":true}', "api": "openai-chat",
                 "key": Key(SECRET)} | question  # fmt: skip
        with httpx.Client(transport=httpx.MockTransport(self._answer)) as client:
            clock = Clock(lambda: 0.0, lambda: self._time, self._wait, lambda: 0.5)
            return record_answer(
                Question(**asked), lambda: TraceWriter(path), client, clock, policy or RetryPolicy()
            )

    def _wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self._time += seconds

    def _answer(self, request: Any) -> Any:
        self.requests.append(request)
        found = self._answers.pop(0)
        if isinstance(found, Exception):
            raise found
        return found


def tries_of(path: Path) -> list[dict[str, Any]]:
    """Return what was recorded of the tries."""
    events = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [e["payload"]["choice"] for e in events if e["event_type"] == "attempt.made"]


REFUSED = httpx.ConnectError("refused")
GONE = httpx.RemoteProtocolError("Server disconnected without sending a response.")


@pytest.mark.parametrize(
    ("answers", "waits"),
    [
        pytest.param([answer()], [], id="at-once"),
        pytest.param([error(429), answer()], [0.375], id="limited"),
        pytest.param([error(429, retry_after="7"), answer()], [7.0], id="limited-and-told"),
        pytest.param(
            [error(503, retry_after="Thu, 01 Jan 1970 00:00:09 GMT"), answer()], [9.0],
            id="told-a-date",
        ),
        pytest.param([error(500), error(502), answer()], [0.375, 0.75], id="twice"),
        pytest.param([REFUSED, answer()], [0.375], id="refused"),
        pytest.param([GONE, answer()], [0.375], id="gone-before-the-first-byte"),
        pytest.param([error(504, packed(b"{}").hex()), answer()], [0.375], id="odd-body"),
    ],
)  # fmt: skip
def test_tried_again(answers: list[Any], waits: list[float], tmp_path: Path) -> None:
    """Transient errors are tried again after the right time; every try is an event.

    One try that is answered is none: an import of what came has no more to tell.
    """
    asked = Asked(*answers)
    found = asked.ask(tmp_path / "a.jsonl")
    assert found.incomplete is None
    assert found.assembly.part(0, "text", 0).text == "Hello"
    assert asked.waits == waits
    tries = tries_of(tmp_path / "a.jsonl")
    told = [*["retried"] * len(waits), "answered"] if waits else []
    assert [t["outcome"] for t in tries] == told
    assert [t["number"] for t in tries] == list(range(1, len(told) + 1))


@pytest.mark.parametrize(
    ("answers", "outcome", "failure"),
    [
        pytest.param([error(429, QUOTA)], None, "insufficient_quota", id="quota"),
        pytest.param([error(401)], None, "rate_limit_error", id="not-transient"),
        pytest.param(
            [error(429), error(500), error(429)], "gave-up", "rate_limit_error", id="tries-used-up"
        ),
        pytest.param([error(429, retry_after="61")], "gave-up", "rate_limit_error",
                     id="told-too-long"),
    ],
)  # fmt: skip
def test_given_up(answers: list[Any], outcome: str | None, failure: str, tmp_path: Path) -> None:
    """The last error is the answer, with what it tells."""
    asked = Asked(*answers)
    found = asked.ask(tmp_path / "a.jsonl")
    assert len(asked.requests) == len(answers)
    assert found.incomplete is None
    assert found.assembly.failure is not None
    assert found.assembly.failure.type == failure
    tries = tries_of(tmp_path / "a.jsonl")
    assert (tries[-1]["outcome"] if tries else None) == outcome
    assert bool(found.given_up) is (outcome is not None)


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        pytest.param([REFUSED] * 3, "there is no answer: refused", id="refused"),
        pytest.param([httpx.ReadTimeout("")], "did not answer in time", id="silence"),
        pytest.param(
            [httpx.Response(200, headers={"content-type": "text/event-stream"},
                            stream=Broken(CHAT[:200]))],
            "the connection ends before the body does (lost)", id="lost-in-the-middle",
        ),
        pytest.param([httpx.Response(503, stream=Broken(b"{")) for _ in range(3)],
                     "the connection ends before the body does (lost)", id="error-cut-short"),
        pytest.param([answer(CHAT[:-20])], "it ends", id="cut-and-not-delimited"),
        pytest.param([answer(b"<html>", content_type="text/html")], "content type", id="page"),
        pytest.param([answer(status=302, location="http://else/")], "points elsewhere",
                     id="redirect"),
        pytest.param([answer(content_encoding="br")], "", id="read-as-it-is"),
    ],
)  # fmt: skip
def test_no_whole_answer(answers: list[Any], reason: str, tmp_path: Path) -> None:
    """What broke off is not tried again, and leaves an incomplete trace."""
    asked = Asked(*answers)
    found = asked.ask(tmp_path / "a.jsonl")
    assert len(asked.requests) == len(answers)
    if not reason:
        assert found.incomplete is None
        return
    assert found.incomplete is not None
    assert reason in found.incomplete.reason
    assert not (tmp_path / "a.jsonl").exists()
    assert (tmp_path / "a.jsonl.partial").exists()


def test_a_stated_length_proves_the_end(tmp_path: Path) -> None:
    """Where the transport vouches for the end, a missing [DONE] is a violation and not a loss."""
    body = CHAT[: CHAT.rindex(b"data:")]
    found = Asked(answer(body, content_length=str(len(body)))).ask(tmp_path / "a.jsonl")
    assert found.incomplete is None
    assert [v.name for v in found.assembly.violations] == ["missing-terminator"]


def test_packed_bodies(tmp_path: Path) -> None:
    """The body is recorded as it came, packed, and read unpacked."""
    body = packed(CHAT)
    found = Asked(answer(body, content_encoding="gzip", content_length=str(len(body)))).ask(
        tmp_path / "a.jsonl"
    )
    assert found.incomplete is None
    assert found.assembly.part(0, "text", 0).text == "Hello"


def test_nothing_of_the_key_or_the_url_is_kept(tmp_path: Path) -> None:
    """A server that tells the key back does not get it into the trace."""
    told = event({"choices": [{"delta": {"content": f"Bearer {SECRET}"}}]})
    bodies = [
        error(500, {"error": {"code": SECRET, "message": f"{SECRET} is wrong"}}),
        answer(told + CHAT, x_request_id=SECRET),
    ]
    asked = Asked(*bodies)
    asked.ask(tmp_path / "a.jsonl")
    Asked(error(401, {"error": {"type": SECRET, "message": SECRET}})).ask(tmp_path / "b.jsonl")
    assert asked.requests[0].headers["authorization"] == f"Bearer {SECRET}"
    for path in tmp_path.iterdir():
        text = path.read_text("utf-8")
        assert "***" in text
        for part in (SECRET, "password", "hidden", "host"):
            assert part not in text


def test_tries_are_compared_and_times_are_not(tmp_path: Path) -> None:
    """Two recordings of one answer are equal byte for byte, however long was waited."""
    paths = [tmp_path / name for name in ("a.jsonl", "b.jsonl", "c.jsonl")]
    Asked(error(429, retry_after="1"), answer()).ask(paths[0])
    Asked(error(429, retry_after="1"), answer()).ask(paths[1], RetryPolicy(tries=5, base=2.0))
    Asked(answer()).ask(paths[2])
    assert paths[0].read_bytes() == paths[1].read_bytes()
    found = diff_files(paths[0], paths[2])
    assert found.outcome is Outcome.DIVERGED
    assert found.cause is not None
    assert (found.cause.kind, found.cause.evidence["top_differs"]) == ("retry", False)


@pytest.mark.parametrize(
    "question",
    [
        pytest.param({"url": "ftp://host/v1"}, id="another-scheme"),
        pytest.param({"url": "host"}, id="no-scheme"),
        pytest.param({"url": "http://[::1/v1"}, id="no-url"),
        pytest.param({"body": b"{"}, id="no-json"),
        pytest.param({"body": b"[]"}, id="no-object"),
    ],
)
def test_what_cannot_be_asked(question: dict[str, Any], tmp_path: Path) -> None:
    """A URL or a body that cannot be sent is an error of its own, before anything is asked."""
    clock = Clock(lambda: 0.0, lambda: 0.0, lambda seconds: None, lambda: 0.5)
    asked = Question(**({"url": URL, "body": b"{}", "api": "openai-chat"} | question))
    path = tmp_path / "a.jsonl"
    with httpx.Client() as client, pytest.raises(UsageError):
        record_answer(asked, lambda: TraceWriter(path), client, clock, RetryPolicy())
    assert not path.exists()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        pytest.param(URL, "http://host/v1/chat/completions", id="secrets"),
        pytest.param("https://h:8443/v1#x", "https://h:8443/v1", id="port"),
        pytest.param("http://[::1/v1", "the URL", id="no-url"),
        pytest.param("http://h:port/v1", "the URL", id="no-port"),
    ],
)
def test_shown_url(url: str, shown: str) -> None:
    """Messages show a URL without what may be secret."""
    assert shown_url(url) == shown
