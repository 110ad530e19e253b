"""Times of a run, from the times of its events."""

import io

import pytest
from rich.console import Console
from trace_building import chain, event

from tracediff.events import Trace
from tracediff.render.timing import BAR_WIDTH, MOST_BARS, measure_run, print_timing, timing_to_json

MILLISECOND = 1_000_000


def run(*types: str) -> Trace:
    """Return a trace of events of these types, called e0, e1 …"""
    return chain(*(event(f"e{i}", event_type=name) for i, name in enumerate(types)), kind="text")


def at(*milliseconds: float) -> dict[str, int]:
    """Return the times of e0, e1 …"""
    return {f"e{i}": int(time * MILLISECOND) for i, time in enumerate(milliseconds)}


TEXT = run(
    "request.accepted",
    "prefill.started",
    "prefill.completed",
    "stream.delta",
    "decode.started",
    "decode.completed",
    "stream.delta",
    "decode.completed",
    "stream.delta",
    "resources.released",
)
TIMES = at(1, 2, 12, 13, 14, 17, 18, 22, 24, 26)


def test_durations() -> None:
    """First token from the first event, per token after it, prefill and decode by their ends."""
    times = measure_run(TEXT, TIMES)
    assert times is not None
    assert timing_to_json(times)["milliseconds"] == {
        "whole": 25.0,
        "first_token": 12.0,
        "per_token": 5.5,
        "prefill": 10.0,
        "decode": 7.0,
        "other": 8.0,
    }
    assert [step.event.event_id for step in times.steps] == ["e2", "e5", "e7"]


@pytest.mark.parametrize(
    ("trace", "nanoseconds", "expected"),
    [
        pytest.param(run("a"), at(3), (0, None, None, None), id="one-event"),
        pytest.param(run("a", "b"), at(3, 4), (MILLISECOND, None, None, None), id="no-text"),
        pytest.param(
            run("a", "text.delta"), at(3, 5), (2 * MILLISECOND, 2 * MILLISECOND, None, None),
            id="one-piece",
        ),
        pytest.param(
            run("prefill.completed", "a"), at(5, 4), (MILLISECOND, None, None, MILLISECOND),
            id="out-of-order",
        ),
    ],
)  # fmt: skip
def test_what_a_trace_lacks(
    trace: Trace, nanoseconds: dict[str, int], expected: tuple[int | None, ...]
) -> None:
    """Durations without events are none; events count in the order of their times."""
    times = measure_run(trace, nanoseconds)
    assert times is not None
    assert (times.whole, times.first_token, times.per_token, times.prefill) == expected


def test_no_times() -> None:
    """Without the time of any event there is nothing to measure."""
    assert measure_run(TEXT, {"other": 1}) is None


def printed(trace: Trace, nanoseconds: dict[str, int]) -> list[str]:
    """Return the lines that are printed."""
    times = measure_run(trace, nanoseconds)
    assert times is not None
    console = Console(file=io.StringIO(), width=100)
    print_timing(times, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_chart() -> None:
    """Durations in milliseconds and per cent; the longest step has the longest bar."""
    lines = printed(TEXT, TIMES)
    assert lines[:6] == [
        "whole        25.0 ms",
        "first token  12.0 ms",
        "per token    5.5 ms after the first",
        "prefill      10.0 ms, 40%",
        "decode       7.0 ms, 28%; 2 steps, median 3.5 ms",
        "other        8.0 ms, 32%",
    ]
    bars = [line.count("█") + line.count("▌") / 2 for line in lines[6:]]
    assert bars == [BAR_WIDTH, BAR_WIDTH * 0.3, BAR_WIDTH * 0.4]


def test_times_of_nothing() -> None:
    """Steps that took no time have no bar, and nothing is divided by nothing."""
    assert printed(run("a", "decode.completed"), at(1, 1))[-1].endswith("0.0 ms ")


def test_many_steps() -> None:
    """A long run's chart ends, and says how much it leaves out."""
    trace = run(*["decode.completed"] * (MOST_BARS + 3))
    assert printed(trace, at(*range(MOST_BARS + 3)))[-1] == "2 further steps"
