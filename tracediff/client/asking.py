"""Asks a server, again where that may help, and records every try and the answer.

Knows the order in which things happen. What is recorded of an answer is the matter of `streaming`;
must not know files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx

from tracediff.client.exchange import CutShort, Exchange, NoAnswer, Question, check_url, send
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
    check_url(question.url)
    start = clock.elapsed()
    secret = question.key.secret
    number = 1
    with AnswerRecording(open_sink(), request, question.api, secret=secret) as recording:
        while True:
            with send(client, question) as met:
                error = _error(met)
                asked = _asked_wait(met, clock)
                wait = _wait(met, error, number, clock.elapsed() - start, asked, clock, policy)
                _record_try(recording, met, error, number, wait)
                if wait is None:
                    given_up = _given_up(met, error, number, asked, policy)
                    incomplete = _read_answer(recording, met)
                    if incomplete is not None and given_up:
                        reason = f"{incomplete.reason}; {given_up}"
                        incomplete = replace(incomplete, reason=reason)
                    return replace(recording.close(incomplete), given_up=given_up)
            clock.sleep(wait)
            number += 1


def _error(met: Exchange | NoAnswer) -> str:
    """Return the code of what was met, "" where there is none."""
    return met.error if isinstance(met, NoAnswer) else met.error_code()


def _is_transient(met: Exchange | NoAnswer, error: str) -> bool:
    if isinstance(met, NoAnswer):
        return met.is_transient
    return is_transient(met.head.status, error)


def _asked_wait(met: Exchange | NoAnswer, clock: Clock) -> float | None:
    """Return the seconds that the server asks to wait, None where it does not say."""
    if isinstance(met, NoAnswer):
        return None
    return parse_retry_after(met.retry_after, clock.now())


def _wait(
    met: Exchange | NoAnswer,
    error: str,
    number: int,
    spent: float,
    asked: float | None,
    clock: Clock,
    policy: RetryPolicy,
) -> float | None:
    """Return after how many seconds to try again, None for not at all."""
    if not _is_transient(met, error):
        return None
    return next_wait(policy, number, spent, asked, clock.random())


def _given_up(
    met: Exchange | NoAnswer, error: str, number: int, asked: float | None, policy: RetryPolicy
) -> str:
    """Return why a transient error is not tried again, "" where there is none."""
    if not _is_transient(met, error):
        return ""
    if number >= policy.tries:
        return f"given up after {number} {'try' if number == 1 else 'tries'} (--tries)"
    if asked is None:
        return f"given up, as the next try would begin after {policy.total:g} s (--max-time)"
    return (
        f"given up, as the server asks to wait {asked:g} s, which goes beyond the "
        f"{policy.total:g} s of --max-time"
    )


def _record_try(
    recording: AnswerRecording,
    met: Exchange | NoAnswer,
    error: str,
    number: int,
    wait: float | None,
) -> None:
    if number == 1 and wait is None and not _is_transient(met, error):
        return  # asked once and answered, as a capture is: there is nothing to tell
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
