"""Calibration: the tolerances under which repeated runs agree, and what none may absorb."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from trace_building import chain, event, tensor, trace

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


@pytest.mark.parametrize(
    ("wrap", "is_ranked"),
    [
        pytest.param(lambda top: {"top": top}, True, id="direct"),
        pytest.param(lambda top: {"steps": [{"top": top}]}, True, id="step"),
        pytest.param(lambda top: {"arguments": {"top": top}}, False, id="argument"),
    ],
)
def test_top_lists_are_those_of_the_comparison(
    wrap: Callable[[list[Any]], dict[str, Any]], is_ranked: bool
) -> None:
    """What the comparison takes exactly is not measured."""
    traces = [
        chain(event("r"), event("e", choice=wrap([[1, value]])), name=str(value))
        for value in (0.5, 0.501)
    ]
    found = calibrate(traces)
    assert [rule.rule.match for rule in found.rules] == (["top"] if is_ranked else [])
    options = DiffOptions(tolerances=Tolerances(tuple(rule.rule for rule in found.rules)))
    within = diff_traces(*traces, options).outcome is Outcome.WITHIN_TOLERANCE
    assert within is is_ranked


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


def layers(*outputs: tuple[str, np.ndarray[Any, Any]], level: str = "values") -> Trace:
    """Return a run whose events are all children of the root: none follows from another."""
    events = [
        event(f"e{i}", "r", outputs=[tensor(name, value, level=level)])
        for i, (name, value) in enumerate(outputs)
    ]
    return trace([event("r"), *events], name="layers")


def noisy(seed: int, noises: tuple[float, ...], *, scale: float = 1.0, level: str) -> Trace:
    """Return a run of layers, each off by a noise of its own, with elements of size `scale`."""
    random = np.random.default_rng(seed)
    outputs = []
    for layer, noise in enumerate(noises):
        error = (1 + noise * random.normal(size=500)).astype(np.float32)
        outputs.append((f"layers.{layer}.out", BASE[layer] * error * np.float32(scale)))
    return layers(*outputs, level=level)


FAULTS = {
    "alike": (1e-4,) * 6,
    "one-noisy": (1e-2, 1e-5, 1e-5, 1e-5, 1e-5, 1e-5),
    "one-quiet": (1e-3, 1e-3, 1e-5, 1e-3, 1e-3, 1e-3),
    "growing": (1e-5, 5e-5, 2.5e-4, 1e-3, 5e-3, 2.5e-2),
}


@pytest.mark.parametrize("level", ["values", "sketch"])
@pytest.mark.parametrize("noises", FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_ten_times_the_noise_of_its_own_tensor_is_kept(
    noises: tuple[float, ...], level: str
) -> None:
    """Whatever the noise of its siblings, ten times the deviation of a tensor is not absorbed."""
    runs = [noisy(seed, noises, level=level) for seed in range(3)]
    found = calibrate(runs)
    assert found.differences == ()
    benign = [noisy(seed, noises, level="values") for seed in range(2)]
    for layer in range(len(noises)):
        name = f"layers.{layer}.out"
        first, second = (
            np.array(run.events[layer + 1].payload["outputs"][0]["values"], np.float32)
            for run in benign
        )
        faulty = layers((name, first + np.float32(10) * (second - first)), level=level)
        assert under(found, layers((name, first), level=level), faulty) is Outcome.DIVERGED, name


def test_outliers_come_before_the_glob() -> None:
    """The many share a glob, the noisy and the quiet have rules of their own."""
    noises = (1e-2, 1e-4, 1e-4, 1e-4, 0.0, 1e-4)
    found = calibrate([noisy(seed, noises, level="values") for seed in range(3)])
    assert [rule.rule.match for rule in found.rules] == [
        "layers.0.out",
        "layers.4.out",
        "layers.*.out",
    ]
    quiet = found.rules[1]
    assert (quiet.factor, quiet.rule.atol) == (1.0, 1e-5)


def test_noise_relative_to_small_elements_is_calibrated_from_sketches() -> None:
    """Where sketches measured, atol grows no further than the distance of elements of that size."""
    runs = [noisy(seed, (1e-2,) * 3, scale=1e-2, level="sketch") for seed in range(3)]
    found = calibrate(runs)
    assert found.differences == ()
    (rule,) = found.rules
    assert 1e-5 <= rule.rule.atol <= 1.2 * rule.rule.rel_l2 * 1e-2
    assert under(found, runs[0], runs[1]) is Outcome.WITHIN_TOLERANCE


SMALL = BASE[0, :40] * np.float32(1e-3)
ONES = np.ones(4, np.float32)


@pytest.mark.parametrize(
    ("left", "right", "fault", "matches"),
    [
        pytest.param(
            [("layers.0.out", BASE[0]), ("layers.1.out", BASE[1].astype(np.float16))],
            [
                ("layers.0.out", BASE[0] * np.float32(1.0001)),
                ("layers.1.out", BASE[1].astype(np.float16)),
            ],
            ("layers.0.out", BASE[0] * np.float32(1.001)),
            ["layers.0.out"],
            id="one-template-two-dtypes",
        ),
        pytest.param(
            [("out", ONES), ("out", ONES.astype(np.float16))],
            [("out", ONES * np.float32(1.00002)), ("out", ONES.astype(np.float16))],
            ("out", ONES * np.float32(1.0009)),
            [],
            id="one-name-two-dtypes",
        ),
        pytest.param(
            [("grad", SMALL)], [("grad", -SMALL)], ("grad", -SMALL), [], id="sign-of-small-elements"
        ),
        pytest.param(
            [("grad", SMALL)],
            [("grad", SMALL * np.float32(0.6))],
            ("grad", SMALL * np.float32(0.6)),
            [],
            id="near-half-of-its-size",
        ),
        pytest.param(
            [("grad.0", SMALL), ("grad.1", BASE[0]), ("grad.2", BASE[1])],
            [
                ("grad.0", -SMALL),
                ("grad.1", BASE[0] * np.float32(1.01)),
                ("grad.2", BASE[1] * np.float32(1.01)),
            ],
            ("grad.0", -SMALL),
            ["grad.0", "grad.*"],
            id="a-glob-over-what-is-no-noise",
        ),
    ],
)
def test_what_a_rule_must_not_hide(
    left: list[Any], right: list[Any], fault: tuple[str, Any], matches: list[str]
) -> None:
    """Unlike element types share no rule, and what is as large as the tensor is no noise."""
    found = calibrate([layers(*left), layers(*right)])
    assert [rule.rule.match for rule in found.rules] == matches
    sound = next(output for output in left if output[0] == fault[0])
    assert under(found, layers(sound), layers(fault)) is Outcome.DIVERGED


def test_tensors_that_were_not_measured_count() -> None:
    """What follows from another token is not measured; its whole numbers stay exact."""

    def followed(token: int, scale: float) -> Trace:
        return chain(
            event("r"),
            event("e", outputs=[tensor("x.1", ONES * np.float32(scale))]),
            event("t", event_type="selected", choice={"token": token}),
            event("z", event_type="after", outputs=[tensor("x.2", np.array([1000 + token]))]),
        )

    found = calibrate([followed(1, 1.0), followed(2, 1.01)])
    assert [rule.rule.match for rule in found.rules] == ["x.1"]


def test_candidates_as_far_apart_as_they_are_large_are_a_difference() -> None:
    """Small values of a `top` list are not absorbed by an absolute tolerance of their size."""

    def topped(value: float) -> Trace:
        return chain(event("r"), event("e", choice={"top": [[1, value]]}), name=str(value))

    found = calibrate([topped(1e-3), topped(4e-3)])
    assert found.rules == ()
    assert len(found.differences) == 1


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
