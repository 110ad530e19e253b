"""The calendar service as a process of its own: `calendar_process.py FILE SEED [POINT]`.

Reads one request a line and writes one reply a line. With a point it kills itself there, with the
signal that nothing can catch, at the first request that gets so far.
"""

import json
import os
import signal
import sys
from dataclasses import asdict
from datetime import datetime
from typing import Any

from tracediff.toolcalls.calendar import CalendarService, ServicePoint
from tracediff.toolcalls.clock import SimulatedClock
from tracediff.toolcalls.messages import CreateEvent, EffectKey, QueryEvent, Request

REPLIED = "replied"
"""A point that only the process has: the reply is written."""


def read_request(found: dict[str, Any]) -> Request:
    key = EffectKey(**found["key"])
    if "arguments" not in found:
        return QueryEvent(key)
    return CreateEvent(key, found["request_digest"], found["arguments"])


def die_at(point: str, reached: str) -> None:
    if point == reached:
        os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    path, seed, *points = sys.argv[1:]
    point = points[0] if points else ""
    clock = SimulatedClock(datetime.fromisoformat("1970-01-01T00:00:00+00:00"))
    service = CalendarService(path, int(seed), clock)

    def at_point(reached: ServicePoint) -> None:
        die_at(point, reached)

    for line in sys.stdin:
        message = json.loads(line)
        clock.advance_to(datetime.fromisoformat(message["now"]))
        reply = service.handle(read_request(message["request"]), at_point)
        answer = {"type": type(reply).__name__, "reply": asdict(reply), "now": str(clock.now())}
        print(json.dumps(answer), flush=True)
        die_at(point, REPLIED)


if __name__ == "__main__":
    main()
