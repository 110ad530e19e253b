"""What holds for every pair of traces, tried on small random ones."""

import json
from io import StringIO
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from mutants.graph_edits import without
from properties.random_traces import (
    changeable,
    odd_traces,
    renamed,
    reordered,
    traces,
    with_one_change,
)
from rich.console import Console

from tracediff.diff import DiffOptions, Outcome, TraceDiff, diff_traces
from tracediff.diff.align import align
from tracediff.events import Trace
from tracediff.events.structure import check_structure
from tracediff.render.terminal import print_diff

EXACT = ("artifacts", "state", "rng", "choice", "commit")
FAST = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


def frontier(diff: TraceDiff, *, mirrored: bool = False) -> set[tuple[Any, Any, str]]:
    """Return which pairs of events diverge independently, and in which section."""
    found = set()
    for divergence in diff.frontier:
        ids = [
            None if place is None else place.event_id
            for place in (divergence.left, divergence.right)
        ]
        found.add((*(reversed(ids) if mirrored else ids), divergence.check))
    return found


def contents(trace: Trace) -> list[str]:
    """Return what the events of a trace hold in the exactly compared sections, sorted."""
    held = [
        [e.component, e.event_type, {k: v for k, v in e.payload.items() if k in EXACT}]
        for e in trace.events
    ]
    return sorted(json.dumps(one, sort_keys=True) for one in held)


@given(traces())
@FAST
def test_random_traces_are_traces(found: Trace) -> None:
    """The strategy makes valid traces."""
    check_structure(found.events)


@given(traces())
@FAST
def test_a_trace_equals_itself(found: Trace) -> None:
    """Nothing differs between a trace and itself."""
    diff = diff_traces(found, found)
    assert diff.outcome is Outcome.EQUAL
    assert (diff.first, diff.frontier, diff.triggers, diff.context) == (None, (), (), ())


@given(traces(), traces())
@FAST
def test_swapping_sides_mirrors(left: Trace, right: Trace) -> None:
    """Outcome and frontier do not depend on which trace is called left."""
    one, two = diff_traces(left, right), diff_traces(right, left)
    assert one.outcome is two.outcome
    assert frontier(one) == frontier(two, mirrored=True)
    assert (one.coverage.only_left, one.coverage.only_right) == (
        two.coverage.only_right,
        two.coverage.only_left,
    )


@given(traces(), st.data())
@FAST
def test_one_change_is_found_where_it_is(found: Trace, data: st.DataObject) -> None:
    """One changed value is the first divergence: its event, its section, its field."""
    places = changeable(found)
    assume(places)
    place = data.draw(st.sampled_from(places))
    other, field = with_one_change(found, place)
    diff = diff_traces(found, other)
    assert diff.outcome is Outcome.DIVERGED
    assert diff.first is not None
    assert diff.first.check == place[1]
    assert diff.first.difference.field.startswith(field)
    assert diff.first.left is not None
    changed = found.events[place[0]]
    assert same_content(found, diff.first.left.event_id, changed.event_id)


def same_content(trace: Trace, event_id: str, other_id: str) -> bool:
    """Whether two events of a trace are the same one, or twins that nothing tells apart."""
    by_id = {event.event_id: event for event in trace.events}
    one, other = by_id[event_id], by_id[other_id]
    return one is other or (one.payload, one.event_type, one.parent_event_id) == (
        other.payload,
        other.event_type,
        other.parent_event_id,
    )


@given(traces(), st.data())
@FAST
def test_one_missing_event_is_one(found: Trace, data: st.DataObject) -> None:
    """Where one event is left out, one event is only on the left, and none only on the right."""
    assume(len(found.events) > 2)
    gone = data.draw(st.sampled_from(found.events[1:]))
    assume(not joined_by(found, gone.event_id))
    other = without(gone.event_id)(found)
    for diff in (diff_traces(found, other), diff_traces(other, found)):
        assert diff.outcome is Outcome.DIVERGED
        lone = diff.coverage.only_left, diff.coverage.only_right
        assert sorted(lone) == [0, 1]


def joined_by(trace: Trace, event_id: str) -> bool:
    """Whether another event joins this one."""
    return any(event_id in event.payload.get("joins", ()) for event in trace.events)


@given(traces(), st.randoms(use_true_random=False))
@FAST
def test_ids_and_file_order_mean_nothing(found: Trace, random: Any) -> None:
    """Renaming event ids and permuting lines changes no verdict."""
    order = list(range(len(found.events)))
    random.shuffle(order)
    other = renamed(reordered(found, order))
    assert diff_traces(found, other).outcome is Outcome.EQUAL
    assert diff_traces(other, found).outcome is Outcome.EQUAL


@given(traces(), traces())
@FAST
def test_every_event_is_aligned_once(left: Trace, right: Trace) -> None:
    """Each event of each side stands in exactly one pair."""
    pairs = align(left, right).pairs
    assert sorted(pair.left for pair in pairs if pair.left >= 0) == list(range(len(left.events)))
    assert sorted(pair.right for pair in pairs if pair.right >= 0) == list(range(len(right.events)))


@given(
    traces(), traces(), st.sampled_from(["", "joined-text", "unordered-siblings"]), st.booleans()
)
@FAST
def test_never_equal_where_content_differs(
    left: Trace, right: Trace, view: str, nan_equal: bool
) -> None:
    """No two traces raise, and whose exact sections hold other values are never equal."""
    options = DiffOptions(views=(view,) if view else (), nan_equal=nan_equal)
    diff = diff_traces(left, right, options)
    if contents(left) != contents(right):
        assert diff.outcome is Outcome.DIVERGED
    if diff.outcome is Outcome.DIVERGED:
        assert diff.cause is not None


@given(odd_traces(), odd_traces())
@FAST
def test_odd_values_under_known_words(left: Trace, right: Trace) -> None:
    """Whatever stands under the keys that causes read, there is a verdict and no error."""
    for diff in (diff_traces(left, right), diff_traces(right, left)):
        assert (diff.cause is None) == (diff.first is None)
        print_diff(diff, Console(file=StringIO()))
    assert diff_traces(left, left).outcome is Outcome.EQUAL
