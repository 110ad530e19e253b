"""What a trace tells of a request: digests of what is long or private, settings by name."""

import pytest

from tracediff.errors import UsageError
from tracediff.streaming.request import read_request

BODY = (
    b'{"model":"m","messages":[{"role":"user","content":"private"}],"temperature":0.5,'
    b'"max_completion_tokens":9,"stop":["x"],"user":"somebody","api_key":"hidden"}'
)


def test_facts() -> None:
    """Model and digests are artifacts, known options are settings, the rest is one digest."""
    facts = read_request(BODY, "openai-chat")
    assert facts.artifacts["model"] == "m"
    assert facts.artifacts["messages"].startswith("sha256:")
    assert facts.settings["temperature"] == 0.5
    assert facts.settings["others"].startswith("sha256:")
    assert (facts.limit, facts.stops_asked) == (9, True)
    for text in ("private", "somebody", "hidden"):
        assert text not in repr(facts)


def test_spelling_does_not_matter() -> None:
    """The same messages in another spelling have the same digest."""
    one = read_request(b'{"messages":[{"a":1,"b":2}]}', "openai-chat")
    two = read_request(b'{"messages": [ {"b":2, "a":1} ]}', "openai-chat")
    assert one.artifacts == two.artifacts
    assert one.context != two.context


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(b"", "r.json is no JSON document", id="empty"),
        pytest.param(b"[1]", "r.json holds a list", id="list"),
        pytest.param(b'"x"', "r.json holds a str", id="text"),
    ],
)
def test_bodies_that_are_none(body: bytes, message: str) -> None:
    """A body that is no JSON object is an error that names the file."""
    with pytest.raises(UsageError, match=message):
        read_request(body, "openai-chat", "r.json")
