"""Rules on random numbers that hold for every kind of trace.

A run that repeats its own random numbers reproduces itself perfectly, so comparing it with itself
finds nothing: only a rule inside one trace does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from tracediff.contracts.rule import Finding, Rule
from tracediff.events import Trace


def _draws(trace: Trace) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for event in trace.events:
        for draw in event.payload.get("rng", ()):
            yield event.event_id, draw


def _stream(draw: Mapping[str, Any]) -> Hashable:
    key = draw.get("key")
    return draw["generator"], draw["algorithm"], None if key is None else tuple(key)


def _counter_advances(trace: Trace) -> Iterator[Finding]:
    for event_id, draw in _draws(trace):
        before, after, count = draw["counter_before"], draw["counter_after"], draw["draws"]["count"]
        if count == 0 and before != after:
            yield event_id, f"nothing was drawn, but the counter goes from {before} to {after}"
        if count > 0 and before == after:
            yield event_id, f"{count} numbers were drawn, but the counter stays at {before}"
        first, last = int_or_none(before), int_or_none(after)
        if first is not None and last is not None and last < first:
            yield event_id, f"the counter goes back from {before} to {after}"


def _counters_do_not_overlap(trace: Trace) -> Iterator[Finding]:
    spans: dict[Hashable, list[tuple[int, int, str]]] = defaultdict(list)
    for event_id, draw in _draws(trace):
        before, after = int_or_none(draw["counter_before"]), int_or_none(draw["counter_after"])
        if before is not None and after is not None and draw["draws"]["count"] > 0:
            spans[_stream(draw)].append((before, after, event_id))
    for found in spans.values():
        found.sort(key=lambda span: span[0])
        furthest = found[0]
        for later in found[1:]:
            if later[0] < furthest[1]:
                yield (
                    later[2],
                    f"draws again from counter {later[0]}, which {furthest[2]} used up to "
                    f"{furthest[1]}: the same random numbers twice",
                )
            furthest = max(furthest, later, key=lambda span: span[1])


def _counters_leave_no_gap(trace: Trace) -> Iterator[Finding]:
    ended: dict[Hashable, tuple[int | None, str]] = {}
    for event_id, draw in _draws(trace):
        stream, before = _stream(draw), int_or_none(draw["counter_before"])
        end, former = ended.get(stream, (None, ""))
        # The digest of a state does not say where a stream is.
        if before is not None and end is not None and before != end:
            yield event_id, f"begins at counter {before}, {former} ended at {end}"
        ended[stream] = int_or_none(draw["counter_after"]), event_id


def int_or_none(value: Any) -> int | None:
    """Return a counter as an integer, or None where it is the digest of a state."""
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, str) and value.isdecimal() else None


def _has_draws(trace: Trace) -> bool:
    return next(_draws(trace), None) is not None


RANDOMNESS_RULES = (
    Rule(
        "rng-counter-advances",
        "a draw moves its generator's counter, and nothing else does",
        _has_draws,
        _counter_advances,
    ),
    Rule(
        "rng-counters-do-not-overlap",
        "no two draws of one generator use the same counters",
        _has_draws,
        _counters_do_not_overlap,
    ),
    Rule(
        "rng-counters-leave-no-gap",
        "each draw of a generator begins at the counter at which the one before ended",
        _has_draws,
        _counters_leave_no_gap,
    ),
)
