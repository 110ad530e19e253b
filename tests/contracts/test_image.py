"""Each rule on diffusion traces holds for true runs, and is broken by a trace with one fault."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from image_runs import SHORT, finished_run, main_line, record_of, run
from mutants.faulty_runs import by, changing_arguments, changing_result, faulty
from trace_building import chain, changed, tensor
from trace_building import event as new_event
from trace_edits import Edit, both, drop, payload_of, put, put_draw, put_tensor, repeat

from tracediff.contracts import check_trace
from tracediff.contracts.image import IMAGE_RULES
from tracediff.events import Trace
from tracediff.workloads.run import run_fixture

GUIDANCE = "tracediff.engine.guidance:"
LEVELS = ("sketch", "full")
OTHER_DIGEST = "b3:" + "0" * 32


@cache
def two_numbers() -> Trace:
    return run_fixture("ddim-2d")


@cache
def previewed() -> Trace:
    return run({**SHORT, "preview": True})


def broken(trace: Trace) -> set[tuple[str, str | None]]:
    return {(violation.rule, violation.event_id) for violation in check_trace(trace).violations}


def put_input(event_id: str, name: str, **values: Any) -> Edit:
    """Return an edit that sets keys of one tensor record among the inputs."""

    def edit(trace: Trace) -> Trace:
        records = payload_of(trace, event_id)["inputs"]
        edited = [{**r, **values} if r["name"] == name else r for r in records]
        return changed(trace, event_id, inputs=edited)

    return edit


def scaled(event_id: str, name: str, factor: float) -> Edit:
    """Return an edit that multiplies the sketch of one output, and its digest with it."""

    def edit(trace: Trace) -> Trace:
        event = next(event for event in trace.events if event.event_id == event_id)
        sketch = [factor * number for number in record_of(event, name)["sketch"]]
        return put_tensor(event_id, name, sketch=sketch, digest=OTHER_DIGEST)(trace)

    return edit


def stats_with(event_id: str, name: str, **values: Any) -> Edit:
    """Return an edit that sets statistics of one output."""

    def edit(trace: Trace) -> Trace:
        event = next(event for event in trace.events if event.event_id == event_id)
        return put_tensor(event_id, name, stats={**record_of(event, name)["stats"], **values})(
            trace
        )

    return edit


def two_numbers_with(event_id: str, name: str, *values: float) -> Edit:
    """Return an edit that sets the values of one of ddim-2d's tensors."""
    record = tensor(name, np.array(values))
    return put_tensor(event_id, name, values=list(values), stats=record["stats"])


# rule, event that is reported (None: the whole trace), name of the fault, edit of the main line
BROKEN = [
    (
        *("condition-is-constant", "d03", "another-condition"),
        put_input("d03", "condition_batch", digest=OTHER_DIGEST),
    ),
    ("noise-fills-the-latent", "d01", "counter", put_draw("d01", counter_after=4095)),
    (
        *("noise-fills-the-latent", "d01", "count"),
        put_draw("d01", draws={"count": 16380, "shape": [1, 4, 64, 64]}),
    ),
    (
        *("noise-fills-the-latent", "d01", "shape"),
        put_draw("d01", draws={"count": 16384, "shape": [1, 4, 32, 128]}),
    ),
    (
        *("negative-comes-first", "d00", "order"),
        put("d00", "state", guidance_order=["positive", "negative"]),
    ),
    ("timesteps-are-declared", "d02", "one-other", put("d03", "state", timestep=748)),
    ("previous-is-the-next", "d03", "by-stride", put("d03", "state", previous_timestep=500)),
    ("previous-is-the-next", "d05", "not-to-the-end", put("d05", "state", previous_timestep=0)),
    ("previous-is-the-next", "d04", "alpha-bar", put("d04", "state", alpha_bar=0.2777)),
    (
        *("prediction-has-the-latents-shape", "d02", "batch-of-one"),
        put_tensor("d02", "epsilon", shape=[1, 4, 64, 64]),
    ),
    (
        *("prediction-has-the-latents-shape", "d04", "guided"),
        put_tensor("d04", "epsilon_guided", shape=[1, 4, 64, 63]),
    ),
    (
        *("noise-follows-eta", "d03", "drawn-at-eta-0"),
        put_draw(
            "d03",
            counter_after=8192,
            draws={"count": 16384, "shape": [1, 4, 64, 64]},
        ),
    ),
    (
        *("latent-is-handed-on", "d03", "another-latent"),
        put_input("d03", "latent", digest=OTHER_DIGEST),
    ),
    (
        *("latent-is-handed-on", "d06", "another-final-latent"),
        put_input("d06", "latent", digest=OTHER_DIGEST),
    ),
    ("three-levels-are-recorded", "d07", "no-file", put("d07", "choice", png_digest=None)),
    ("one-finish", "copy", "twice", repeat("d08")),
    ("one-finish", None, "never", put("d08", "choice", status="FAILED")),
    ("one-finish", "d08", "no-picture", put("d08", "choice", images=[])),
    ("guidance-identity", "d02", "guided", scaled("d02", "epsilon_guided", 1.0001)),
    ("guidance-identity", "d02", "scale", put("d00", "settings", guidance_scale=5.001)),
    ("clean-latent-identity", "d04", "clean", scaled("d04", "predicted_z0", 1.0001)),
    (
        *("clean-latent-identity", "d02", "type"),
        put("d02", "state", prediction_type="v_prediction"),
    ),
    ("update-identity", "d04", "latent", scaled("d04", "latent_out", 1.0001)),
    ("noise-follows-eta", "d02", "nothing-drawn", put("d00", "settings", eta=0.1)),
    ("scaling-identity", "d06", "latent", scaled("d06", "latent_scaled", 1.0001)),
    ("scaling-identity", "d06", "factor", put("d00", "settings", vae_scaling_factor=0.13025)),
    ("pixels-are-quantised", "d07", "one-level", stats_with("d07", "pixels_uint8", min=3)),
    ("numbers-are-finite", "d06", "nan", stats_with("d06", "pixels", nan=1)),
    ("numbers-are-finite", "d02", "infinity", stats_with("d02", "epsilon", neg_inf=2)),
    ("image-run-is-whole", "d06", "not-encoded", drop("d07")),
    ("noise-key-is-the-seed", "d01", "key", put_draw("d01", key=[314160, 0])),
    ("noise-key-is-the-seed", "d01", "seed", put("d00", "settings", seed=314160)),
    ("noise-key-is-the-seed", "d03", "high-word", put_draw("d03", key=[314159, 1])),
    (
        *("prediction-type-is-the-setting", "d02", "setting"),
        put("d00", "settings", prediction_type="v_prediction"),
    ),
    ("steps-are-counted", "d03", "twice-the-first", put("d03", "state", timestep_index=0)),
    ("timesteps-are-the-settings", "d02", "count", put("d00", "settings", steps=5)),
    ("timesteps-are-the-settings", "d02", "list", put("d00", "settings", timesteps=[999, 749])),
    ("pictures-fill-the-batch", None, "one-missing", put("d00", "settings", batch_size=2)),
    ("previews-are-as-set", None, "no-frame", put("d00", "settings", preview=True)),
    ("alpha-bars-are-possible", "d02", "above-one", put("d02", "state", alpha_bar=1.5)),
    ("alpha-bars-are-possible", "d02", "zero", put("d02", "state", alpha_bar=0)),
    ("alpha-bars-are-possible", "d03", "falls", put("d03", "state", alpha_bar_previous=0.01)),
    ("alpha-bars-are-possible", "d03", "negative", put("d03", "state", alpha_bar_previous=-0.1)),
    ("image-run-is-whole", "d07", "not-decoded", drop("d06")),
    ("known-ids", "d00", "text", put("d00", "state", text_ids=[[1, 2, 3]])),
    ("known-ids", "d00", "padding", put("d00", "state", negative_ids=[[]])),
    (
        *("known-timesteps", None, "all-others"),
        both(
            put("d01", "state", timesteps=[998, 748, 498, 248]),
            *(put(f"d0{i + 2}", "state", timestep=998 - 250 * i) for i in range(4)),
            *(put(f"d0{i + 2}", "state", previous_timestep=748 - 250 * i) for i in range(3)),
        ),
    ),
    ("known-ledger", "d01", "key", put_draw("d01", key=[314160, 0])),
    ("known-ledger", "d01", "transform", put_draw("d01", transform="polar-v1")),
    ("known-shapes", "d06", "pixels", put_tensor("d06", "pixels", shape=[1, 3, 512, 511])),
]


@pytest.mark.parametrize(
    ("rule", "event", "edit"),
    [pytest.param(rule, event, edit, id=f"{rule}-{name}") for rule, event, name, edit in BROKEN],
)
def test_rule_is_broken(rule: str, event: str | None, edit: Edit) -> None:
    """A trace with this one fault breaks the rule, at this event."""
    assert (rule, event) in broken(edit(main_line()))


@pytest.mark.parametrize(
    ("rule", "event", "edit"),
    [
        pytest.param(
            *("known-numbers", "d01", two_numbers_with("d01", "latent_out", 1.442873, -1.521436)),
            id="sixth-digit",
        ),
        pytest.param(
            *("clean-latent-identity", "d01"),
            two_numbers_with("d01", "predicted_z0", 1.65358984, -1.82679492),
            id="ninth-digit",
        ),
        pytest.param(
            *("update-identity", "d02"),
            two_numbers_with("d02", "latent_out", 1.72858984, -1.75179492),
            id="ninth-digit-of-the-update",
        ),
        pytest.param(
            *("previous-is-the-next", "d02", put("d02", "state", previous_timestep=-1)),
            id="beyond-the-end",
        ),
    ],
)
def test_rule_is_broken_by_two_numbers(rule: str, event: str, edit: Edit) -> None:
    """The same rules hold ddim-2d to float64."""
    assert broken(two_numbers()) == set()
    assert (rule, event) in broken(edit(two_numbers()))


@pytest.mark.parametrize(
    ("edit", "event"),
    [
        pytest.param(put("d03", "state", replaces=0), "d03", id="first-replaces"),
        pytest.param(put("d05", "state", replaces=None), "d05", id="second-adds"),
        pytest.param(drop("d03"), "d05", id="first-is-missing"),
    ],
)
def test_frames_replace_each_other(edit: Edit, event: str) -> None:
    """A preview that does not replace the one before breaks the rule."""
    assert broken(previewed()) == set()
    assert broken(edit(previewed())) == {("frames-replace-each-other", event)}


def test_frames_without_previews() -> None:
    """A run that sends frames although previews are off breaks the rule at the first of them."""
    edited = put("d00", "settings", preview=False)(previewed())
    assert broken(edited) == {("previews-are-as-set", "d03")}


@pytest.mark.parametrize("bars", [(1.5, 1.0), (0.5, 0.25), (-1.0, 0.5), (0.25, 0.0), (True, "x")])
@pytest.mark.parametrize("eta", [0.0, 1.0])
def test_impossible_alpha_bars_are_told(bars: tuple[Any, Any], eta: float) -> None:
    """They break their own rule; the rule on the update does not fail on its square roots."""
    state = put("d02", "state", alpha_bar=bars[0], alpha_bar_previous=bars[1])
    edited = both(state, put("d00", "settings", eta=eta))(main_line())
    found = check_trace(edited).violations
    assert ("alpha-bars-are-possible", "d02") in {(v.rule, v.event_id) for v in found}
    assert not [v for v in found if "math domain error" in v.reason]


@pytest.mark.parametrize(
    ("kernel", "tensors"),
    [
        ("ordered", "digest"),
        *((kernel, level) for kernel in ("ordered", "blas", "float64") for level in LEVELS),
    ],
)
def test_true_runs_keep_the_contract(kernel: str, tensors: str) -> None:
    """Every numeric path keeps every rule, whatever is recorded of tensors."""
    report = check_trace(main_line(kernel, tensors))
    assert report.violations == ()
    assert len(report.applied) >= 20


@pytest.mark.parametrize(
    "overrides",
    [
        pytest.param({"eta": 1, "guidance_scale": 7.5}, id="noise"),
        pytest.param({"prediction_type": "v_prediction", "eta": 0.5}, id="velocity"),
        pytest.param({"guidance_scale": 0}, id="no-guidance"),
        pytest.param({"batch_size": 2, "generator_mode": "list", "preview": True}, id="batch"),
    ],
)
def test_overridden_runs_keep_the_contract(overrides: Mapping[str, Any]) -> None:
    """So do runs with other settings."""
    assert broken(run({**SHORT, **overrides})) == set()


def test_noise_is_part_of_the_update() -> None:
    """With eta, the recorded noise times sigma completes the identity; another eta breaks it."""
    trace = run({**SHORT, "eta": 1})
    assert broken(trace) == set()
    assert broken(put("d00", "settings", eta=0.999)(trace)) == {("update-identity", "d02")}


@pytest.mark.parametrize(
    ("kernel", "tensors"),
    [("ordered", "full"), *((kernel, "sketch") for kernel in ("ordered", "blas", "float64"))],
)
def test_guidance_5001_is_caught(kernel: str, tensors: str) -> None:
    """A run that guides with 5.001 for 5.0 breaks the identity at every step, on every path."""
    mutant = faulty(
        "image-001",
        changing_arguments(f"{GUIDANCE}guide", lambda n, p, _: (n, p, 5.001)),
        overrides=SHORT,
        kernel=kernel,
        tensors=tensors,
    )
    assert broken(mutant()) == {("guidance-identity", "d02"), ("guidance-identity", "d03")}


@pytest.mark.parametrize(
    ("target", "events"),
    [
        pytest.param("split_pair", {"d02", "d03"}, id="prediction"),
        pytest.param("stack_pair", {"d00"}, id="condition"),
    ],
)
def test_swapped_halves_are_seen_where_numbers_are_kept(target: str, events: set[str]) -> None:
    """With full tensors, halves in another order than declared are seen inside one trace."""
    if target == "split_pair":
        exchange = changing_result(f"{GUIDANCE}split_pair", lambda pair: pair[::-1])
    else:
        exchange = by(f"{GUIDANCE}stack_pair", lambda a, b: np.concatenate([b, a]))
    trace = faulty("image-001", exchange, overrides=SHORT, tensors="full")()
    assert broken(trace) == {("halves-are-in-order", event) for event in events}


@pytest.mark.parametrize(
    ("edit", "missing"),
    [
        pytest.param(both(drop("d01"), drop("d02")), "denoise.updated", id="no-step"),
        pytest.param(drop("d00"), "latent.initialized", id="no-first-latent"),
    ],
)
def test_a_run_without_pictures_is_whole_too(edit: Edit, missing: str) -> None:
    """Without a condition, latent and steps are all there is to be."""
    trace = edit(two_numbers())
    trace = trace if missing == "denoise.updated" else rooted(trace)
    reasons = [v.reason for v in check_trace(trace).violations if v.rule == "image-run-is-whole"]
    assert reasons == [f"there is no {missing} for its picture"]


def rooted(trace: Trace) -> Trace:
    """Return a trace whose first event is its root."""
    header = {"format": "tracediff-trace/1", "kind": "image"}
    first = replace(trace.events[0], parent_event_id=None)
    first = replace(first, payload={**first.payload, "trace": header})
    return replace(trace, events=(first, *trace.events[1:]))


def test_a_picture_without_a_diffusion_run() -> None:
    """A trace of kind image that holds none of a run's events does not hold: it says nothing."""
    foreign = chain(new_event("a"), new_event("b", choice={"status": "FINISHED"}), kind="image")
    assert broken(foreign) == {("no-image-events", None)}


def test_every_rule_has_its_fault() -> None:
    """Every rule is broken by some row here, or by a test of its own."""
    own = {"halves-are-in-order", "frames-replace-each-other", "known-numbers", "no-image-events"}
    assert {rule for rule, *_ in BROKEN} | own == {rule.name for rule in IMAGE_RULES}


def test_full_tensors_decide_before_sketches() -> None:
    """Where numbers are kept they are the evidence, element by element."""
    trace, _ = finished_run()
    edited = put("d00", "settings", guidance_scale=5.001)(trace)
    reasons = [v.reason for v in check_trace(edited).violations if v.event_id == "d02"]
    assert any("by values" in reason for reason in reasons)


HOSTILE: list[Any] = [None, "x", -1, 0, 1.5, True, 2**63, [], {}, [[None]]]


def test_hostile_values_give_a_report() -> None:
    """Whatever stands in state, choice or settings, checking ends in a report."""
    trace = main_line()
    for event in trace.events:
        for section in ("state", "choice", "settings"):
            for key in event.payload.get(section, ()):
                for value in HOSTILE:
                    check_trace(put(event.event_id, section, **{key: value})(trace))


def test_hostile_tensors_give_a_report() -> None:
    """So does any valid record under a known name."""
    trace = main_line()
    strange: list[dict[str, Any]] = [
        {"shape": []},
        {"shape": [2**62, 4]},
        {"values": []},
        {"values": ["NaN"] * 3},
        {"sketch": ["Infinity"] * 64},
        {"stats": {"finite": 0}},
        {"dtype": "bool"},
    ]
    for event in trace.events:
        for record in event.payload.get("outputs", ()):
            for values in strange:
                check_trace(put_tensor(event.event_id, record["name"], **values)(trace))
