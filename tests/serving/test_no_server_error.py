"""Whatever is sent, the server says what is wrong with it: there is no status 500."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from local_server import ANSWER, CHAT, MESSAGES, TEXT_MODEL, TOOL_MODEL, chat, message, post

pytest.importorskip("fastapi", reason="needs the extra serve")
pytest.importorskip("uvicorn", reason="needs the extra serve")
pytestmark = pytest.mark.serve

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**65), 2**65)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["\ud800", "天空", "object", "string", "text", "tool", "json_schema"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
SCHEMAS = st.dictionaries(
    st.sampled_from(
        ["type", "properties", "required", "enum", "items", "pattern", "$ref", "const"]
    ),
    JSON,
) | st.sampled_from([{"type": "object"}, {"type": "object", "properties": {"a": {"const": 1}}}])
"""Near enough to schemas to come past the first look."""

FIELDS = {
    CHAT: {
        "model": st.sampled_from([TEXT_MODEL, TOOL_MODEL]) | JSON,
        "messages": JSON
        | st.lists(
            st.fixed_dictionaries(
                {"role": st.sampled_from(["system", "user", "assistant", "tool"]), "content": JSON}
            ),
            min_size=1,
            max_size=3,
        ),
        "max_tokens": st.integers(1, 3) | JSON,
        "stop": st.lists(st.text(max_size=3), max_size=4) | JSON,
        "seed": st.integers(-1, 2**64) | JSON,
        "temperature": st.floats() | JSON,
        "top_p": st.floats(0, 1) | JSON,
        "logprobs": JSON,
        "top_logprobs": st.integers(0, 21) | JSON,
        "response_format": st.fixed_dictionaries(
            {
                "type": st.just("json_schema"),
                "json_schema": st.fixed_dictionaries(
                    {"name": st.just("f"), "schema": SCHEMAS, "strict": st.booleans()}
                ),
            }
        )
        | JSON,
        "tools": st.lists(
            st.fixed_dictionaries(
                {
                    "type": st.just("function"),
                    "function": st.fixed_dictionaries(
                        {"name": st.text(min_size=1, max_size=3), "parameters": SCHEMAS}
                    ),
                }
            ),
            max_size=2,
        )
        | JSON,
        "tool_choice": st.sampled_from(["none", "auto", "required"]) | JSON,
        "stream": st.booleans() | JSON,
        "nonsense": JSON,
    },
    MESSAGES: {
        "model": st.sampled_from([TEXT_MODEL, TOOL_MODEL]) | JSON,
        "system": st.text(max_size=3) | JSON,
        "max_tokens": st.integers(1, 3) | JSON,
        "stop_sequences": st.lists(st.text(max_size=3), max_size=4) | JSON,
        "temperature": st.floats() | JSON,
        "top_k": st.integers(-1, 1001) | JSON,
        "tools": st.lists(
            st.fixed_dictionaries({"name": st.text(max_size=3), "input_schema": SCHEMAS}),
            max_size=2,
        )
        | JSON,
        "tool_choice": JSON,
        "stream": st.booleans() | JSON,
        "metadata": JSON,
    },
}


def nested(depth: int) -> bytes:
    """Return a body whose tool's schema is so deep."""
    schema = b'{"a":' * depth + b"1" + b"}" * depth
    tool = b'{"type":"function","function":{"name":"f","parameters":' + schema + b"}}"
    turns = b'[{"role":"user","content":"hi"}]'
    return b'{"model":"%s","messages":%s,"tools":[%s]}' % (TOOL_MODEL.encode(), turns, tool)


BODIES = {CHAT: chat(max_tokens=3), MESSAGES: message(max_tokens=3)}


def assert_is_answered(address: str, path: str, content: bytes) -> None:
    """Send a body; the status is one of those that the server has, and so is the document."""
    found = post(address, path, content)
    assert found.status in (200, 400, 404, 422), (content, found.body)
    assert found.is_whole
    if found.status != 200:
        assert found.json["error"]["message"]


@pytest.mark.parametrize("path", [CHAT, MESSAGES])
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_fields(address: str, path: str, data: st.DataObject) -> None:
    """One or two fields of a valid body hold something else."""
    names = data.draw(st.lists(st.sampled_from(sorted(FIELDS[path])), min_size=1, max_size=2))
    changed = {name: data.draw(FIELDS[path][name], label=name) for name in names}
    assert_is_answered(address, path, json.dumps({**BODIES[path], **changed}).encode())


@pytest.mark.parametrize("path", [CHAT, MESSAGES])
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(content=st.binary(max_size=40) | JSON.map(lambda value: json.dumps(value).encode()))
def test_bytes(address: str, path: str, content: bytes) -> None:
    """A body need not even be JSON."""
    assert_is_answered(address, path, content)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(b'{"model":' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}", id="deep-object"),
        *(pytest.param(nested(depth), id=f"schema-{depth}-deep") for depth in (17, 64, 300, 900)),
        pytest.param(
            json.dumps(
                chat(
                    response_format={
                        "type": "json_schema",
                        "json_schema": {"name": "f", "schema": {"type": 2**53 + 1}},
                    }
                )
            ).encode(),
            id="number-beyond-2^53-in-a-schema",
        ),
        pytest.param(b'{"max_tokens":' + b"9" * 5000 + b"}", id="long-number"),
        pytest.param(b'{"seed":1e999}', id="infinite"),
        pytest.param(b'{"\xff":1}', id="no-utf-8"),
        pytest.param(json.dumps(chat("天空" * 50_000)).encode(), id="long-prompt"),
        pytest.param(json.dumps(chat("\ud800")).encode(), id="half-a-character"),
    ],
)
def test_hostile_bodies(address: str, content: bytes) -> None:
    """What is too deep, too long or half a character is refused like anything else."""
    assert_is_answered(address, CHAT, content)
    assert post(address, CHAT, chat()).json["choices"][0]["message"]["content"] == ANSWER


@pytest.mark.sdk
@pytest.mark.filterwarnings("default")
def test_schemathesis(address: str) -> None:
    """What schemathesis makes of the server's own OpenAPI document finds no server error."""
    schemathesis = pytest.importorskip("schemathesis", reason="needs the package schemathesis")
    document = schemathesis.openapi.from_url(f"{address}/openapi.json")
    check = schemathesis.checks.not_a_server_error
    asked: list[Any] = []
    for found in document.get_all_operations():
        operation = found.ok()

        @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy())
        def ask(case: Any) -> None:
            asked.append(case)
            if isinstance(case.body, dict) and "model" in case.body:
                case.body["model"] = TEXT_MODEL  # any other name is where it would end
            case.call_and_validate(checks=[check], timeout=60)

        ask()
    assert len(asked) >= 80
