"""What a comparison says when runs of image-001 differ in a setting: where, why, and by what."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest
from image_runs import SHORT, run, short_run

from tracediff.diff import diff_traces
from tracediff.events import Trace

LINSPACE = {"steps": 3, "spacing": "linspace"}


@dataclass(frozen=True, slots=True)
class Row:
    """A changed setting: event, section, field below the payload, cause, and the trigger."""

    name: str
    overrides: dict[str, Any]
    event: str
    check: str
    field: str
    cause: str
    triggers: list[str]
    golden: Callable[[], Trace] = field(default=short_run)


@cache
def noisy_batch(mode: str = "one") -> Trace:
    return run({**SHORT, "eta": 1, "batch_size": 2, "generator_mode": mode})


ROWS = [
    Row(
        "seed",
        {"seed": 314160},
        *("d01", "rng", "rng[0].key[0]", "seed"),
        ["settings.seed"],
    ),
    Row(
        "timesteps",
        {"timesteps": [998, 499]},
        *("d01", "state", "state.timesteps[0]", "schedule"),
        ["settings.timesteps[0]"],
    ),
    Row(
        "eta",
        {"eta": 1},
        *("d02", "rng", "rng[0].draws.count", "rng-counter"),
        ["settings.eta"],
    ),
    Row(
        "guidance",
        {"guidance_scale": 7.5},
        *("d02", "outputs", "outputs[epsilon_guided]", "guidance-scale"),
        ["settings.guidance_scale"],
    ),
    Row(
        "prediction-type",
        {"prediction_type": "v_prediction"},
        *("d02", "state", "state.prediction_type", "prediction-type"),
        ["settings.prediction_type"],
    ),
    Row(
        "factor",
        {"vae_scaling_factor": 0.13025},
        *("d04", "outputs", "outputs[latent_scaled]", "constant-factor"),
        ["settings.vae_scaling_factor"],
    ),
    Row(
        "prompt",
        {"prompt": "雨夜车站，一把留在长椅上的蓝伞，纪实摄影。"},
        *("d00", "state", "state.prompt", "input-changed"),
        [],
    ),
    Row(
        "negative-prompt",
        {"negative_prompt": "路灯"},
        *("d00", "state", "state.negative_prompt", "input-changed"),
        [],
    ),
    Row(
        "generators",
        {"eta": 1, "batch_size": 2, "generator_mode": "list"},
        *("d02", "rng", "rng[0].counter_before", "rng-counter"),
        ["settings.generator_mode"],
        golden=noisy_batch,
    ),
]


@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in ROWS])
def test_setting_is_the_trigger(row: Row) -> None:
    """The setting stands beside the first divergence that it causes, and is not it."""
    result = diff_traces(row.golden(), run({**SHORT, **row.overrides}))
    assert result.first is not None
    assert result.first.left is not None
    assert result.cause is not None
    place = (result.first.left.event_id, result.first.check, result.first.difference.field)
    assert place == (row.event, row.check, f"payload.{row.field}")
    assert result.cause.kind == row.cause
    assert [t.field for t in result.triggers] == [f"payload.{name}" for name in row.triggers]


def test_noise_by_batch_size() -> None:
    """With one generator, the step noise of the first picture depends on the batch size.

    The second picture's events are there on one side only; of the first picture's own, the first
    that differs is the first step, at the counter before its draw.
    """
    result = diff_traces(noisy_batch(), run({**SHORT, "eta": 1}))
    own = [d for d in result.frontier if d.left is not None and d.left.lane == {"image": 0}]
    assert [(d.left and d.left.event_type, d.check, d.difference.field) for d in own] == [
        ("denoise.updated", "rng", "payload.rng[0].counter_before")
    ]


def test_own_generators_do_not_depend_on_the_batch_size() -> None:
    """With a generator for each picture, nothing of the first picture differs."""
    result = diff_traces(noisy_batch("list"), run({**SHORT, "eta": 1}))
    lanes = [d.left.lane for d in result.frontier if d.left is not None]
    assert {"image": 0} not in lanes
    assert [trigger.field for trigger in result.triggers] == [
        "payload.settings.batch_size",
        "payload.settings.generator_mode",
    ]


def test_step_of_another_stride(monkeypatch: pytest.MonkeyPatch) -> None:
    """A linspace run whose steps lead to t - 1000 // n is found at its first step."""
    golden = run(LINSPACE)
    monkeypatch.setattr(
        "tracediff.workloads.image.previous_timesteps",
        lambda timesteps: [max(t - 1000 // len(timesteps), -1) for t in timesteps],
    )
    result = diff_traces(golden, run(LINSPACE))
    assert result.first is not None
    assert result.first.difference.field == "payload.state.previous_timestep"
    assert (result.first.difference.left, result.first.difference.right) == (500, 666)
    assert result.cause is not None
    assert result.cause.kind == "schedule"
