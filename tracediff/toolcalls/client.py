"""Carries out one confirmed invocation: attempts within a budget, queries where nothing is known.

Knows deadlines, budgets and the messages. Must not know who records the steps: it yields each one
before it goes on, so what is about to be sent is on record before it is sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from tracediff.errors import IllegalState
from tracediff.events.tool_states import Trigger
from tracediff.toolcalls.channel import Channel
from tracediff.toolcalls.clock import SimulatedClock
from tracediff.toolcalls.messages import (
    Absent,
    Committed,
    CreateEvent,
    NotCommitted,
    QueryEvent,
    Refused,
    Reply,
    Request,
)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long a reply is waited for, and how often it is tried again.

    `retries` attempts may follow the first; an unknown outcome is asked for up to `queries` times.
    Seconds are the injected clock's.
    """

    retries: int
    queries: int
    deadline_seconds: float
    retry_after_seconds: float


@dataclass(frozen=True, slots=True)
class Step:
    """What happened: the trigger of the state table, the attempt's number from 1, the reply."""

    trigger: Trigger
    attempt: int
    reply: Reply | None = None


def execute(
    request: CreateEvent, channel: Channel, clock: SimulatedClock, policy: RetryPolicy
) -> Iterator[Step]:
    """Yield the steps of one logical call; every attempt has the same key and digest.

    Ends with a committed, refused or abandoned step. A retry follows only what is known not to
    have been committed: what the service says so, or a query that finds nothing.
    """
    attempt = 1
    while True:
        yield Step(Trigger.INVOCATION_STARTED, attempt)
        reply = _ask(request, channel, clock, policy)
        if isinstance(reply, Committed):
            yield Step(Trigger.EXTERNAL_COMMITTED, attempt, reply)
            return
        if isinstance(reply, Refused):
            yield Step(Trigger.EXTERNAL_REFUSED, attempt, reply)
            return
        if isinstance(reply, NotCommitted):
            yield Step(Trigger.EXTERNAL_NOT_COMMITTED, attempt, reply)
        else:
            yield Step(Trigger.EXTERNAL_TIMED_OUT, attempt)
            last = None
            for last in _resolve(request, channel, clock, policy, attempt):
                yield last
            if last is None or last.trigger is not Trigger.QUERY_ABSENT:
                return
        if attempt > policy.retries:
            yield Step(Trigger.INVOCATION_ABANDONED, attempt)
            return
        attempt += 1
        clock.advance(policy.retry_after_seconds)


def _resolve(
    request: CreateEvent,
    channel: Channel,
    clock: SimulatedClock,
    policy: RetryPolicy,
    attempt: int,
) -> Iterator[Step]:
    """Yield queries with the request's key until one is answered."""
    for _ in range(policy.queries):
        reply = _ask(QueryEvent(request.key), channel, clock, policy)
        if isinstance(reply, Committed):
            yield Step(Trigger.QUERY_FOUND, attempt, reply)
            return
        if isinstance(reply, Absent):
            yield Step(Trigger.QUERY_ABSENT, attempt, reply)
            return
        yield Step(Trigger.QUERY_UNANSWERED, attempt, reply)
        clock.advance(policy.retry_after_seconds)
    yield Step(Trigger.INVOCATION_ABANDONED, attempt)


def _ask(
    request: Request, channel: Channel, clock: SimulatedClock, policy: RetryPolicy
) -> Reply | None:
    """Return the reply to a request, None if none comes in time; copies of it count once."""
    deadline = clock.now() + timedelta(seconds=policy.deadline_seconds)
    replies = [reply for reply in channel.send(request, deadline) if reply.key == request.key]
    if any(reply != replies[0] for reply in replies):
        raise IllegalState(f"two different replies to one request: {replies}")
    return replies[0] if replies else None
