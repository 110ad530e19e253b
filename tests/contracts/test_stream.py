"""The contract of recorded answers: what real captures keep, and each way to break a rule."""

from typing import Any

import pytest
from streaming.chat_rows import CHAT_ROWS
from streaming.other_rows import ANTHROPIC_ROWS, RESPONSES_ROWS
from streaming.reading import traced
from streaming.wire import START, call, chat, event, http, message, say, usage
from trace_building import changed

from tracediff.contracts import check_trace
from tracediff.contracts.stream import STREAM_RULES
from tracediff.events import Event, Trace

ROWS = [
    pytest.param(api, row[1], row[5], id=f"{api}-{row[0]}")
    for api, rows in (
        ("openai-chat", CHAT_ROWS),
        ("anthropic-messages", ANTHROPIC_ROWS),
        ("openai-responses", RESPONSES_ROWS),
    )
    for row in rows
    if isinstance(row[5], list)
]
PLAIN = traced(chat(say("Hel", "lo"), usage(3, 2), finish="length"), request=b'{"max_tokens":2}')
CALLED = traced(
    chat(call(0, call_id="c", name="f", arguments='{"a":'), call(0, arguments="1}"),
         finish="tool_calls")
)  # fmt: skip


def broken(trace: Trace) -> list[str]:
    """Return the rules that a trace breaks, each once."""
    return list(dict.fromkeys(violation.rule for violation in check_trace(trace).violations))


@pytest.mark.parametrize(("api", "raw", "violations"), ROWS)
def test_captures(api: str, raw: bytes, violations: list[str]) -> None:
    """A whole capture keeps all rules but those that its stream breaks, and is no error."""
    trace = traced(raw, api)
    report = check_trace(trace)
    assert {rule.name for rule in STREAM_RULES} <= {rule.name for rule in report.applied}
    told = [v.reason.split(" at ")[0] for v in report.violations if "protocol" in v.rule]
    assert told == violations
    if not violations and not any(e.event_type == "stream.failed" for e in trace.events):
        assert broken(trace) == []


def test_an_error_is_no_answer() -> None:
    """An answer that is an error breaks a rule, whatever else it keeps."""
    failing = event({"error": {"type": "server_error", "message": "m"}})
    trace = traced(START + say("a") + failing)
    assert broken(trace) == ["stream-is-no-error"]


def test_a_good_answer_with_the_status_of_an_error() -> None:
    """What a server answers with 500 is no answer, whatever its body says."""
    raw = http(chat(say("a")), status="500 Internal Server Error")
    assert broken(traced(raw)) == ["stream-is-no-error"]


def find(trace: Trace, event_type: str, number: int = 0) -> Event:
    """Return the n-th event of a type."""
    return [e for e in trace.events if e.event_type == event_type][number]


def choice(trace: Trace, event_type: str, number: int = 0, **entries: Any) -> Trace:
    """Return the trace with entries of one event's choice replaced."""
    found = find(trace, event_type, number)
    return changed(trace, found.event_id, choice={**found.payload["choice"], **entries})


def called(**entries: Any) -> Trace:
    """Return the trace of a call with entries of the assembled call replaced."""
    told = find(CALLED, "message.assembled").payload["choice"]["tool_calls"][0]
    return choice(CALLED, "message.assembled", tool_calls=[{**told, **entries}])


def without(trace: Trace, event_type: str) -> Trace:
    """Return the trace without the events of a type."""
    kept = tuple(e for e in trace.events if e.event_type != event_type)
    return Trace(kept, trace.name)


def twice(trace: Trace, event_type: str) -> Trace:
    """Return the trace with the first event of a type twice."""
    return Trace((*trace.events, find(trace, event_type)), trace.name)


def counted(trace: Trace, *numbers: int) -> Trace:
    """Return the trace with sequence numbers of the API in its first events."""
    for place, number in enumerate(numbers):
        found = find(trace, "sse.event", place)
        state = {**found.payload["state"], "sequence_number": number}
        trace = changed(trace, found.event_id, state=state)
    return trace


@pytest.mark.parametrize(
    ("trace", "rules"),
    [
        pytest.param(
            choice(PLAIN, "stream.delta", 1, sequence_no=2), ["stream-deltas-are-numbered"],
            id="delta-number",
        ),
        pytest.param(
            choice(PLAIN, "stream.delta", 1, text="x"), ["stream-text-is-joined-deltas"],
            id="delta-text",
        ),
        pytest.param(
            choice(PLAIN, "message.assembled", text="x"), ["stream-text-is-joined-deltas"],
            id="message-text",
        ),
        pytest.param(
            choice(PLAIN, "message.assembled", refusal="x"), ["stream-text-is-joined-deltas"],
            id="refusal-from-nowhere",
        ),
        pytest.param(
            without(PLAIN, "stream.delta"), ["stream-text-is-joined-deltas"], id="no-deltas"
        ),
        pytest.param(called(arguments='{"a":2}'), ["stream-arguments-are-joined-deltas"],
                     id="arguments"),
        pytest.param(called(status="malformed"), ["stream-arguments-parse"], id="malformed"),
        pytest.param(called(status="truncated"), ["stream-arguments-parse"],
                     id="truncated-by-nothing"),
        pytest.param(
            choice(PLAIN, "message.finished", finish_reason="tool_call"),
            ["stream-finish-fits-calls"], id="call-finish-without-call",
        ),
        pytest.param(
            choice(PLAIN, "usage.reported", output_tokens=1, total_tokens=4),
            ["stream-finish-fits-usage"], id="limit-not-reached",
        ),
        pytest.param(
            choice(PLAIN, "usage.reported", output_tokens=3, total_tokens=6),
            ["stream-finish-fits-usage"], id="more-than-the-limit",
        ),
        pytest.param(
            choice(PLAIN, "usage.reported", total_tokens=6), ["stream-usage-adds-up"], id="total"
        ),
        pytest.param(without(PLAIN, "message.finished"), ["stream-one-finish"], id="no-finish"),
        pytest.param(without(PLAIN, "stream.ended"), ["stream-has-one-end"], id="no-end"),
        pytest.param(twice(PLAIN, "stream.ended"), ["stream-has-one-end"], id="two-ends"),
        pytest.param(
            twice(PLAIN, "sse.event"),
            ["stream-events-are-counted", "stream-has-one-end", "stream-nothing-after-the-end"],
            id="event-behind-the-end",
        ),
        pytest.param(
            twice(PLAIN, "message.finished"), ["stream-has-one-end", "stream-one-finish"],
            id="two-finish-reasons",
        ),
        pytest.param(counted(PLAIN, 0, 1, 2), [], id="sequence-numbers"),
        pytest.param(
            counted(PLAIN, 1, 2), ["stream-sequence-numbers-follow"], id="sequence-begins-late"
        ),
        pytest.param(
            counted(PLAIN, 0, 2), ["stream-sequence-numbers-follow"], id="sequence-gap"
        ),
        pytest.param(
            counted(PLAIN, 0, 0), ["stream-sequence-numbers-follow"], id="sequence-twice"
        ),
        pytest.param(
            choice(PLAIN, "stream.ended", violations=["made-up"]), ["stream-keeps-its-protocol"],
            id="violation",
        ),
        pytest.param(
            choice(PLAIN, "message.assembled", text=7), ["stream-text-is-joined-deltas"],
            id="text-that-is-none",
        ),
    ],
)  # fmt: skip
def test_broken_rules(trace: Trace, rules: list[str]) -> None:
    """Each change of a trace breaks the rules that it should break, and no others."""
    assert broken(PLAIN) == broken(CALLED) == []
    assert broken(trace) == rules


def test_terminal_event_of_messages() -> None:
    """Nothing may follow message_stop either."""
    trace = traced(message(), "anthropic-messages")
    assert broken(trace) == []
    assert "stream-nothing-after-the-end" in broken(twice(trace, "sse.event"))


def test_other_kinds_are_not_held_to_these_rules() -> None:
    """A trace of another kind applies none of these rules."""
    from trace_building import chain
    from trace_building import event as plain_event

    applied = {rule.name for rule in check_trace(chain(plain_event("e"))).applied}
    assert not applied & {rule.name for rule in STREAM_RULES}
