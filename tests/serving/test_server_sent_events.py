"""How events are written, and where a chunk is cut."""

import json

import pytest

from tracediff.serving.server_sent_events import encode_event, split_inside_a_character


@pytest.mark.parametrize(
    ("data", "name", "written"),
    [
        pytest.param("[DONE]", None, b"data: [DONE]\n\n", id="text"),
        pytest.param({"a": 1}, None, b'data: {"a":1}\n\n', id="document"),
        pytest.param({"a": 1}, "ping", b'event: ping\ndata: {"a":1}\n\n', id="named"),
        pytest.param({"a": "天"}, None, 'data: {"a":"天"}\n\n'.encode(), id="characters"),
        pytest.param({"a": "x\r\ny"}, None, b'data: {"a":"x\\r\\ny"}\n\n', id="line-ends"),
        pytest.param({"a": "\ud800天"}, None, b'data: {"a":"\\ud800\\u5929"}\n\n', id="half"),
    ],
)
def test_events(data: object, name: str | None, written: bytes) -> None:
    """One event is one data line, whatever its text holds."""
    assert encode_event(data, name) == written  # type: ignore[arg-type]


def test_numbers_that_json_lacks() -> None:
    """NaN is never written."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode_event({"a": float("nan")})


@pytest.mark.parametrize("text", ["天", "a天b", "aé", "😀"])
def test_cut_inside_a_character(text: str) -> None:
    """Neither part is UTF-8 where there is a character to cut; together they are all."""
    first, second = split_inside_a_character(text.encode())
    assert first + second == text.encode()
    for part in (first, second):
        with pytest.raises(UnicodeDecodeError):
            part.decode()


def test_cut_of_plain_text() -> None:
    """Text without such a character is cut in the middle."""
    content = json.dumps({"a": 1}).encode()
    first, second = split_inside_a_character(content)
    assert first + second == content
    assert first
    assert second
