"""The rules across events, on traces built in memory: both checkers say the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracediff.errors import IncompleteTrace, InvalidTrace, TraceError
from tracediff.events.boundaries import BoundaryRules
from tracediff.events.event import Event
from tracediff.events.ordered import NotOrdered, OrderedChecker
from tracediff.events.structure import StructureChecker, check_structure

HEADER = {"format": "tracediff-trace/1", "kind": "loop"}


def event(name: str, parent: str | None, **payload: Any) -> Event:
    return Event(payload.pop("trace_id", "t"), name, parent, "loop", "step", 0, payload)


def root(name: str = "r", **payload: Any) -> Event:
    return event(name, None, trace=HEADER, **payload)


def ended(name: str, parent: str | None, events: int) -> Event:
    return event(name, parent, end={"events": events})


VALID = [
    pytest.param([root(end={"events": 1})], id="one event is root and end"),
    pytest.param([root(), event("a", "r"), ended("b", "a", 3)], id="a chain"),
    pytest.param([root(), event("b", "a"), event("a", "r"), ended("z", "r", 4)], id="child first"),
    pytest.param([event("a", "r"), root(), ended("z", "r", 3)], id="root after its child"),
    pytest.param(
        [root(), event("a", "r"), event("b", "r"), event("c", "a", joins=["b"], end={"events": 4})],
        id="a join of two branches",
    ),
    pytest.param(
        [root(), event("c", "r", joins=["a"]), event("a", "r"), ended("z", "c", 4)],
        id="a join of a later event",
    ),
    pytest.param([root(), root(), ended("a", "r", 2)], id="copy of the root"),
    pytest.param([root(), event("a", "r"), event("a", "r"), ended("b", "a", 3)], id="copy inside"),
    pytest.param([root(), ended("a", "r", 2), ended("a", "r", 2)], id="copy of the end"),
    pytest.param(
        [root(), event("a", "r"), event("b", "a"), event("a", "r"), ended("c", "b", 4)],
        id="copy further on",
    ),
]


@pytest.mark.parametrize("events", VALID)
def test_a_whole_trace_is_accepted(events: Sequence[Event]) -> None:
    """What the format allows passes, copies of an event included."""
    check_structure(events)


BROKEN = [
    pytest.param([], IncompleteTrace, None, "no event", id="empty"),
    pytest.param([root()], IncompleteTrace, None, "no `end`", id="no end"),
    pytest.param(
        [root(), ended("a", "r", 3)],
        IncompleteTrace,
        "payload.end.events",
        "states 3 events and holds 2",
        id="end states more",
    ),
    pytest.param(
        [root(), event("a", "r"), ended("b", "r", 2)],
        IncompleteTrace,
        "payload.end.events",
        "states 2 events and holds 3",
        id="end states fewer",
    ),
    pytest.param(
        [root(), ended("a", "r", 2), event("b", "r")],
        InvalidTrace,
        "payload.end",
        "not the last",
        id="end in the middle",
    ),
    pytest.param(
        [event("r", None), ended("a", "r", 2)],
        InvalidTrace,
        "payload.trace",
        "lacks its `trace` section",
        id="root without trace",
    ),
    pytest.param(
        [root(), event("a", "r", trace=HEADER), ended("b", "r", 3)],
        InvalidTrace,
        "payload.trace",
        "only the root",
        id="trace on a child",
    ),
    pytest.param(
        [root(), root("s"), ended("b", "r", 3)],
        InvalidTrace,
        "parent_event_id",
        "the root is 'r'",
        id="two roots",
    ),
    pytest.param(
        [root(), event("a", "r", trace_id="u"), ended("b", "r", 3)],
        InvalidTrace,
        "trace_id",
        "a file holds one trace",
        id="two trace ids",
    ),
    pytest.param(
        [root(), event("a", "r"), event("a", "r", state={"x": 1}), ended("b", "r", 3)],
        InvalidTrace,
        "event_id",
        "in line 2 already, with other content",
        id="one id, two contents",
    ),
    pytest.param(
        [root(), root(x=1), ended("b", "r", 2)],
        InvalidTrace,
        "event_id",
        "in line 1 already",
        id="root twice, two contents",
    ),
    pytest.param(
        [root(), event("c", "x9"), ended("b", "r", 3)],
        InvalidTrace,
        "parent_event_id",
        "no event 'x9'",
        id="missing parent",
    ),
    pytest.param(
        [root(), event("c", "r", joins=["r", "x9"]), ended("b", "r", 3)],
        InvalidTrace,
        "payload.joins[1]",
        "no event 'x9'",
        id="missing join",
    ),
    pytest.param(
        [event("c", "x9"), ended("b", "c", 2)],
        InvalidTrace,
        "parent_event_id",
        "no event 'x9' in the trace, nor a root",
        id="no root",
    ),
    pytest.param(
        [root(joins=["r"], end={"events": 1})],
        InvalidTrace,
        "payload.joins",
        "joins nothing",
        id="root that joins",
    ),
    pytest.param(
        [root(), event("a", "a"), ended("b", "r", 3)],
        InvalidTrace,
        "parent_event_id",
        "a -> a",
        id="its own parent",
    ),
    pytest.param(
        [event("a", "b"), event("b", "a", end={"events": 2})],
        InvalidTrace,
        "parent_event_id",
        "a -> b -> a",
        id="cycle of two and no root",
    ),
    pytest.param(
        [root(), event("c", "b"), event("b", "a"), event("a", "c"), ended("z", "r", 5)],
        InvalidTrace,
        "parent_event_id",
        "c -> b -> a -> c",
        id="cycle beside the root",
    ),
    pytest.param(
        [root(), event("a", "r", joins=["b"]), event("b", "a"), ended("z", "r", 4)],
        InvalidTrace,
        "parent_event_id",
        "a -> b -> a",
        id="cycle through a join",
    ),
]


@pytest.mark.parametrize(("events", "error", "field", "reason"), BROKEN)
def test_a_broken_rule_is_named(
    events: Sequence[Event], error: type[TraceError], field: str | None, reason: str
) -> None:
    """Each breach has its outcome, its field and a reason that names what is wrong."""
    with pytest.raises(error) as refusal:
        check_structure(events, name="NAME")
    assert refusal.value.place.field == field
    assert reason in refusal.value.reason
    assert refusal.value.place.path == "NAME"


def test_a_conflict_names_both_lines() -> None:
    """Two contents under one id: the message has the line of either."""
    events = [root(), event("a", "r"), event("b", "r"), event("a", "b")]
    with pytest.raises(InvalidTrace, match="in line 2 already") as refusal:
        check_structure(events)
    assert refusal.value.place.line == 4


def outcome(check: Callable[[], None]) -> str:
    try:
        check()
    except NotOrdered:
        return "not decided"
    except TraceError as error:
        return str(error)
    return "whole"


def run(checker: OrderedChecker | StructureChecker, events: Sequence[Event]) -> None:
    for line, found in enumerate(events, start=1):
        checker.add(found, found, line)
    checker.finish()


ids = st.sampled_from("rabcd")


@st.composite
def graphs(draw: st.DrawFn) -> list[Event]:
    """Draw a few events with arbitrary parents, mostly with a root and an end."""
    events = [root()] if draw(st.integers(0, 9)) else []
    for _ in range(draw(st.integers(0, 5))):
        joins = draw(st.lists(ids, max_size=1))
        events.append(event(draw(ids), draw(ids), **({"joins": joins} if joins else {})))
    count = draw(st.sampled_from([len({e.event_id for e in events}) + 1, 3]))
    return [*events, ended("z", draw(ids), count)]


@given(graphs())
def test_the_compact_checker_agrees_where_it_decides(events: list[Event]) -> None:
    """Whatever the graph, the compact checker says what the full one says, or nothing."""
    compact = outcome(lambda: run(OrderedChecker(), events))
    assert compact in {"not decided", outcome(lambda: run(StructureChecker(), events))}


@given(st.integers(1, 40), st.randoms(use_true_random=False))
def test_the_compact_checker_decides_where_parents_come_first(size: int, random: Any) -> None:
    """With parents first and no id twice, the compact checker needs no help."""
    parents = [f"e{random.randrange(index)}" for index in range(1, size)]
    events = [root("e0"), *(event(f"e{n}", p) for n, p in enumerate(parents, start=1))]
    last = events.pop()
    events.append(
        Event(
            "t", last.event_id, last.parent_event_id, "loop", "step", 0, {"end": {"events": size}}
        )
        if size > 1
        else root("e0", end={"events": 1})
    )
    assert outcome(lambda: run(OrderedChecker(), events)) == "whole"


def test_boundary_rules_alone_let_copies_pass() -> None:
    """In constant memory copies cannot be known: more events than stated is no breach yet."""
    rules = BoundaryRules("trace")
    for found in (root(), event("a", "r"), event("a", "r"), ended("b", "a", 3)):
        assert rules.add(found, found)
    rules.finish()
    with pytest.raises(IncompleteTrace, match="states 3 events and holds 4"):
        rules.finish(4)


def test_the_full_checker_says_what_is_a_copy() -> None:
    """`add` tells the caller which events to drop."""
    checker = StructureChecker()
    events = [root(), event("a", "r"), event("a", "r"), root()]
    assert [checker.add(e, e) for e in events] == [True, True, False, False]
    assert checker.events == 2
