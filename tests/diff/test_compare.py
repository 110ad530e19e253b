"""The verdict on two traces: outcome, first divergence, origin, downstream, triggers, cause."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from trace_building import chain, changed, event, tensor, trace, with_payload

from tracediff.diff import DiffOptions, Outcome, diff_traces
from tracediff.diff.result import MISSING
from tracediff.events import Event, Trace
from tracediff.workloads.run import run_fixture

VALUES = np.array([1.0, 2.0], np.float32)


@pytest.fixture(scope="module")
def golden() -> Trace:
    return run_fixture("text-001")


def small(**sections: Any) -> Trace:
    """Return a chain of three events, the middle one with the given sections."""
    return chain(
        event("a", state={"n": 0}),
        event("b", step=1, **sections),
        event("c", event_type="last", step=1, choice={"token_id": 1}),
    )


SECTIONS: Mapping[str, tuple[dict[str, Any], dict[str, Any], str, str]] = {
    "artifacts": (
        {"artifacts": {"model": "a"}},
        {"artifacts": {"model": "b"}},
        "artifacts",
        "model",
    ),
    "state": ({"state": {"position": 6}}, {"state": {"position": 12}}, "state", "position"),
    "ids-missing": ({"ids": {"call": "a"}}, {}, "ids", "call"),
    "inputs": (
        {"inputs": [tensor("x", VALUES)]},
        {"inputs": [tensor("x", VALUES * 2)]},
        "inputs",
        "inputs[x]",
    ),
    "tensor-missing": (
        {"outputs": [tensor("x", VALUES), tensor("y", VALUES)]},
        {"outputs": [tensor("x", VALUES)]},
        "outputs",
        "outputs[y]",
    ),
    "tensor-extra": (
        {"outputs": [tensor("x", VALUES)]},
        {"outputs": [tensor("x", VALUES), tensor("y", VALUES)]},
        "outputs",
        "outputs[y]",
    ),
    "section-missing": ({"outputs": [tensor("x", VALUES)]}, {}, "outputs", "payload.outputs"),
    "logical-place": (
        {"outputs": [tensor("x", VALUES, positions=[0, 1])]},
        {"outputs": [tensor("x", VALUES, positions=[1, 2])]},
        "outputs",
        "logical.positions[0]",
    ),
    "choice": ({"choice": {"token_id": 14}}, {"choice": {"token_id": 15}}, "choice", "token_id"),
    "commit": ({"commit": {"event": "e1"}}, {"commit": {"event": "e2"}}, "commit", "event"),
}


@pytest.mark.parametrize("case", SECTIONS)
def test_each_section_diverges(case: str) -> None:
    """A difference in a section is found there, from either side."""
    mine, other, check, field = SECTIONS[case]
    for left, right in ((mine, other), (other, mine)):
        found = diff_traces(small(**left), small(**right))
        assert found.outcome is Outcome.DIVERGED
        assert found.first is not None
        assert found.first.left is not None
        assert (found.first.left.event_id, found.first.check) == ("b", check)
        assert found.first.difference.field.endswith(field)


def draw(**changes: Any) -> list[dict[str, Any]]:
    return [
        {
            "generator": "g",
            "algorithm": "Philox4x32-10",
            "key": [7, 0],
            "counter_before": 0,
            "counter_after": 1,
            "draws": {"count": 4},
            **changes,
        }
    ]


RNG = {
    "counter": ({"counter_before": 1, "key": [8, 0]}, "counter_before", "rng-counter"),
    "algorithm": ({"algorithm": "mt19937", "key": [8, 0]}, "algorithm", "rng-algorithm"),
    "key": ({"key": [8, 0]}, "key[0]", "seed"),
    "draws": ({"draws": {"count": 5}}, "draws.count", "rng-counter"),
}


@pytest.mark.parametrize("case", RNG)
def test_random_counters_come_before_values(case: str) -> None:
    """The counter is looked at first, and all of it before the tensors that were drawn."""
    changes, field, kind = RNG[case]
    left = small(rng=draw(), outputs=[tensor("z", VALUES)])
    right = small(rng=draw(**changes), outputs=[tensor("z", VALUES + 1)])
    found = diff_traces(left, right)
    assert found.first is not None
    assert found.cause is not None
    assert found.first.check == "rng"
    assert found.first.difference.field.endswith(field)
    assert found.cause.kind == kind


IGNORED: Mapping[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "note": ({"note": "a"}, {"note": "b"}),
    "private": ({"x-mine": 1}, {"x-mine": 2}),
    "context": ({"context": {"batch": 1}}, {"context": {"batch": 8}}),
    "settings": ({"settings": {"limit": 1}}, {"settings": {"limit": 2}}),
    "renamed-ids": ({"ids": {"call": "aa"}}, {"ids": {"call": "bb"}}),
}


@pytest.mark.parametrize("case", IGNORED)
def test_what_is_no_divergence(case: str) -> None:
    """Notes, private keys, conditions, settings and renamed ids never diverge by themselves."""
    mine, other = IGNORED[case]
    found = diff_traces(small(**mine), small(**other))
    assert found.outcome is Outcome.EQUAL
    assert bool(found.context) == (case == "context")
    assert bool(found.triggers) == (case == "settings")
    assert bool(found.normalisers) == (case == "renamed-ids")


def test_strict_settings() -> None:
    """With the option a differing setting is a divergence."""
    left, right = small(settings={"limit": 1}), small(settings={"limit": 2})
    options = DiffOptions(strict_settings=True)
    assert diff_traces(left, right, options).outcome is Outcome.DIVERGED


def test_ids_need_one_consistent_renaming() -> None:
    """Two ids that become one, or one that becomes two, diverge."""

    def run(first: str, second: str) -> Trace:
        return chain(event("a", ids={"call": first}), event("b", step=1, ids={"call": second}))

    assert diff_traces(run("x", "y"), run("p", "q")).outcome is Outcome.EQUAL
    for left, right in ((run("x", "y"), run("p", "p")), (run("x", "x"), run("p", "q"))):
        found = diff_traces(left, right)
        assert found.first is not None
        assert found.first.check == "ids"


def test_origin_and_downstream() -> None:
    """What diverges below a divergence is counted, what diverges beside it is an origin too."""
    left = trace(
        [
            event("r"),
            event("a", "r", "x", choice={"v": 1}),
            event("b", "a", "y", choice={"v": 1}),
            event("c", "r", "z", state={"v": 1}),
        ]
    )
    right = changed(changed(left, "a", choice={"v": 2}), "b", choice={"v": 2})
    right = changed(right, "c", state={"v": 2}, end={"events": 4})
    found = diff_traces(left, right)
    assert [d.left.event_id for d in found.frontier if d.left] == ["a", "c"]
    assert found.downstream == {"choice": 1}


def test_join_makes_a_victim() -> None:
    """An event that joins a divergent branch is downstream of it."""
    events = [
        event("r"),
        event("a", "r", "x", choice={"v": 1}),
        event("b", "r", "y", choice={"v": 1}),
        event("j", "a", "join", joins=["b"], choice={"v": 1}),
    ]
    left = trace(events)
    right = changed(changed(left, "b", choice={"v": 2}), "j", choice={"v": 2})
    found = diff_traces(left, right)
    assert [d.left.event_id for d in found.frontier if d.left] == ["b"]
    assert found.downstream == {"choice": 1}


def test_joins_are_part_of_the_structure() -> None:
    """A join of other branches is another parent relation."""
    events = [event("r"), event("a", "r", "x"), event("b", "r", "y"), event("j", "a", "join")]
    left = trace([*events[:3], with_payload(events[3], joins=["b"])])
    found = diff_traces(left, trace(events))
    assert found.first is not None
    assert (found.first.check, found.first.difference.field) == ("structure", "payload.joins")


def test_step_counts_relative_to_the_parent() -> None:
    """A step that is off is reported once, and not again for everything that follows."""
    left = chain(*(event(f"e{n}", step=n, state={"v": n}) for n in range(6)))
    right = chain(*(event(f"e{n}", step=n + (n >= 3), state={"v": n}) for n in range(6)))
    found = diff_traces(left, right)
    assert [d.difference.field for d in found.frontier] == ["logical_step"]
    assert found.downstream == {}


def test_nothing_compared_is_no_pass() -> None:
    """Traces without anything to compare are not equal."""
    found = diff_traces(trace([event("a")]), trace([event("b")]))
    assert found.outcome is Outcome.NOTHING_COMPARED
    assert "hold nothing that is compared" in found.message


def test_kinds_are_not_compared() -> None:
    """Traces of different kinds are incomparable."""
    left = trace([event("a", state={"n": 1})], kind="text")
    right = trace([event("a", state={"n": 1})], kind="image")
    assert diff_traces(left, right).outcome is Outcome.INCOMPARABLE


def test_first_visible_effect_is_named_beside_the_first_divergence(golden: Trace) -> None:
    """The first difference and the first visible one are two places."""
    other = run_fixture("text-001", {"minimum_output_tokens": 6})
    found = diff_traces(golden, other)
    assert found.first is not None
    assert found.first.left is not None
    assert found.visible is not None
    assert found.visible.left is not None
    assert (found.first.left.event_id, found.visible.left.event_id) == ("e09", "e21")


TOPS: Mapping[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a-value": ({"token_id": 1, "top": [[1, 0.5]]}, {"token_id": 1, "top": [[1, 0.25]]}),
    "an-id": ({"token_id": 1, "top": [[1, 0.5]]}, {"token_id": 1, "top": [[2, 0.5]]}),
    "one-lacks-it": ({"token_id": 1, "top": [[1, 0.5]]}, {"token_id": 1}),
    "one-lacks-a-choice": ({"top": [[1, 0.5]]}, {}),
    "in-a-step": (
        {"steps": [{"token_id": 1, "top": [[1, 0.5]]}]},
        {"steps": [{"token_id": 1, "top": [[1, 0.25]]}]},
    ),
}


def _chosen(choice: dict[str, Any]) -> dict[str, Any]:
    return {"choice": choice} if choice else {}


@pytest.mark.parametrize("case", TOPS)
def test_a_top_list_is_not_visible(case: str) -> None:
    """It parts the traces, and the first visible effect is the token that follows."""
    mine, other = TOPS[case]
    ends = [event("c", event_type="last", step=1, choice={"token_id": token}) for token in (1, 2)]
    left, right = (
        chain(event("a", state={"n": 0}), event("b", step=1, **_chosen(choice)), end)
        for choice, end in zip((mine, other), ends, strict=True)
    )
    found = diff_traces(left, right)
    assert found.first is not None
    assert found.first.check == "choice"
    assert found.visible is not None
    assert found.visible.left is not None
    assert found.visible.left.event_id == "c"
    assert found.visible.difference.field == "payload.choice.token_id"


def test_a_commit_that_holds_a_top_list_is_visible() -> None:
    """Only in a choice does `top` mean measured values."""
    found = diff_traces(small(commit={"top": [[1, 2]]}), small(commit={"top": [[1, 3]]}))
    assert found.visible is not None
    assert found.visible.difference.field == "payload.commit.top[0][1]"


RUNS: Mapping[str, tuple[dict[str, Any], str, Outcome, str, str, str]] = {
    "same": ({}, "ordered", Outcome.EQUAL, "", "", ""),
    "blas": ({}, "blas", Outcome.WITHIN_TOLERANCE, "", "", ""),
    "float64": ({}, "float64", Outcome.WITHIN_TOLERANCE, "", "", ""),
    "no-cache": ({"kv_cache": False}, "ordered", Outcome.EQUAL, "", "", ""),
    "max-tokens": (
        {"max_output_tokens": 3},
        "ordered",
        Outcome.DIVERGED,
        "e15",
        "structure",
        "stop-rule",
    ),
    "prompt": (
        {"prompt": "天空是蓝色"},
        "ordered",
        Outcome.DIVERGED,
        "e00",
        "state",
        "input-changed",
    ),
    "sampling": (
        {"temperature": 0.7, "seed": 1},
        "ordered",
        Outcome.DIVERGED,
        "e05",
        "rng",
        "rng-counter",
    ),
    "stop-sequence": (
        {"stop_sequences": ["。"]},
        "ordered",
        Outcome.DIVERGED,
        "e18",
        "structure",
        "stop-rule",
    ),
    "minimum-length": (
        {"minimum_output_tokens": 6},
        "ordered",
        Outcome.DIVERGED,
        "e09",
        "outputs",
        "processor",
    ),
}


@pytest.mark.parametrize("case", RUNS)
def test_real_runs(case: str, golden: Trace) -> None:
    """Runs with one thing changed part at the right event, section and cause."""
    overrides, kernel, outcome, event_id, check, kind = RUNS[case]
    found = diff_traces(golden, run_fixture("text-001", overrides, kernel=kernel))
    assert found.outcome is outcome
    if outcome is Outcome.DIVERGED:
        assert found.first is not None
        assert found.first.left is not None
        assert found.cause is not None
        place = (found.first.left.event_id, found.first.check, found.cause.kind)
        assert place == (event_id, check, kind)
    assert bool(found.triggers) == (case not in ("same", "prompt"))


def test_event_ids_and_sibling_order_mean_nothing(golden: Trace) -> None:
    """Renaming ids and permuting lines changes no verdict."""
    renamed = {e.event_id: f"x{n}" for n, e in enumerate(golden.events)}

    def rename(found: Event) -> Event:
        parent = found.parent_event_id
        return replace(
            found,
            event_id=renamed[found.event_id],
            parent_event_id=None if parent is None else renamed[parent],
        )

    body = [rename(found) for found in golden.events[:-1]]
    other = Trace((*reversed(body), rename(golden.events[-1])))
    assert diff_traces(golden, other).outcome is Outcome.EQUAL
    assert diff_traces(other, golden).outcome is Outcome.EQUAL


def test_swapping_sides_mirrors(golden: Trace) -> None:
    """Left and right exchanged give the mirrored result."""
    other = run_fixture("text-001", {"minimum_output_tokens": 6})
    one, two = diff_traces(golden, other), diff_traces(other, golden)
    assert one.outcome is two.outcome
    assert one.first is not None
    assert two.first is not None
    assert (one.first.left, one.first.right) == (two.first.right, two.first.left)
    assert one.coverage.only_right == two.coverage.only_left == 13


def test_lone_event_has_no_value_on_the_other_side(golden: Trace) -> None:
    """A missing event is missing, not null."""
    other = run_fixture("text-001", {"max_output_tokens": 3})
    found = diff_traces(golden, other)
    assert found.first is not None
    assert found.first.right is None
    assert found.first.difference.right is MISSING
