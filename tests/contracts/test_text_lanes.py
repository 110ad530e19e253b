"""Rules on text runs look at each lane of a batch as at a run alone."""

from dataclasses import replace
from typing import Any

from text_runs import main_line

from tracediff.contracts import check_trace
from tracediff.events import Event, Trace


def in_lanes(count: int, broken: int | None = None) -> Trace:
    """The main line, all of it but the request once in each lane; one may choose another id."""
    root, *others = main_line().events
    header = {**root.payload["trace"], "overrides": {"max_output_tokens": 8}}
    events = [replace(root, payload={**root.payload, "trace": header})]
    for row in range(count):
        events += [_in_lane(event, root.event_id, row, row == broken) for event in others]
    return Trace(tuple(events))


def _in_lane(event: Event, root: str, row: int, is_broken: bool) -> Event:
    parent = event.parent_event_id
    payload: dict[str, Any] = {**event.payload, "lane": {"row": row}}
    if is_broken and event.event_id == "e09":
        payload["choice"] = {**payload["choice"], "token_id": 3}
    return replace(
        event,
        event_id=f"{event.event_id}-{row}",
        parent_event_id=parent if parent == root else f"{parent}-{row}",
        payload=payload,
    )


def test_lanes_keep_the_contract() -> None:
    """Several runs side by side are several runs that keep it."""
    assert check_trace(in_lanes(3)).violations == ()


def test_one_lane_breaks_it() -> None:
    """What one lane breaks is reported of its own events, once."""
    found = check_trace(in_lanes(3, broken=1)).violations
    assert found
    assert {str(violation.event_id)[-2:] for violation in found} == {"-1"}
    assert len(set(found)) == len(found)
