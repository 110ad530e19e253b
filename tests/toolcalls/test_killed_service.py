"""The service's process is killed at each named point and started again on the same file."""

import json
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

import pytest
from tool_runs import run_with, states
from toolcalls.calendar_process import REPLIED
from toolcalls.calendar_tool import NORMALIZED
from toolcalls.calendar_world import SEED

from tracediff.contracts import check_trace
from tracediff.toolcalls import messages
from tracediff.toolcalls.calendar import ServicePoint
from tracediff.toolcalls.clock import SimulatedClock
from tracediff.toolcalls.messages import EffectKey, Reply, Request
from tracediff.workloads.tool import World

PROCESS = Path(__file__).with_name("calendar_process.py")

LOST = [("external.timed_out", "OUTCOME_UNKNOWN"), ("external.queried", "NOT_COMMITTED")]
AGAIN = [("invocation.started", "EXECUTING"), ("external.committed", "COMMITTED")]
FOUND = [("external.timed_out", "OUTCOME_UNKNOWN"), ("external.queried", "COMMITTED")]

STEPS = {
    ServicePoint.RECEIVED.value: [*LOST, *AGAIN],
    ServicePoint.BEFORE_COMMIT.value: [*LOST, *AGAIN],
    ServicePoint.AFTER_COMMIT.value: FOUND,
    REPLIED: [("external.committed", "COMMITTED")],
}
"""What the trace says between the first start and the result, by the point of death."""


class ProcessChannel:
    """A channel to a service in another process; a dead one is started again, to live."""

    def __init__(self, path: Path, clock: SimulatedClock, point: str) -> None:
        self._path = path
        self._clock = clock
        self._process = self._start(point)
        self.deaths: list[int] = []

    def _start(self, *point: str) -> "subprocess.Popen[str]":
        command = [sys.executable, str(PROCESS), str(self._path), str(SEED), *point]
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def send(self, request: Request, deadline: datetime) -> list[Reply]:
        """Return the reply, or none where the process dies over it."""
        if self._process.poll() is not None:
            self._bury()
            self._process = self._start()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        message = {"now": self._clock.now().isoformat(), "request": asdict(request)}
        self._process.stdin.write(json.dumps(message) + "\n")
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            self._clock.advance_to(deadline)
            return []
        answer = json.loads(line)
        self._clock.advance_to(datetime.fromisoformat(answer["now"]))
        answer["reply"]["key"] = EffectKey(**answer["reply"]["key"])
        return [getattr(messages, answer["type"])(**answer["reply"])]

    def close(self) -> None:
        """End the process, if it has not ended."""
        self._bury()

    def _bury(self) -> None:
        self._process.communicate()
        self.deaths.append(self._process.returncode)


@pytest.mark.parametrize(("point", "steps"), STEPS.items(), ids=STEPS)
def test_there_is_one_row_and_the_trace_says_so(
    point: str, steps: list[tuple[str, str]], tmp_path: Path
) -> None:
    """Wherever the process dies, there is one row in the end, and the trace tells how."""
    path = tmp_path / "calendar.db"
    channels: list[ProcessChannel] = []

    def open_channel(clock: SimulatedClock) -> ProcessChannel:
        channels.append(ProcessChannel(path, clock, point))
        return channels[0]

    trace = run_with(World(open_channel=open_channel))
    assert channels[0].deaths[0] == -signal.SIGKILL
    assert states(trace)[8:-1] == steps
    assert check_trace(trace).violations == ()

    with closing(sqlite3.connect(path)) as database:
        rows = database.execute("SELECT * FROM events").fetchall()
    committed = [
        event.payload["commit"]
        for event in trace.events
        if event.payload.get("commit", {}).get("status") == "committed"
    ]
    assert len(rows) == len(committed) == 1
    told = committed[0]
    assert rows[0] == (
        told["external_id"],
        told["scope"],
        told["tool_version"],
        told["idempotency_key"],
        told["request_digest"],
        *NORMALIZED.values(),
        told["committed_at"],
    )
    assert trace.events[-1].payload["commit"] == {
        "external_commit": True,
        "external_ids": [told["external_id"]],
    }
