"""When the parts of a run happened: time to first token, time per token, prefill and decode.

Reads a trace and the times of its events. Must not know where they are stored; computes nothing
but differences of times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from rich.console import Console
from rich.text import Text

from tracediff.events import Event, Trace
from tracediff.render.escape import visible

DELTAS = ("stream.delta", "text.delta")
PREFILLS = ("prefill.completed",)
DECODES = ("decode.completed",)
STEPS = (*PREFILLS, *DECODES, "denoise.updated")
"""Events that end a piece of work of the model."""

HALVES = " ▌"
FULL = "█"
BAR_WIDTH = 40
MOST_BARS = 60
_MILLISECOND = 1e6


@dataclass(frozen=True, slots=True)
class StepTime:
    """One piece of work: which event ended it, and how many nanoseconds it took."""

    event: Event
    nanoseconds: int


@dataclass(frozen=True, slots=True)
class RunTimes:
    """Durations in nanoseconds; None where the trace has no such events.

    `first_token` counts from the first event to the first piece of text, `per_token` is the mean
    distance of the pieces after it. Prefill and decode are what lies before the events that
    complete them; the rest of the whole is `other`.
    """

    whole: int
    first_token: int | None
    per_token: float | None
    prefill: int | None
    decode: int | None
    steps: tuple[StepTime, ...]

    @property
    def other(self) -> int:
        """Selection, validation, streaming and recording."""
        return self.whole - (self.prefill or 0) - (self.decode or 0)


def measure_run(trace: Trace, nanoseconds: Mapping[str, int]) -> RunTimes | None:
    """Return the times of a run; None where none of its events has one."""
    timed = sorted(
        (event for event in trace.events if event.event_id in nanoseconds),
        key=lambda event: nanoseconds[event.event_id],
    )
    if not timed:
        return None
    times = [nanoseconds[event.event_id] for event in timed]
    start = times[0]
    steps = tuple(
        StepTime(event, after - before)
        for (before, after), event in zip(pairwise(times), timed[1:], strict=True)
        if event.event_type in STEPS
    )
    pieces = [at for at, event in zip(times, timed, strict=True) if event.event_type in DELTAS]
    gaps = len(pieces) - 1
    return RunTimes(
        whole=times[-1] - start,
        first_token=pieces[0] - start if pieces else None,
        per_token=(pieces[-1] - pieces[0]) / gaps if gaps > 0 else None,
        prefill=_total(steps, PREFILLS),
        decode=_total(steps, DECODES),
        steps=steps,
    )


def print_timing(times: RunTimes, console: Console) -> None:
    """Print the durations in milliseconds, and a bar for each step of the model."""
    for name, text in _rows(times):
        console.print(Text(f"{name:<12} {text}"), soft_wrap=True)
    shown = times.steps[:MOST_BARS]
    longest = max((step.nanoseconds for step in shown), default=0)
    for step in shown:
        console.print(_bar(step, longest), soft_wrap=True)
    if len(times.steps) > len(shown):
        console.print(Text(f"{len(times.steps) - len(shown)} further steps"), soft_wrap=True)


def timing_to_json(times: RunTimes) -> dict[str, object]:
    """Return the durations in milliseconds."""
    return {
        "format": "tracediff-timing/1",
        "milliseconds": {
            "whole": _milliseconds(times.whole),
            "first_token": _milliseconds(times.first_token),
            "per_token": _milliseconds(times.per_token),
            "prefill": _milliseconds(times.prefill),
            "decode": _milliseconds(times.decode),
            "other": _milliseconds(times.other),
        },
        "steps": [
            {
                "event": step.event.event_id,
                "event_type": step.event.event_type,
                "logical_step": step.event.logical_step,
                "milliseconds": _milliseconds(step.nanoseconds),
            }
            for step in times.steps
        ],
    }


def _total(steps: Sequence[StepTime], types: Sequence[str]) -> int | None:
    found = [step.nanoseconds for step in steps if step.event.event_type in types]
    return sum(found) if found else None


def _rows(times: RunTimes) -> list[tuple[str, str]]:
    decodes = [step.nanoseconds for step in times.steps if step.event.event_type in DECODES]
    rows = [("whole", _shown(times.whole))]
    if times.first_token is not None:
        rows.append(("first token", _shown(times.first_token)))
    if times.per_token is not None:
        rows.append(("per token", f"{_shown(times.per_token)} after the first"))
    if times.prefill is not None:
        rows.append(("prefill", f"{_shown(times.prefill)}, {_part(times.prefill, times)}"))
    if times.decode is not None:
        middle = f"{len(decodes)} steps, median {_shown(median(decodes))}"
        rows.append(("decode", f"{_shown(times.decode)}, {_part(times.decode, times)}; {middle}"))
    if times.prefill is not None or times.decode is not None:
        rows.append(("other", f"{_shown(times.other)}, {_part(times.other, times)}"))
    return rows


def _bar(step: StepTime, longest: int) -> Text:
    halves = round(2 * BAR_WIDTH * step.nanoseconds / longest) if longest > 0 else 0
    bar = FULL * (halves // 2) + HALVES[halves % 2].strip()
    label = visible(f"{step.event.event_id} {step.event.event_type}", 28)
    return Text(f"{label:<28} {_shown(step.nanoseconds):>10} {bar}")


def _part(nanoseconds: float, times: RunTimes) -> str:
    return f"{nanoseconds / times.whole:.0%}" if times.whole > 0 else "0%"


def _shown(nanoseconds: float) -> str:
    return f"{nanoseconds / _MILLISECOND:.1f} ms"


def _milliseconds(nanoseconds: float | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / _MILLISECOND
