"""Calibration: the tolerances under which repeated runs agree, and what none may absorb."""

from typing import Any

import numpy as np
import pytest
from trace_building import chain, event, tensor

from tracediff.calibration import Calibration, calibrate
from tracediff.diff import DiffOptions, Outcome, diff_traces
from tracediff.errors import UsageError
from tracediff.events import Tolerances, Trace

BASE = np.random.default_rng(1).normal(size=(6, 500)).astype(np.float32)


def run(
    seed: int,
    *,
    noise: float = 1e-4,
    level: str = "sketch",
    token: int = 5,
    count: int = 3,
    size: int = 500,
    **options: Any,
) -> Trace:
    """Return a run: layers whose outputs are off by `noise`, then a token with its candidates."""
    random = np.random.default_rng(seed)
    events = [event("r", state={"prompt": "p"})]
    for layer in range(count):
        value = BASE[layer, :size] * (1 + noise * random.normal(size=size)).astype(np.float32)
        outputs = [
            tensor(f"layers.{layer}.out", value, level=level),
            tensor(f"layers.{layer}.ids", np.arange(4)),
        ]
        events.append(event(f"e{layer}", event_type="layer", step=layer, outputs=outputs))
    top = [[5, 0.5 * (1 + noise * random.normal())], [6, 0.25]]
    events.append(event("t", event_type="selected", choice={"token": token, "top": top}))
    events.append(event("z", event_type="after", outputs=[tensor("after", BASE[5] * token)]))
    return chain(*events, name=f"run-{seed}", **options)


def under(found: Calibration, left: Trace, right: Trace) -> Outcome:
    rules = Tolerances(tuple(rule.rule for rule in found.rules))
    return diff_traces(left, right, DiffOptions(rules)).outcome


@pytest.mark.parametrize(
    ("level", "size", "evidence"),
    [
        pytest.param("sketch", 500, "sketch", id="sketches"),
        pytest.param("values", 500, "values", id="values"),
        pytest.param("sketch", 60, "values", id="small-tensors"),
    ],
)
def test_runs_agree_under_their_rules(level: str, size: int, evidence: str) -> None:
    """Runs that the default tolerance calls different are equal within the calibrated one."""
    runs = [run(seed, level=level, size=size) for seed in range(3)]
    assert diff_traces(runs[0], runs[1]).outcome is Outcome.DIVERGED
    found = calibrate(runs)
    assert found.differences == ()
    by_glob = {rule.rule.match: rule for rule in found.rules}
    assert by_glob.keys() == {"layers.*.out", "top"}
    assert dict(by_glob["layers.*.out"].evidence) == {evidence: 9}
    assert by_glob["layers.*.out"].names == ("layers.0.out", "layers.1.out", "layers.2.out")
    for left in runs:
        for right in runs:
            outcome = Outcome.EQUAL if left is right else Outcome.WITHIN_TOLERANCE
            assert under(found, left, right) is outcome


@pytest.mark.parametrize("level", ["sketch", "values"])
def test_a_fresh_run_is_no_false_alarm_and_a_fault_is_none(level: str) -> None:
    """The margin covers another run of the same noise, and not one that is ten times as noisy."""
    found = calibrate([run(seed, level=level) for seed in range(4)])
    assert under(found, run(0, level=level), run(9, level=level)) is Outcome.WITHIN_TOLERANCE
    faulty = run(9, level=level, noise=3e-3)
    assert under(found, run(0, level=level), faulty) is Outcome.DIVERGED


def test_no_rule_below_the_default() -> None:
    """Noise that the default absorbs needs no rule, whatever the margin leaves it."""
    runs = [run(seed, noise=1e-8) for seed in range(3)]
    assert calibrate(runs).rules == ()
    narrow = calibrate([run(seed, noise=1e-6, level="values") for seed in range(3)], margin=4.0)
    for rule in narrow.rules:
        assert rule.rule.rtol >= 1.3e-6
        assert rule.rule.atol >= 1e-5
        assert rule.rule.rel_l2 >= 1e-5


def test_margin_widens() -> None:
    """Twice the margin is twice the tolerance, up to the rounding to two digits."""
    runs = [run(seed) for seed in range(3)]
    once, twice = (calibrate(runs, margin).rules for margin in (2.0, 4.0))
    for narrow, wide in zip(once, twice, strict=True):
        assert wide.rule.rtol == pytest.approx(2 * narrow.rule.rtol, rel=0.1)


def test_another_token_is_listed_and_not_absorbed() -> None:
    """A choice that differs is a difference; what follows from it is not measured."""
    found = calibrate([run(0), run(1), run(2, token=6)])
    assert [d.divergence.difference.field for d in found.differences] == ["payload.choice.token"]
    assert (found.differences[0].left, found.differences[0].right) == ("run-0", "run-2")
    assert "after" not in {rule.rule.match for rule in found.rules}
    assert under(found, run(0), run(2, token=6)) is Outcome.DIVERGED


@pytest.mark.parametrize(
    ("other", "field"),
    [
        pytest.param(run(1, count=2), "event", id="a-missing-event"),
        pytest.param(run(1, size=60), "payload.outputs[layers.0.out]", id="another-shape"),
        pytest.param(run(1, noise=2.0), "payload.outputs[layers.0.out]", id="too-far-for-noise"),
        pytest.param(run(1, level="digest"), "payload.outputs[layers.0.out]", id="undecidable"),
    ],
)
def test_what_no_rule_absorbs(other: Trace, field: str) -> None:
    """Structure, shapes, distances beyond noise and what cannot be decided stay differences."""
    found = calibrate([run(0), other])
    assert field in {difference.divergence.difference.field for difference in found.differences}


def test_integers_stay_exact() -> None:
    """Whole numbers that differ are a difference, and no glob of a rule fits such a tensor."""

    def counted(number: int, scale: float) -> Trace:
        outputs = [tensor("x.1", np.array([number])), tensor("x.2", BASE[0] * np.float32(scale))]
        return chain(event("r"), event("e", outputs=outputs), name=str(number))

    found = calibrate([counted(1, 1.0), counted(1, 1.001)])
    assert [rule.rule.match for rule in found.rules] == ["x.2"]
    found = calibrate([counted(1, 1.0), counted(2, 1.0)])
    assert found.rules == ()
    assert len(found.differences) == 1


def test_another_order_of_candidates_is_a_difference() -> None:
    """The values of a `top` list are measured; its ids and their order are exact."""

    def topped(*pairs: list[Any]) -> Trace:
        return chain(event("r"), event("e", choice={"top": list(pairs)}), name=str(pairs[0][0]))

    found = calibrate([topped([1, 0.5], [2, 0.3]), topped([1, 0.501], [2, 0.3])])
    assert [rule.rule.match for rule in found.rules] == ["top"]
    assert found.differences == ()
    found = calibrate([topped([1, 0.5], [2, 0.3]), topped([2, 0.5], [1, 0.3])])
    assert len(found.differences) == 1


def test_declared_rules_are_what_is_widened() -> None:
    """A rule of the recorder is the base: wider where needed, exact where it says so."""
    declared = [
        {"match": "layers.0.*", "mode": "exact"},
        {"match": "layers.1.*", "mode": "rel_l2", "rel_l2": 1e-6},
        {"match": "layers.2.*", "mode": "allclose", "rtol": 0.01, "atol": 0.01, "rel_l2": 0.01},
    ]
    header = {"tolerances": declared}
    found = calibrate([run(seed, header=header) for seed in range(2)])
    assert found.rules == ()  # everything hangs at layer 0, which is exact
    assert len(found.differences) == 1
    found = calibrate([run(seed, header={"tolerances": declared[1:]}) for seed in range(2)])
    modes = {rule.rule.match: rule.rule.mode for rule in found.rules}
    assert modes["layers.1.out"] == "rel_l2"
    assert "layers.2.out" not in modes


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        pytest.param([run(0)], "two traces or more", id="one-run"),
        pytest.param([], "two traces or more", id="none"),
        pytest.param([run(0), run(1, kind="text")], "of kind text", id="unlike-kinds"),
    ],
)
def test_what_cannot_be_calibrated(runs: list[Trace], message: str) -> None:
    """Runs are compared with each other: two at least, of one kind."""
    with pytest.raises(UsageError, match=message):
        calibrate(runs)
