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


def after_another(count: int, broken: int | None = None) -> Trace:
    """The main line several times in one trace, under an event that is no request."""
    root, *others = main_line().events
    header = {**root.payload["trace"], "overrides": {"max_output_tokens": 8}}
    plain = {key: value for key, value in root.payload.items() if key != "trace"}
    start = replace(root, event_id="start", event_type="started", payload={"trace": header})
    events = [start]
    for turn in range(count):
        request = replace(root, parent_event_id=events[-1].event_id, payload=plain)
        events += [_again(event, turn, turn == broken) for event in (request, *others)]
    return Trace(tuple(events))


def _again(event: Event, turn: int, is_broken: bool) -> Event:
    parent = event.parent_event_id
    if event.event_type != "request.accepted":
        parent = f"{parent}-{turn}"
    payload = dict(event.payload)
    if is_broken and event.event_id == "e09":
        payload["choice"] = {**payload["choice"], "token_id": 3}
    return replace(
        event, event_id=f"{event.event_id}-{turn}", parent_event_id=parent, payload=payload
    )


def test_requests_after_another_keep_the_contract() -> None:
    """Each request of a trace begins anew: its caches, its positions, its ids."""
    assert check_trace(after_another(3)).violations == ()


def test_one_request_breaks_it() -> None:
    """What one request breaks is reported of its own events."""
    found = check_trace(after_another(3, broken=1)).violations
    assert found
    assert {str(violation.event_id)[-2:] for violation in found} == {"-1"}
