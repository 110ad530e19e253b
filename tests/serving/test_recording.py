"""One trace a request: whole, kept apart, equal for equal requests, and honest about its end."""

import http.client
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from local_server import (
    ANSWER,
    CHAT,
    MESSAGES,
    QUESTION,
    TOOL_MODEL,
    chat,
    choice,
    message,
    post,
    recorded,
    serving,
)

from tracediff.contracts import check_trace
from tracediff.diff import Outcome, diff_traces
from tracediff.storage import read_timing
from tracediff.storage.schema import check_schema

pytest.importorskip("fastapi", reason="needs the extra serve")
pytest.importorskip("uvicorn", reason="needs the extra serve")
pytestmark = pytest.mark.serve

LENGTHS = [4, 7, 11, 12, 12]
"""Characters of the answer after one token, two …; the fifth is the end token."""


def test_equal_requests_are_equal(folder: Path) -> None:
    """The same request twice, and once streamed, gives equal traces that keep the contract."""
    with serving(record=folder) as address:
        for body in (chat(), chat(), chat(stream=True)):
            post(address, CHAT, body)
    first, second, streamed = (recorded(folder, number) for number in (1, 2, 3))
    for trace in (first, second, streamed):
        check_schema(trace)
        assert check_trace(trace).violations == ()
        assert choice(trace, "response.completed")["text"] == ANSWER
    assert diff_traces(first, second).outcome is Outcome.EQUAL
    assert diff_traces(first, streamed).outcome is Outcome.EQUAL


def test_both_shapes_record_the_same_answer(folder: Path) -> None:
    """Which vendor's shape is asked for is a setting, and no difference."""
    with serving(record=folder) as address:
        post(address, CHAT, chat(max_tokens=8, stop=["X"]))
        post(address, MESSAGES, message(stop_sequences=["X"]))
    compared = diff_traces(recorded(folder, 1), recorded(folder, 2))
    assert compared.outcome is Outcome.EQUAL


def test_request_id(folder: Path) -> None:
    """Header, trace and sidecar carry one id; the sidecar has every event's time."""
    with serving(record=folder) as address:
        found = post(address, CHAT, chat())
    trace = recorded(folder, 1)
    timing = read_timing(folder / "req-000001.jsonl")
    assert timing is not None
    ids = trace.root.payload["ids"]["request_id"]
    assert found.headers["x-request-id"] == ids == timing.environment["request_id"]
    assert set(timing.nanoseconds) == {event.event_id for event in trace.events}


@pytest.mark.parametrize(
    ("body", "choices"),
    [
        pytest.param({}, {"status": 422, "field": "model", "code": "missing"}, id="invalid"),
        pytest.param(
            chat(model="x"), {"status": 404, "field": "model", "code": "model_not_found"},
            id="model",
        ),
        pytest.param(
            chat("hello"), {"status": 400, "field": "messages", "code": "not_tokenizable"},
            id="vocabulary",
        ),
    ],
)  # fmt: skip
def test_rejected_requests_are_recorded(folder: Path, body: Any, choices: Any) -> None:
    """A request without an answer has its trace too."""
    with serving(record=folder) as address:
        post(address, CHAT, body)
    trace = recorded(folder, 1)
    assert choice(trace, "request.rejected") == choices
    assert check_trace(trace).violations == ()


@pytest.mark.parametrize("fault", ["split-utf8", "duplicate-finish", "missing-terminator"])
def test_faults_of_the_wire_do_not_touch_the_answer(folder: Path, fault: str) -> None:
    """What only the wire shows is named in the trace, and changes nothing that was computed."""
    with serving(record=folder, allow_faults=True) as address:
        post(address, CHAT, chat(stream=True))
        post(address, CHAT, chat(stream=True), fault)
    plain, faulty = recorded(folder, 1), recorded(folder, 2)
    assert faulty.header["injection"] == fault
    assert diff_traces(plain, faulty).outcome is Outcome.EQUAL


@pytest.mark.parametrize("fault", ["error-after:2", "drop-after:2"])
def test_faults_that_end_an_answer(folder: Path, fault: str) -> None:
    """The decode stops where the stream does, and the trace says so."""
    with serving(record=folder, allow_faults=True) as address:
        post(address, CHAT, chat(stream=True), fault)
        trace = recorded(folder, 1)
    assert choice(trace, "response.completed")["finish_reason"] == "cancelled"
    assert choice(trace, "response.completed")["text"] == "短波蓝光的散射"
    assert check_trace(trace).violations == ()


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_goes_away(folder: Path, stream: bool) -> None:
    """Its decode stops long before the end of the window, and the trace says that it was left."""
    number = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    tools = [{"name": "count", "input_schema": number}]
    body = message("hi", TOOL_MODEL, tools=tools, max_tokens=900, stream=stream)
    with serving(record=folder) as address:
        place = urlsplit(address)
        connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=30)
        headers = {"content-type": "application/json"}
        connection.request("POST", MESSAGES, json.dumps(body), headers)
        if stream:
            response = connection.getresponse()
            for _ in range(5):
                response.read1()
            response.close()
        connection.close()
        trace = recorded(folder, 1)
    completed = choice(trace, "response.completed")
    assert completed["finish_reason"] == "cancelled"
    assert completed["output_tokens_selected"] < 900
    assert choice(trace, "output.validated")["verdict"] == "cancelled"
    assert check_trace(trace).violations == ()


def test_requests_at_once_are_kept_apart(folder: Path) -> None:
    """Each of many requests under way together gets its own answer and its own whole trace."""
    bodies = [
        chat(max_tokens=1 + index % 5, stream=index % 2 == 0, seed=index) for index in range(24)
    ]
    with serving(record=folder) as address, ThreadPoolExecutor(12) as executor:
        found = list(executor.map(lambda body: post(address, CHAT, body), bodies))
    for body, answered in zip(bodies, found, strict=True):
        trace = recorded(folder, int(answered.headers["x-request-id"].removeprefix("req-")))
        settings = trace.root.payload["settings"]
        asked = (body["max_tokens"], body["stream"], body["seed"])
        assert (settings["max_output_tokens"], settings["stream"], settings["seed"]) == asked
        assert (
            choice(trace, "response.completed")["text"]
            == ANSWER[: [4, 7, 11, 12, 12][asked[0] - 1]]
        )
        assert check_trace(trace).violations == ()
    assert len(list(folder.glob("req-*.jsonl"))) == 2 * len(bodies)  # each with its sidecar


def test_numbers_go_on(folder: Path) -> None:
    """A second server in the same folder overwrites nothing."""
    for _ in range(2):
        with serving(record=folder) as address:
            post(address, CHAT, chat())
    ids = [recorded(folder, number).root.payload["ids"]["request_id"] for number in (1, 2)]
    assert ids == ["req-000001", "req-000002"]
    assert diff_traces(recorded(folder, 1), recorded(folder, 2)).outcome is Outcome.EQUAL


def test_history_is_read_again(folder: Path) -> None:
    """The server keeps nothing between requests: the history of a conversation is its prompt."""
    turns = [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": ANSWER},
        {"role": "user", "content": "为什么"},
    ]
    with serving(record=folder) as address:
        post(address, CHAT, chat(messages=turns))
    rendered = choice(recorded(folder, 1), "context.rendered")["text"]
    assert rendered.endswith(f"<assistant>{ANSWER}EOS<user>为什么</user><assistant>")
