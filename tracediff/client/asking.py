"""Asks a server, again where that may help, and records every try and the answer.

Knows the order in which things happen. What is recorded of an answer is the matter of `streaming`;
must not know files.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx

from tracediff.client.exchange import CutShort, Exchange, NoAnswer, Question, send
from tracediff.client.retrying import (
    Clock,
    RetryPolicy,
    is_transient,
    next_wait,
    parse_retry_after,
)
from tracediff.recording.sinks import EventSink
from tracediff.streaming.ending import Incomplete
from tracediff.streaming.record import AnswerRecording, Recorded
from tracediff.streaming.request import read_request


def record_answer(
    question: Question,
    open_sink: Callable[[], EventSink],
    client: httpx.Client,
    clock: Clock,
    policy: RetryPolicy,
) -> Recorded:
    """Ask, and record every try and the answer of the last one.

    `open_sink` is called once the body is known to be a request.
    A trace of an answer that is not whole has no end, and so reads as incomplete. Raises UsageError
    for a URL or a body that cannot be sent.
    """
    request = read_request(question.body, question.api)
    start = clock.elapsed()
    secret = question.key.secret
    number = 1
    with AnswerRecording(open_sink(), request, question.api, secret=secret) as recording:
        while True:
            with send(client, question) as met:
                error = _error(met)
                wait = _wait(met, error, number, clock.elapsed() - start, clock, policy)
                _record_try(recording, met, error, number, wait)
                if wait is None:
                    return recording.close(_read_answer(recording, met))
            clock.sleep(wait)
            number += 1


def _error(met: Exchange | NoAnswer) -> str:
    """Return the code of what was met, "" where there is none."""
    return met.error if isinstance(met, NoAnswer) else met.error_code()


def _wait(
    met: Exchange | NoAnswer,
    error: str,
    number: int,
    spent: float,
    clock: Clock,
    policy: RetryPolicy,
) -> float | None:
    """Return after how many seconds to try again, None for not at all."""
    if isinstance(met, NoAnswer):
        again, retry_after = met.is_transient, None
    else:
        again = is_transient(met.head.status, error)
        retry_after = parse_retry_after(met.retry_after, clock.now())
    if not again:
        return None
    return next_wait(policy, number, spent, retry_after, clock.random())


def _record_try(
    recording: AnswerRecording,
    met: Exchange | NoAnswer,
    error: str,
    number: int,
    wait: float | None,
) -> None:
    failed = isinstance(met, NoAnswer) or met.head.status >= 400
    outcome = "retried" if wait is not None else "gave-up" if failed else "answered"
    conditions: dict[str, Any] = {}
    if not isinstance(met, NoAnswer) and met.retry_after:
        conditions["retry_after"] = met.retry_after[:80]
    status = None if isinstance(met, NoAnswer) else met.head.status
    recording.layers.attempt(number, outcome, status=status, error=error[:80], **conditions)


def _read_answer(recording: AnswerRecording, met: Exchange | NoAnswer) -> Incomplete | None:
    """Read the body of the last try; return why there is no whole answer, None if there is one."""
    if isinstance(met, NoAnswer):
        return Incomplete(f"there is no answer: {met.reason}", 0, 0)
    body = recording.open_body(met.head, framed=False)
    try:
        for chunk in met.chunks():
            body.feed(chunk)
    except CutShort as error:
        return body.close(cut=f"the connection ends before the body does ({error})")
    return body.close(delivered=met.is_delimited)
