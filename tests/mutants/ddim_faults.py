"""Faults in the update of ddim-2d, and mutations of its trace."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from mutants.faulty_runs import Exchange, changing_arguments, changing_result, faulty
from mutants.graph_edits import cut_after, repeated, with_section, with_values, without
from mutants.mutant import Mutant
from trace_edits import Edit, put, put_draw

from tracediff.engine.ddim import VELOCITY, DdimStep
from tracediff.events import Trace
from tracediff.workloads.run import run_fixture

UPDATE = "tracediff.workloads.ddim_2d:update"


@cache
def two_numbers() -> Trace:
    """Return the run without overrides."""
    return run_fixture("ddim-2d")


def row(
    name: str, event: str, check: str, cause: str, *exchanges: Exchange, **overrides: Any
) -> Mutant:
    mutant = faulty("ddim-2d", *exchanges, overrides=overrides)
    return Mutant(name, two_numbers, mutant, event, check, cause)


def edited(name: str, event: str, check: str, cause: str, edit: Edit) -> Mutant:
    return Mutant(name, two_numbers, lambda: edit(two_numbers()), event, check, cause)


def _with_step(change: Callable[[DdimStep], DdimStep]) -> Exchange:
    return changing_arguments(UPDATE, lambda latent, e, step: (latent, e, change(step)))


DDIM_FAULTS = (
    row(
        "velocity",
        *("d01", "outputs", "prediction-type"),
        changing_arguments(UPDATE, lambda latent, e, step: (latent, e, step, VELOCITY)),
    ),
    row(
        "alpha-bar-of-another-timestep",
        *("d01", "outputs", "schedule"),
        _with_step(lambda s: replace(s, alpha_bar=s.alpha_bar / 2)),
    ),
    row(
        "no-square-root",
        *("d01", "outputs", "schedule"),
        _with_step(lambda s: replace(s, alpha_bar=s.alpha_bar**2)),
    ),
    row(
        "always-to-the-end",
        *("d01", "outputs", "schedule"),
        _with_step(lambda s: replace(s, alpha_bar_previous=1.0)),
    ),
    row(
        "noise-of-the-other-sign",
        *("d01", "outputs", "numeric-path"),
        changing_arguments(UPDATE, lambda latent, e, step: (latent, -e, step)),
    ),
    row(
        "clean-latent-doubled",
        *("d01", "outputs", "constant-factor"),
        changing_result(UPDATE, lambda found: replace(found, predicted_z0=found.predicted_z0 * 2)),
    ),
    row(
        "numbers-exchanged",
        *("d01", "outputs", "permuted"),
        changing_result(
            UPDATE, lambda found: replace(found, predicted_z0=found.predicted_z0[::-1])
        ),
    ),
    row("other-start", *("d00", "outputs", "numeric-path"), latent=[1.0, -1.5]),
    row("other-noise", *("d01", "inputs", "input-changed"), epsilons=[[0.1, -0.2], [0.2, -0.3]]),
    row("other-bars", *("d01", "state", "schedule"), alpha_bars=[1.0, 0.65, 0.25]),
    edited("drop-step", "d01", "structure", "missing-event", without("d01")),
    edited("repeat-step", "copy", "structure", "extra-event", repeated("d02")),
    edited("cut", "d03", "structure", "truncated", cut_after("d02")),
    edited("timestep", "d02", "state", "schedule", put("d02", "state", timestep=2)),
    edited(
        "prediction-type",
        "d01",
        "state",
        "prediction-type",
        put("d01", "state", prediction_type=VELOCITY),
    ),
    edited("drawn", "d01", "rng", "rng-counter", put_draw("d01", counter_after=1)),
    edited(
        "scheduler",
        "d01",
        "artifacts",
        "artifact-changed",
        put("d01", "artifacts", scheduler="ddpm-v1"),
    ),
    edited("status", "d03", "choice", "unknown", put("d03", "choice", status="FAILED")),
    edited(
        "reported-lane", "d01", "structure", "reordered", with_section("d01", lane={"image": 1})
    ),
    edited(
        "latent-halved",
        *("d02", "inputs", "constant-factor"),
        with_values("d02", "latent", lambda latent: latent / 2, "inputs"),
    ),
)
