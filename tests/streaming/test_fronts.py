"""Captures that lack their beginning: at every byte incomplete, or with nothing lost."""

import pytest
from streaming.other_rows import with_calls
from streaming.reading import recorded
from streaming.wire import block, call, chat, http, message, say, usage

CHAT = chat(say("Hé", "lo"), call(0, call_id="c", name="f", arguments='{"a":1}'), usage(3, 2),
            finish="tool_calls")  # fmt: skip
MESSAGE = message(block(0, "text", "Hé", "lo"), block(1, "tool_use", '{"a":1}', name="f", id="t"))
CAPTURES = [
    pytest.param("openai-chat", CHAT, id="chat"),
    pytest.param("openai-chat", CHAT.replace(b"\n", b"\r\n"), id="crlf"),
    pytest.param("anthropic-messages", MESSAGE, id="messages"),
    pytest.param("openai-responses", with_calls(), id="responses"),
]


@pytest.mark.parametrize(("api", "raw"), CAPTURES)
def test_every_suffix_is_incomplete(api: str, raw: bytes) -> None:
    """A capture that lacks its first bytes is incomplete, and says that it is the beginning."""
    assert recorded(raw, api).incomplete is None
    for start in range(1, len(raw)):
        found = recorded(raw[start:], api).incomplete
        assert found is not None, start


@pytest.mark.parametrize(
    ("api", "raw", "reason"),
    [
        pytest.param("openai-chat", CHAT[1:], "its first line is none of an event stream", id="a"),
        pytest.param("openai-chat", CHAT[CHAT.index(b"\n\n") + 2 :],
                     "without a chunk that names the role", id="first-chunk"),
        pytest.param("anthropic-messages", MESSAGE[MESSAGE.index(b"\n\n") + 2 :],
                     "it begins without message_start", id="first-event"),
        pytest.param("anthropic-messages", MESSAGE[MESSAGE.index(b"\n") + 1 :],
                     "its first event alone has no name", id="first-line"),
        pytest.param("openai-responses", with_calls()[with_calls().index(b"\n\n") + 2 :],
                     "it begins without response.created", id="first-response"),
    ],
)  # fmt: skip
def test_place_and_reason(api: str, raw: bytes, reason: str) -> None:
    """What is missing in front shows at the first byte; a head before it proves that it came so."""
    found = recorded(raw, api).incomplete
    assert found is not None
    assert reason in found.reason
    assert (found.byte, found.events) == (0, 0)
    headed = recorded(http(raw), api)
    assert headed.incomplete is None
    names = {violation.name for violation in headed.assembly.violations}
    assert names & {"missing-start", "unknown-line", "missing-event-name"}


@pytest.mark.parametrize(
    ("api", "raw", "names"),
    [
        pytest.param("openai-chat", chat(say("a"), b'"content": "b"}}]}\n\n'), ["unknown-line"],
                     id="half-an-event"),
        pytest.param("openai-chat", chat(call(1, call_id="c", name="f", arguments="{}"),
                                         finish="tool_calls"), ["tool-call-index-gap"],
                     id="call"),
        pytest.param("openai-chat",
                     chat(call(0, call_id="c", name="f", arguments="{}"),
                          call(1, call_id="c", name="g", arguments="{}"), finish="tool_calls"),
                     ["tool-call-id-reused"], id="call-id"),
        pytest.param("openai-chat", CHAT.replace(b'"index": 0, "delta"', b'"index": 1, "delta"'),
                     ["choice-index-gap"], id="choice"),
        pytest.param("anthropic-messages", message(block(1, "text", "a")), ["block-index-gap"],
                     id="block"),
        pytest.param("openai-responses", with_calls().replace(b'"sequence_number": 0', b'"a": 0'),
                     ["sequence-begins-late"], id="sequence"),
    ],
)  # fmt: skip
def test_gaps(api: str, raw: bytes, names: list[str]) -> None:
    """What is missing in the middle breaks a rule where numbers show it."""
    found = recorded(raw, api)
    assert found.incomplete is None
    assert [violation.name for violation in found.assembly.violations] == names
