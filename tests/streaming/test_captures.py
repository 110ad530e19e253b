"""What captures come to: assembled text and calls, finish reason, and what is wrong with them."""

from typing import Any

import pytest
from streaming.chat_rows import CHAT_ROWS
from streaming.other_rows import ANTHROPIC_ROWS, RESPONSES_ROWS
from streaming.reading import recorded
from streaming.wire import call, chat, chunk, say

from tracediff.streaming.message import assemble, finish_of

ROWS = {
    "openai-chat": CHAT_ROWS,
    "anthropic-messages": ANTHROPIC_ROWS,
    "openai-responses": RESPONSES_ROWS,
}
PARAMETERS = [
    pytest.param(api, *row[1:], id=f"{api}-{row[0]}") for api, rows in ROWS.items() for row in rows
]


@pytest.mark.parametrize("size", [None, 1], ids=["whole", "byte-by-byte"])
@pytest.mark.parametrize(("api", "raw", "text", "calls", "finish", "verdict"), PARAMETERS)
def test_captures(
    api: str,
    raw: bytes,
    text: str,
    calls: list[tuple[str, str, str]],
    finish: str | None,
    verdict: list[str] | str,
    size: int | None,
) -> None:
    """A capture gives this answer, however its bytes are cut, and this verdict."""
    found = recorded(raw, api, size=size)
    answer = assemble(found.assembly, 0)
    assert answer["text"] == text
    told = [(c["name"], c["status"], c["arguments"]) for c in answer.get("tool_calls", ())]
    assert told == calls
    assert finish_of(found.assembly, 0, found.request) == finish
    if isinstance(verdict, str):
        assert found.incomplete is not None
        assert found.incomplete.reason == verdict
        front = verdict.startswith("it begins")
        assert found.incomplete.byte == (0 if front else len(raw))
    else:
        assert found.incomplete is None
        assert [violation.name for violation in found.assembly.violations] == verdict


def test_there_are_enough_rows() -> None:
    """At least forty captures are held against their answer."""
    assert len(PARAMETERS) >= 40


def part(raw: bytes, key: str, api: str = "openai-chat") -> Any:
    return assemble(recorded(raw, api).assembly, 0).get(key)


@pytest.mark.parametrize(
    ("raw", "key", "value"),
    [
        pytest.param(
            chat(chunk({"refusal": "I can"}), chunk({"refusal": "not"})), "refusal", "I cannot",
            id="refusal",
        ),
        pytest.param(
            chat(chunk({"reasoning_content": "hm"}), say("a")), "thinking", "hm", id="thinking"
        ),
        pytest.param(chat(say("a")), "role", "assistant", id="role"),
        pytest.param(
            chat(say("a"), call(0, call_id="c", name="f", arguments="{}"), finish="tool_calls"),
            "parts", ["text 0", "tool_call 0"], id="order-of-parts",
        ),
        pytest.param(
            chat(chunk({"audio": {"id": "x", "data": "y"}})), "other audio 0", '{"data":"y"}',
            id="not-understood",
        ),
    ],
)  # fmt: skip
def test_further_parts(raw: bytes, key: str, value: Any) -> None:
    """Refusals, thinking and what is not understood are parts of the answer too."""
    assert part(raw, key) == value


def test_several_answers() -> None:
    """The answers of `n` are put together side by side, whatever the order of their chunks."""
    raw = chat(
        chunk({"role": "assistant", "content": "a"}, index=1), say("b"),
        chunk({"content": "c"}, index=1), chunk({}, "length", index=1),
    )  # fmt: skip
    found = recorded(raw)
    assert found.assembly.choices == (0, 1)
    assert [assemble(found.assembly, n)["text"] for n in (0, 1)] == ["b", "ac"]
    assert [str(finish_of(found.assembly, n, found.request)) for n in (0, 1)] == ["stop", "length"]


@pytest.mark.parametrize(
    ("request_body", "own", "finish"),
    [
        pytest.param(b'{"model":"m"}', "stop", "eos", id="no-stop-sequences"),
        pytest.param(b'{"stop":["x"]}', "stop", "stop", id="stop-sequences"),
        pytest.param(b'{"max_tokens":2}', "length", "max_tokens", id="the-limit"),
        pytest.param(b'{"max_tokens":9}', "length", "length", id="not-the-limit"),
    ],
)
def test_finish_with_its_request(request_body: bytes, own: str, finish: str) -> None:
    """Where the request leaves one possibility only, the finish reason is the exact one."""
    raw = chat(say("a"), finish=own).replace(b"data: [DONE]", USAGE + b"data: [DONE]")
    found = recorded(raw, request=request_body)
    assert finish_of(found.assembly, 0, found.request) == finish


USAGE = b'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\n'
