"""The vendors' own Python packages talk to the server, and see what the wire shows."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from local_server import (
    ANSWER,
    CHAT,
    MESSAGES,
    TEXT_MODEL,
    TOOL_MODEL,
    chat,
    message,
    post,
    serving,
)

pytest.importorskip("fastapi", reason="needs the extra serve")
pytest.importorskip("uvicorn", reason="needs the extra serve")
openai = pytest.importorskip("openai", reason="needs the package openai")
anthropic = pytest.importorskip("anthropic", reason="needs the package anthropic")
pytestmark = [
    pytest.mark.sdk,
    # What the packages do inside is their matter.
    pytest.mark.filterwarnings("default"),
]

ASKED = {key: value for key, value in chat().items() if key != "model"}
NUMBER = {"type": "object", "properties": {"n": {"enum": [1, 2]}}, "required": ["n"]}
FAULT = "x-tracediff-fault"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Return the address of a server that lets requests ask for faults."""
    with serving(allow_faults=True) as found:
        yield found


@pytest.fixture
def openai_client(address: str) -> Any:
    """Return a client that does not try again by itself."""
    with openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as client:
        yield client


@pytest.fixture
def anthropic_client(address: str) -> Any:
    """Return a client that does not try again by itself."""
    with anthropic.Anthropic(base_url=address, api_key="none", max_retries=0) as client:
        yield client


def wire_text(address: str, path: str, body: Any, fault: str | None = None) -> str:
    """Return the text of a stream's deltas, as they are in the bytes."""
    texts = []
    for event in post(address, path, body, fault).events:
        if isinstance(event, str):
            continue
        texts += [choice["delta"].get("content") or "" for choice in event.get("choices", ())]
        texts += [event["delta"]["text"]] if event.get("type") == "content_block_delta" else []
    return "".join(texts)


@pytest.mark.parametrize(
    ("path", "body"),
    [pytest.param(CHAT, chat(stream=True, stream_options={"include_usage": True}), id="openai"),
     pytest.param(MESSAGES, message(stream=True), id="anthropic")],
)  # fmt: skip
def test_the_recorder_assembles_the_same(
    address: str, tmp_path: Path, path: str, body: dict[str, Any]
) -> None:
    """`tracediff record` gets the text, reason and usage that the packages and the bytes have."""
    pytest.importorskip("httpx", reason="needs the package httpx")
    (tmp_path / "body.json").write_text(json.dumps(body), "utf-8")
    words = ["record", f"{address}{path}", "--request", "body.json", "-o", "t.jsonl", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "tracediff", *words], cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["result"] == ANSWER == wire_text(address, path, body)
    assert (told["finish"], told["usage"]["output_tokens"]) == ("eos", 5)


@pytest.mark.parametrize("fault", [None, "split-utf8", "duplicate-finish", "missing-terminator"])
def test_openai_stream(address: str, openai_client: Any, fault: str | None) -> None:
    """The package assembles the text that the bytes hold, also where the wire is strange."""
    options = {"include_usage": True}
    stream = openai_client.chat.completions.create(
        model=TEXT_MODEL, **ASKED, stream=True, stream_options=options,
        extra_headers={FAULT: fault} if fault else {},
    )  # fmt: skip
    chunks = list(stream)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == ANSWER == wire_text(address, CHAT, chat(stream=True), fault)
    reasons = [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices]
    assert [reason for reason in reasons if reason] == ["stop"] * (
        2 if fault == "duplicate-finish" else 1
    )
    if fault != "missing-terminator":
        assert chunks[-1].usage.total_tokens == 17


def test_openai_document(openai_client: Any) -> None:
    """A document has text, reason, usage, likelihoods and the request's id."""
    found = openai_client.chat.completions.create(
        model=TEXT_MODEL, **ASKED, logprobs=True, top_logprobs=2, seed=1
    )
    assert found.choices[0].message.content == ANSWER
    assert found.choices[0].finish_reason == "stop"
    assert [token.token for token in found.choices[0].logprobs.content][-1] == "。"
    assert found.usage.completion_tokens == 5
    assert found._request_id.startswith("req-")


def test_openai_tool_call(openai_client: Any) -> None:
    """A tool call arrives whole."""
    tool = {"type": "function", "function": {"name": "pick", "parameters": NUMBER}}
    found = openai_client.chat.completions.create(
        model=TOOL_MODEL, messages=[{"role": "user", "content": "hi"}], tools=[tool]
    )
    (call,) = found.choices[0].message.tool_calls
    assert call.function.arguments in ('{"n":1}', '{"n":2}')
    assert found.choices[0].finish_reason == "tool_calls"


def test_openai_models(openai_client: Any) -> None:
    """The models are listed."""
    assert [model.id for model in openai_client.models.list()] == [TEXT_MODEL, TOOL_MODEL]


@pytest.mark.parametrize("fault", [None, "split-utf8"])
def test_anthropic_stream(address: str, anthropic_client: Any, fault: str | None) -> None:
    """The package assembles the text that the bytes hold."""
    headers = {FAULT: fault} if fault else {}
    with anthropic_client.messages.stream(**message(), extra_headers=headers) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert text == ANSWER == wire_text(address, MESSAGES, message(stream=True), fault)
    assert (final.stop_reason, final.usage.output_tokens) == ("end_turn", 5)


def test_anthropic_document(anthropic_client: Any) -> None:
    """A document has text, stop reason and usage."""
    found = anthropic_client.messages.create(**message(stop_sequences=["光的"]))
    assert found.content[0].text == "短波蓝"
    assert (found.stop_reason, found.stop_sequence) == ("stop_sequence", "光的")


def test_anthropic_tool_use(anthropic_client: Any) -> None:
    """A streamed tool use arrives whole."""
    tools = [{"name": "pick", "input_schema": NUMBER}]
    with anthropic_client.messages.stream(**message("hi", TOOL_MODEL, tools=tools)) as stream:
        final = stream.get_final_message()
    assert final.stop_reason == "tool_use"
    assert final.content[0].input in ({"n": 1}, {"n": 2})


FAULTS = [
    pytest.param("rate-limit", "RateLimitError", id="rate-limit"),
    pytest.param("server-error", "InternalServerError", id="server-error"),
    pytest.param("error-after:1", "APIError", id="error-after-200"),
    pytest.param("drop-after:1", "Exception", id="dropped"),
]


@pytest.mark.parametrize(("fault", "error"), FAULTS)
def test_openai_sees_faults(openai_client: Any, fault: str, error: str) -> None:
    """Each fault is an error of the package; a broken connection is one of its transport."""
    kind = Exception if error == "Exception" else getattr(openai, error)
    with pytest.raises(kind):
        list(
            openai_client.chat.completions.create(
                model=TEXT_MODEL, **ASKED, stream=True, extra_headers={FAULT: fault}
            )
        )


@pytest.mark.parametrize(("fault", "error"), FAULTS)
def test_anthropic_sees_faults(anthropic_client: Any, fault: str, error: str) -> None:
    """Each fault is an error of the package; a broken connection is one of its transport."""
    kind = Exception if error == "Exception" else getattr(anthropic, error)
    headers = {FAULT: fault}
    with (
        pytest.raises(kind),
        anthropic_client.messages.stream(**message(), extra_headers=headers) as stream,
    ):
        stream.get_final_message()


@pytest.mark.parametrize(
    ("fields", "error"),
    [({"model": "x"}, "NotFoundError"), ({"max_tokens": 60}, "BadRequestError"),
     ({"max_tokens": 0}, "UnprocessableEntityError")],
)  # fmt: skip
def test_errors_of_requests(
    openai_client: Any, anthropic_client: Any, fields: Any, error: str
) -> None:
    """A request that cannot be taken is the packages' own kind of error."""
    with pytest.raises(getattr(openai, error)):
        openai_client.chat.completions.create(**{**chat(), **fields})
    with pytest.raises(getattr(anthropic, error)):
        anthropic_client.messages.create(**{**message(), **fields})


def test_retries(address: str) -> None:
    """The packages try again after 429 and get their answer from a server that recovers."""
    from tracediff.serving.faults import parse_faults

    with (
        serving(faults=parse_faults(["rate-limit:1"])) as recovering,
        openai.OpenAI(base_url=f"{recovering}/v1", api_key="none", max_retries=2) as client,
    ):
        found = client.chat.completions.create(model=TEXT_MODEL, **ASKED)
    assert found.choices[0].message.content == ANSWER
