"""The contract of recorded answers, as far as it is about order, numbers and the end.

Knows the events of kind `stream`. What the assembled message says is `stream_message`'s matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tracediff.contracts.rule import Finding, Rule
from tracediff.contracts.stream_events import (
    DELTA,
    ENDED,
    FAILED,
    FINISHED,
    FRAME,
    MESSAGE,
    STARTED,
    choice_number,
    is_stream,
    of_type,
    part_of,
    value_of,
)
from tracediff.contracts.stream_message import MESSAGE_RULES
from tracediff.events import Trace

_TERMINAL = (
    *("message_stop", "response.completed", "response.incomplete", "response.failed"),
    *("response.cancelled",),
)


def _events_are_counted(trace: Trace) -> Iterator[Finding]:
    for expected, event in enumerate(of_type(trace, FRAME), start=1):
        if event.logical_step != expected:
            yield event.event_id, f"step {event.logical_step}, expected {expected}"


def _deltas_are_numbered(trace: Trace) -> Iterator[Finding]:
    counts: Counter[tuple[object, str]] = Counter()
    for event in of_type(trace, DELTA):
        key = choice_number(event), part_of(event)
        number = value_of(event, "choice", "sequence_no")
        if number != counts[key]:
            yield event.event_id, f"{key[1]}: sequence number {number}, expected {counts[key]}"
        counts[key] += 1


def _sequence_numbers_follow(trace: Trace) -> Iterator[Finding]:
    before = None
    for event in of_type(trace, FRAME):
        number = value_of(event, "state", "sequence_number")
        if number is None:
            continue
        if before is None and number != 0:
            yield event.event_id, f"the first sequence number is {number}, expected 0"
        if before is not None and number != before + 1:
            yield event.event_id, f"sequence number {number} follows {before}"
        before = number


def _one_end(trace: Trace) -> Iterator[Finding]:
    ends = of_type(trace, ENDED)
    if len(ends) != 1:
        yield None, f"{len(ends)} events stream.ended"
    elif trace.events[-1] is not ends[0]:
        yield ends[0].event_id, f"{trace.events[-1].event_id} follows it"


def _nothing_after_the_end(trace: Trace) -> Iterator[Finding]:
    ended = None
    for event in of_type(trace, FRAME):
        payload = value_of(event, "state", "payload")
        if ended is not None and (payload != "done" or ended[1] == "done"):
            yield event.event_id, f"follows {ended[0]}, which ends the stream"
        elif payload == "done" or value_of(event, "state", "event") in _TERMINAL:
            ended = event.event_id, payload


def _one_finish(trace: Trace) -> Iterator[Finding]:
    if of_type(trace, FAILED):
        return
    counts = Counter(choice_number(event) for event in of_type(trace, FINISHED))
    for event in of_type(trace, MESSAGE):
        number = choice_number(event)
        if counts[number] != 1:
            yield event.event_id, f"answer {number} has {counts[number]} finish reasons"
    if not counts:
        yield None, "no answer has a finish reason"


def _is_no_error(trace: Trace) -> Iterator[Finding]:
    for event in of_type(trace, FAILED):
        told = value_of(event, "choice", "type") or value_of(event, "choice", "code")
        yield event.event_id, f"the server answers with an error: {told or 'of no type'!s:.60}"
    for event in of_type(trace, STARTED):
        status = value_of(event, "choice", "status")
        if type(status) is int and status >= 400 and not of_type(trace, FAILED):
            yield event.event_id, f"the server answers {status}, and then as if all were well"


def _keeps_protocol(trace: Trace) -> Iterator[Finding]:
    for event in of_type(trace, ENDED):
        places = value_of(event, "context", "violated_at") or []
        for index, name in enumerate(value_of(event, "choice", "violations")):
            where = f" at sse.event {places[index]}" if index < len(places) else ""
            yield event.event_id, f"{name}{where}"


STREAM_RULES = (
    Rule(
        "stream-events-are-counted",
        "server-sent events count 1, 2, 3, …",
        is_stream,
        _events_are_counted,
    ),
    Rule(
        "stream-deltas-are-numbered",
        "the deltas of every part count 0, 1, 2, …",
        is_stream,
        _deltas_are_numbered,
    ),
    Rule(
        "stream-sequence-numbers-follow",
        "the API's own sequence numbers count 0, 1, 2, …",
        is_stream,
        _sequence_numbers_follow,
    ),
    Rule("stream-has-one-end", "a stream has one end, which comes last", is_stream, _one_end),
    Rule(
        "stream-nothing-after-the-end",
        "no server-sent event follows the one that ends the stream",
        is_stream,
        _nothing_after_the_end,
    ),
    Rule(
        "stream-one-finish",
        "every answer has one finish reason, unless the server tells an error",
        is_stream,
        _one_finish,
    ),
    Rule(
        "stream-is-no-error",
        "the server answers, and not with an error",
        is_stream,
        _is_no_error,
    ),
    Rule(
        "stream-keeps-its-protocol",
        "the stream keeps the rules of its API",
        is_stream,
        _keeps_protocol,
    ),
    *MESSAGE_RULES,
)
