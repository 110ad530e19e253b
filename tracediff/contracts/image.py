"""The contract of image traces: the rules of any diffusion run, and what the two fixtures yield.

The known answers apply only to runs of image-001 and ddim-2d without overrides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from tracediff.contracts.diffusion_events import by_lane, is_image, of_type, record_of, state_of
from tracediff.contracts.diffusion_identities import IDENTITY_RULES
from tracediff.contracts.diffusion_order import ORDER_RULES
from tracediff.contracts.diffusion_settings import SETTINGS_RULES
from tracediff.contracts.rule import Finding, Rule
from tracediff.events import Trace

TEXT_IDS = [[1, 2, 3, 4, 5, 6, 7, 8, 9, 3, 10, 11]]
NEGATIVE_IDS = [[0] * 12]
TIMESTEPS = [999, 749, 499, 249]
ALPHA_BARS = (0.0046601, 0.0566235, 0.2776697, 0.6754324)
"""Of those timesteps, to seven decimals: the product of 1 - beta_s over s <= t, where sqrt(beta_s)
runs evenly from sqrt(0.00085) to sqrt(0.012) over s from 0 to 999."""

LATENT_SHAPE = [1, 4, 64, 64]
SHAPES = {
    "condition_batch": [2, 12, 768],
    "latent": LATENT_SHAPE,
    "epsilon": [2, 4, 64, 64],
    "pixels": [1, 3, 512, 512],
}
LEDGER = {
    "algorithm": "Philox4x32-10",
    "key": [314159, 0],
    "counter_before": 0,
    "counter_after": 4096,
    "draws": {"count": 16384, "shape": LATENT_SHAPE},
    "transform": "box-muller-v1",
}

TWO_NUMBERS = (
    (0, "predicted_z0", (1.653590, -1.826795)),
    (0, "latent_out", (1.442872, -1.521436)),
    (1, "predicted_z0", (1.728590, -1.751795)),
    (1, "latent_out", (1.728590, -1.751795)),
)
"""Step, tensor, and its numbers to six decimals."""

IMAGE_EVENTS = frozenset(
    {
        "condition.encoded",
        "latent.initialized",
        "denoise.updated",
        "vae.decoded",
        "image.encoded",
        "frame.replaced",
    }
)
"""What only a diffusion run does."""


def _has_image_events(trace: Trace) -> Iterator[Finding]:
    if not of_type(trace, *IMAGE_EVENTS):
        yield None, f"none of its {len(trace.events)} events is one of a diffusion run"


def _run_is_whole(trace: Trace) -> Iterator[Finding]:
    needed = ["latent.initialized", "denoise.updated"]
    # Without a condition the latent itself is the result: there is no picture in it.
    if of_type(trace, "condition.encoded"):
        needed += ["vae.decoded", "image.encoded"]
    for lane in by_lane(of_type(trace, *needed)):
        done = {event.event_type for event in lane}
        for missing in (event_type for event_type in needed if event_type not in done):
            yield lane[-1].event_id, f"there is no {missing} for its picture"
    if not of_type(trace, *needed):
        yield None, "no picture is begun"


def _is_diffusion(trace: Trace) -> bool:
    return is_image(trace) and bool(of_type(trace, *IMAGE_EVENTS))


def _known_ids(trace: Trace) -> Iterator[Finding]:
    for event in of_type(trace, "condition.encoded"):
        for key, expected in (("text_ids", TEXT_IDS), ("negative_ids", NEGATIVE_IDS)):
            if state_of(event, key) != expected:
                yield event.event_id, f"{key} are {state_of(event, key)}, expected {expected}"


def _known_timesteps(trace: Trace) -> Iterator[Finding]:
    taken = [state_of(event, "timestep") for event in of_type(trace, "denoise.updated")]
    if taken != TIMESTEPS:
        yield None, f"the timesteps are {taken}, expected {TIMESTEPS}"
    bars = [state_of(event, "alpha_bar") for event in of_type(trace, "denoise.updated")]
    if not _agree(bars, ALPHA_BARS, 5.01e-8):
        yield None, f"the alpha-bars are {bars}, expected {list(ALPHA_BARS)}"


def _known_ledger(trace: Trace) -> Iterator[Finding]:
    for event in of_type(trace, "latent.initialized"):
        (draw,) = event.payload["rng"]
        for key, expected in LEDGER.items():
            if draw.get(key) != expected:
                yield event.event_id, f"{key} is {draw.get(key)}, expected {expected}"


def _known_shapes(trace: Trace) -> Iterator[Finding]:
    for event in trace.events:
        for name, expected in SHAPES.items():
            record = record_of(event, name)
            if record is not None and record["shape"] != expected:
                yield event.event_id, f"{name} has shape {record['shape']}, expected {expected}"


def _known_numbers(trace: Trace) -> Iterator[Finding]:
    steps = of_type(trace, "denoise.updated")
    for index, name, expected in TWO_NUMBERS:
        record = record_of(steps[index], name)
        values = () if record is None else record.get("values", ())
        if not _agree(values, expected, 5.01e-7):
            yield steps[index].event_id, f"{name} is {list(values)}, expected {list(expected)}"


def _agree(values: Sequence[Any], expected: Sequence[float], distance: float) -> bool:
    pairs = zip(values, expected, strict=False)
    near = all(math.isclose(float(x), y, rel_tol=0.0, abs_tol=distance) for x, y in pairs)
    return near and len(values) == len(expected)


def _is_plain(trace: Trace, fixture: str) -> bool:
    header = trace.header
    changed = header.get("overrides") or header.get("injection")
    return trace.kind == "image" and header.get("fixture") == fixture and not changed


def _is_plain_image_001(trace: Trace) -> bool:
    return _is_plain(trace, "image-001")


def _is_plain_ddim_2d(trace: Trace) -> bool:
    # Without values there is nothing to compare with the known ones.
    return _is_plain(trace, "ddim-2d") and trace.header.get("tensors") != "digest"


IMAGE_RULES = (
    Rule(
        "no-image-events",
        "a trace of kind image has events of a diffusion run",
        is_image,
        _has_image_events,
    ),
    Rule(
        "image-run-is-whole",
        "every picture starts from a latent, takes a step, and is decoded and encoded",
        _is_diffusion,
        _run_is_whole,
    ),
    *ORDER_RULES,
    *SETTINGS_RULES,
    *IDENTITY_RULES,
    Rule(
        "known-ids",
        "the prompt's ids are the twelve known ones, the negative prompt's are padding",
        _is_plain_image_001,
        _known_ids,
    ),
    Rule(
        "known-timesteps",
        "the timesteps are the four known ones, and so are their alpha-bars",
        _is_plain_image_001,
        _known_timesteps,
    ),
    Rule(
        "known-ledger",
        "the first latent comes from seed, counter, algorithm and transform as known",
        _is_plain_image_001,
        _known_ledger,
    ),
    Rule(
        "known-shapes",
        "condition, latent, prediction and picture have the known shapes",
        _is_plain_image_001,
        _known_shapes,
    ),
    Rule(
        "known-numbers",
        "the clean and the next latents are the known ones to six decimals",
        _is_plain_ddim_2d,
        _known_numbers,
    ),
)
