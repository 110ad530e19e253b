"""A state machine drives clients and service through faults, cancels, copies and restarts.

However it goes: never two events for one key, never an event without the matching confirmation,
and every call ends where the state table lets it, its outcome known.
"""

import sqlite3
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from toolcalls.calendar_tool import NORMALIZED
from toolcalls.calendar_world import SEED, START, key

from tracediff.errors import IllegalState
from tracediff.events.canonical_json import json_digest
from tracediff.events.tool_states import ToolState, Trigger, allowed_triggers
from tracediff.toolcalls.calendar import CalendarService
from tracediff.toolcalls.channel import FaultPoint, LocalChannel
from tracediff.toolcalls.client import RetryPolicy, Step, execute
from tracediff.toolcalls.clock import SimulatedClock
from tracediff.toolcalls.confirm import Decision, decide, find_mismatch, request_confirmation
from tracediff.toolcalls.invocation import Invocation
from tracediff.toolcalls.machine import ToolCallMachine
from tracediff.toolcalls.messages import Committed, CreateEvent, Refused

STEPS = 20_000
POLICY = RetryPolicy(retries=1, queries=2, deadline_seconds=30, retry_after_seconds=2)
LIVE = 4
"""Calls that may be under way at once; those that have ended are kept and checked on."""

NUMBERS = st.integers(0, LIVE - 1)
FAULTS = st.one_of(st.none(), st.sampled_from(FaultPoint))
DECISIONS = st.sampled_from([*[Decision.APPROVE] * 5, Decision.DENY])
ONE_IN_EIGHT = st.integers(0, 7).map(lambda drawn: drawn == 7)
ENDED = {
    ToolState.COMMITTED,
    ToolState.CONFIRMATION_REJECTED,
    ToolState.CONFIRMATION_DENIED,
    ToolState.EXECUTION_REFUSED,
    ToolState.RETRIES_EXHAUSTED,
    ToolState.OUTCOME_UNRESOLVED,
    ToolState.CANCELLED,
    ToolState.CANCELLED_AFTER_COMMIT,
}
ASKING = {Trigger.QUERY_FOUND, Trigger.QUERY_ABSENT, Trigger.QUERY_UNANSWERED}


@dataclass(slots=True)
class Call:
    """One logical call, and everything that was seen of it."""

    invocation: Invocation
    request: CreateEvent
    machine: ToolCallMachine
    steps: Iterator[Step] | None = None
    history: list[Trigger] = field(default_factory=list)
    receipt: Committed | None = None

    @property
    def is_running(self) -> bool:
        return self.steps is not None

    @property
    def is_confirmed(self) -> bool:
        return Trigger.CONFIRMATION_APPROVED in self.history

    def advance(self, trigger: Trigger) -> None:
        self.machine.advance(trigger)
        self.history.append(trigger)


class ExactlyOnce(RuleBasedStateMachine):
    """Up to four calls, one service on one file, one clock."""

    taken = 0

    @initialize()
    def open_the_service(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "calendar.db"
        self.clock = SimulatedClock(START)
        self.fault: FaultPoint | None = None
        faults = iter(lambda: self.fault, "never")
        self.channel = LocalChannel(self.open, self.clock, faults)
        self.reader = sqlite3.connect(self.path)
        self.calls: list[Call] = []
        self.has_news = False

    def open(self) -> CalendarService:
        service = CalendarService(self.path, SEED, self.clock)
        # Processes end here, machines do not: without waiting for the disk it is much faster.
        service._database.execute("PRAGMA synchronous = OFF")
        return service

    def rows(self) -> list[tuple[str, str, str]]:
        """Return key, digest and id of every event, as another connection sees them."""
        return self.reader.execute(
            "SELECT idempotency_key, request_digest, event_id FROM events"
        ).fetchall()

    def among(self, number: int, *states: ToolState) -> Call | None:
        """Return one of the calls in these states."""
        found = [call for call in self.calls if call.machine.state in states]
        return found[number % len(found)] if found else None

    def live(self) -> list[Call]:
        return [call for call in self.calls if call.machine.state not in ENDED or call.is_running]

    @precondition(lambda self: len(self.live()) < LIVE)
    @rule(title=st.sampled_from(["带护照", "开会"]))
    def prepare(self, title: str) -> None:
        """A proposal that was validated and authorised is shown to the person."""
        number = len(self.calls) + 1
        arguments = {**NORMALIZED, "title": title}
        invocation = Invocation(
            f"inv_{number:02d}", "calendar.create_event@v1", arguments, "user-42", "w:primary"
        )
        request = CreateEvent(key(f"k{number}"), invocation.request_digest, arguments)
        self.calls.append(Call(invocation, request, ToolCallMachine(ToolState.PREPARED)))

    @precondition(lambda self: self.among(0, ToolState.PREPARED))
    @rule(number=NUMBERS, decision=DECISIONS, is_changed=ONE_IN_EIGHT)
    def confirm(self, number: int, decision: Decision, is_changed: bool) -> None:
        """The person decides; sometimes the invocation has changed behind the person's back."""
        call = self.among(number, ToolState.PREPARED)
        assert call is not None
        confirmation = decide(
            request_confirmation("confirm", call.invocation, "Asia/Shanghai"), decision
        )
        arguments = {**call.invocation.normalized_arguments, "duration_minutes": 60}
        changed = replace(call.invocation, normalized_arguments=arguments)
        mismatch = find_mismatch(confirmation, changed if is_changed else call.invocation)
        assert (mismatch is not None) is is_changed
        if decision is Decision.DENY:
            call.advance(Trigger.CONFIRMATION_DENIED)
        elif mismatch is not None:
            call.advance(Trigger.CONFIRMATION_REJECTED)
        else:
            call.advance(Trigger.CONFIRMATION_APPROVED)

    @precondition(lambda self: self.among(0, ToolState.CONFIRMED))
    @rule(number=NUMBERS)
    def start(self, number: int) -> None:
        """A confirmed call is handed to the client."""
        call = self.among(number, ToolState.CONFIRMED)
        assert call is not None
        call.steps = execute(call.request, self.channel, self.clock, POLICY)
        self.take_step(call, None)

    @precondition(lambda self: any(call.is_running for call in self.calls))
    @rule(number=NUMBERS, fault=FAULTS)
    def go_on(self, number: int, fault: FaultPoint | None) -> None:
        """A running call takes its next step; what it sends may meet a fault."""
        running = [call for call in self.calls if call.is_running]
        self.take_step(running[number % len(running)], fault)

    def take_step(self, call: Call, fault: FaultPoint | None) -> None:
        assert call.steps is not None
        self.fault, self.has_news = fault, True
        step = next(call.steps, None)
        if step is None:
            call.steps = None
            return
        call.advance(step.trigger)
        if isinstance(step.reply, Committed):
            call.receipt = step.reply

    @precondition(lambda self: self.live())
    @rule(number=NUMBERS, is_wanted=ONE_IN_EIGHT)
    def cancel(self, number: int, is_wanted: bool) -> None:
        """A cancellation is taken where the table takes it, and else changes nothing."""
        live = self.live()
        call = live[number % len(live)]
        before = call.machine.state
        if Trigger.REQUEST_CANCELLED not in allowed_triggers(before):
            with pytest.raises(IllegalState):
                call.advance(Trigger.REQUEST_CANCELLED)
            assert call.machine.state is before
        elif is_wanted:
            call.advance(Trigger.REQUEST_CANCELLED)
            call.steps = None

    @precondition(lambda self: self.committed())
    @rule(number=st.integers(0, 100))
    def repeat_a_request(self, number: int) -> None:
        """A copy of a request that was committed arrives late: the answer is the same event."""
        call = self.committed()[number % len(self.committed())]
        assert self.channel.service.handle(call.request) == call.receipt

    @precondition(lambda self: self.committed())
    @rule(number=st.integers(0, 100))
    def use_a_key_for_another_request(self, number: int) -> None:
        """Another request under a used key is refused."""
        call = self.committed()[number % len(self.committed())]
        arguments = {**call.request.arguments, "duration_minutes": 61}
        other = CreateEvent(call.request.key, json_digest(arguments), arguments)
        assert isinstance(self.channel.service.handle(other), Refused)

    def committed(self) -> list[Call]:
        return [call for call in self.calls if call.receipt is not None]

    @precondition(lambda self: self.has_news)
    @rule()
    def restart(self) -> None:
        """The service's process ends and another one opens the file."""
        self.channel.restart()
        self.has_news = False

    @invariant()
    def events_are_confirmed_and_single(self) -> None:
        """Each event has a confirmed call of the same key and digest, and each key one event."""
        type(self).taken += 1
        if not hasattr(self, "calls"):
            return
        rows = self.rows()
        assert len({row[0] for row in rows}) == len(rows)
        started = {
            (call.request.key.idempotency_key, call.request.request_digest)
            for call in self.calls
            if call.is_confirmed and Trigger.INVOCATION_STARTED in call.history
        }
        assert {row[:2] for row in rows} <= started
        told = {call.receipt.event_id for call in self.calls if call.receipt is not None}
        assert told <= {row[2] for row in rows}

    def teardown(self) -> None:
        """Without further faults every running call comes to an end whose outcome is known."""
        if not hasattr(self, "calls"):
            return
        for call in self.calls:
            while call.is_running:
                self.take_step(call, None)
            if Trigger.INVOCATION_STARTED in call.history:
                assert call.machine.state in ENDED
            self.check_history(call)
        self.events_are_confirmed_and_single()
        self.reader.close()
        self.channel.close()
        self.folder.cleanup()

    def check_history(self, call: Call) -> None:
        """What a call says of its effect is what the file says, and unknowns were asked about."""
        for before, after in zip(call.history, call.history[1:], strict=False):
            if before is Trigger.EXTERNAL_TIMED_OUT:
                assert after in ASKING
        name = call.request.key.idempotency_key
        found = [event_id for key_name, _, event_id in self.rows() if key_name == name]
        if call.receipt is not None:
            assert found == [call.receipt.event_id]
        elif call.machine.state is not ToolState.OUTCOME_UNRESOLVED:
            assert found == []


def test_however_it_goes_there_is_one_effect() -> None:
    """At least 20,000 steps of random faults, retries, cancels, copies and restarts."""
    rounds = settings(
        max_examples=60,
        stateful_step_count=100,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    ExactlyOnce.taken = 0
    while ExactlyOnce.taken < STEPS:
        run_state_machine_as_test(ExactlyOnce, settings=rounds)
