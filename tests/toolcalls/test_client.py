"""The client: what it does about every fault, and that there is one event in the end."""

from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest
from toolcalls.calendar_world import POLICY, START, channel_to, key, request

from tracediff.errors import IllegalState
from tracediff.events.tool_states import Trigger
from tracediff.toolcalls.channel import FaultPoint
from tracediff.toolcalls.client import RetryPolicy, Step, execute
from tracediff.toolcalls.clock import SimulatedClock
from tracediff.toolcalls.messages import Committed, Reply, Request

STARTED, COMMITTED = "invocation.started", "external.committed"
TIMED_OUT, ABANDONED = "external.timed_out", "invocation.abandoned"
FOUND, ABSENT = "external.queried/found", "external.queried/absent"
UNANSWERED = "external.queried/unanswered"
LOST = FaultPoint.REPLY_LOST

OUTCOMES: dict[str, tuple[list[FaultPoint | None], list[str], int]] = {
    "no-fault": ([], [STARTED, COMMITTED], 1),
    "before-send": (
        [FaultPoint.BEFORE_SEND],
        [STARTED, TIMED_OUT, ABSENT, STARTED, COMMITTED],
        1,
    ),
    "before-commit": (
        [FaultPoint.BEFORE_COMMIT],
        [STARTED, "external.not_committed", STARTED, COMMITTED],
        1,
    ),
    "crash-before-commit": (
        [FaultPoint.CRASH_BEFORE_COMMIT],
        [STARTED, TIMED_OUT, ABSENT, STARTED, COMMITTED],
        1,
    ),
    "crash-after-commit": ([FaultPoint.CRASH_AFTER_COMMIT], [STARTED, TIMED_OUT, FOUND], 1),
    "reply-lost": ([LOST], [STARTED, TIMED_OUT, FOUND], 1),
    "reply-twice": ([FaultPoint.REPLY_TWICE], [STARTED, COMMITTED], 1),
    "refused": ([FaultPoint.REFUSED], [STARTED, "external.refused"], 0),
    "reply-and-query-lost": (
        [LOST, FaultPoint.BEFORE_SEND],
        [STARTED, TIMED_OUT, UNANSWERED, FOUND],
        1,
    ),
    "query-refused": (
        [LOST, FaultPoint.REFUSED],
        [STARTED, TIMED_OUT, UNANSWERED, FOUND],
        1,
    ),
    "query-answered-twice": ([LOST, FaultPoint.REPLY_TWICE], [STARTED, TIMED_OUT, FOUND], 1),
    "budget-used-up": (
        [FaultPoint.BEFORE_COMMIT] * 3,
        [*[STARTED, "external.not_committed"] * 3, ABANDONED],
        0,
    ),
    "budget-used-up-by-losses": (
        [FaultPoint.BEFORE_SEND, None] * 3,
        [*[STARTED, TIMED_OUT, ABSENT] * 3, ABANDONED],
        0,
    ),
    "nobody-answers": (
        [LOST, *[FaultPoint.BEFORE_SEND] * 3],
        [STARTED, TIMED_OUT, UNANSWERED, UNANSWERED, UNANSWERED, ABANDONED],
        1,
    ),
    "lost-then-not-committed": (
        [FaultPoint.BEFORE_SEND, None, FaultPoint.BEFORE_COMMIT],
        [STARTED, TIMED_OUT, ABSENT, STARTED, "external.not_committed", STARTED, COMMITTED],
        1,
    ),
}


@pytest.mark.parametrize(("faults", "triggers", "rows"), OUTCOMES.values(), ids=OUTCOMES)
def test_faults(
    faults: list[FaultPoint | None], triggers: list[str], rows: int, tmp_path: Path
) -> None:
    """Each fault leads through these steps; there are never two events."""
    clock = SimulatedClock(START)
    with closing(channel_to(tmp_path / "calendar.db", clock, faults)) as channel:
        steps = list(execute(request(), channel, clock, POLICY))
        assert [str(step.trigger) for step in steps] == triggers
        assert channel.service.event_count() == rows


def test_attempts_are_numbered_and_share_their_key(tmp_path: Path) -> None:
    """A retry is the same request: attempt 2, the same receipt's key."""
    clock = SimulatedClock(START)
    faults = [FaultPoint.BEFORE_COMMIT]
    with closing(channel_to(tmp_path / "calendar.db", clock, faults)) as channel:
        steps = list(execute(request(), channel, clock, POLICY))
    assert [step.attempt for step in steps] == [1, 1, 2, 2]
    assert {step.reply.key for step in steps if step.reply is not None} == {key()}


def test_a_lost_reply_costs_the_deadline_and_no_second_effect(tmp_path: Path) -> None:
    """The client waits its deadline; the event keeps the time of its commit."""
    clock = SimulatedClock(START)
    with closing(channel_to(tmp_path / "calendar.db", clock, [LOST])) as channel:
        *_, last = execute(request(), channel, clock, POLICY)
    assert clock.now().isoformat() == "2026-07-19T14:00:33+08:00"
    assert isinstance(last.reply, Committed)
    assert last.reply.committed_at == "2026-07-19T14:00:04+08:00"


def test_a_reply_after_the_deadline_is_none(tmp_path: Path) -> None:
    """A service that takes longer than the deadline is asked what became of it."""
    clock = SimulatedClock(START)
    impatient = RetryPolicy(retries=0, queries=1, deadline_seconds=0.5, retry_after_seconds=1)
    with closing(channel_to(tmp_path / "calendar.db", clock)) as channel:
        steps = list(execute(request(), channel, clock, impatient))
    assert [str(step.trigger) for step in steps] == [STARTED, TIMED_OUT, FOUND]


def test_the_start_is_told_before_anything_is_sent() -> None:
    """Whoever records the steps has the start on record before the request leaves."""

    class Watching:
        sent = 0

        def send(self, request: Request, deadline: datetime) -> list[Reply]:
            self.sent += 1
            return [Committed(request.key, "evt_1", "t", "s")]

        def close(self) -> None:
            """Nothing is open."""

    channel = Watching()
    steps = execute(request(), channel, SimulatedClock(START), POLICY)
    assert next(steps).trigger is Trigger.INVOCATION_STARTED
    assert channel.sent == 0
    assert next(steps).trigger is Trigger.EXTERNAL_COMMITTED
    assert channel.sent == 1


class Saying:
    """A channel that answers everything with fixed replies."""

    def __init__(self, *replies: Reply) -> None:
        self._replies = list(replies)

    def send(self, request: Request, deadline: datetime) -> list[Reply]:
        return self._replies

    def close(self) -> None:
        """Nothing is open."""


def test_replies_that_contradict_each_other_are_no_copies() -> None:
    """Two different receipts for one request are not taken for a reply that came twice."""
    replies = [Committed(key(), event_id, "t", "s") for event_id in ("evt_1", "evt_2")]
    with pytest.raises(IllegalState, match="two different replies"):
        list(execute(request(), Saying(*replies), SimulatedClock(START), POLICY))


def test_a_reply_to_another_request_is_no_reply() -> None:
    """Results are bound by key: what answers another request is not taken for this one's."""
    foreign = Committed(key("another"), "evt_1", "t", "s")
    steps = list(execute(request(), Saying(foreign), SimulatedClock(START), POLICY))
    assert steps[1] == Step(Trigger.EXTERNAL_TIMED_OUT, 1)
    assert all(not isinstance(step.reply, Committed) for step in steps)
