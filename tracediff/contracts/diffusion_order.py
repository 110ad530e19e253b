"""Rules on the discrete side of diffusion traces: order, timesteps, shapes, random numbers.

Knows what a run must keep; the arithmetic on tensors is `diffusion_identities`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from tracediff.contracts.diffusion_events import (
    PREDICTIONS,
    by_lane,
    has_event,
    is_image,
    of_type,
    record_of,
    setting_of,
    state_of,
    steps_by_picture,
)
from tracediff.contracts.rule import Finding, Rule
from tracediff.events import Event, Trace

GUIDANCE_ORDER = ["negative", "positive"]
END = -1
NORMALS_PER_BLOCK = 4
"""Normals that one block of Philox4x32 yields."""


def _condition_is_constant(trace: Trace) -> Iterator[Finding]:
    for encoded in of_type(trace, "condition.encoded"):
        made = record_of(encoded, "condition_batch")
        for event in of_type(trace, "denoise.updated"):
            used = record_of(event, "condition_batch")
            if made and used and used["digest"] != made["digest"]:
                yield event.event_id, f"its condition is not the one that {encoded.event_id} made"


def _noise_fills_the_latent(trace: Trace) -> Iterator[Finding]:
    for event in of_type(trace, "latent.initialized"):
        latent = record_of(event, "latent")
        for draw in event.payload.get("rng", ()):
            shape = draw["draws"].get("shape")
            if latent is not None and shape != latent["shape"]:
                yield event.event_id, f"noise {shape} was drawn for a latent {latent['shape']}"
    for event in trace.events:
        for draw in event.payload.get("rng", ()):
            yield from _wrong_ledger(event, draw)


def _wrong_ledger(event: Event, draw: Mapping[str, Any]) -> Iterator[Finding]:
    shape, count = draw["draws"].get("shape"), draw["draws"]["count"]
    if shape is not None and math.prod(shape) != count:
        yield event.event_id, f"{count} numbers do not fill the shape {shape}"
    if not draw["algorithm"].startswith("Philox4x32"):
        return
    blocks = -(-count // NORMALS_PER_BLOCK)
    moved = int(draw["counter_after"]) - int(draw["counter_before"])
    if moved != blocks:
        yield event.event_id, f"{count} normals take {blocks} blocks, the counter moves by {moved}"


def _negative_comes_first(trace: Trace) -> Iterator[Finding]:
    for event in trace.events:
        order = state_of(event, "guidance_order")
        if order is not None and order != GUIDANCE_ORDER:
            yield event.event_id, f"the guidance order is {order}, expected {GUIDANCE_ORDER}"


def _timesteps_are_declared(trace: Trace) -> Iterator[Finding]:
    declared = [state_of(event, "timesteps") for event in of_type(trace, "latent.initialized")]
    for steps in steps_by_picture(trace):
        taken = [state_of(event, "timestep") for event in steps]
        if any(taken != listed for listed in declared if listed is not None):
            yield steps[0].event_id, f"the timesteps are {taken}, declared were {declared[0]}"
        if any(_ascends(trace, earlier, later) for earlier, later in pairwise(taken)):
            yield steps[0].event_id, f"the timesteps {taken} do not descend"


def _ascends(trace: Trace, earlier: float, later: float) -> bool:
    """Whether a timestep does not follow another; Heun's method, for one, stays at each."""
    return later > earlier or (later == earlier and not setting_of(trace, "repeats_timesteps"))


def _previous_is_the_next(trace: Trace) -> Iterator[Finding]:
    ends = [state_of(event, "end_timestep") for event in of_type(trace, "latent.initialized")]
    end = next((declared for declared in ends if declared is not None), END)
    for steps in steps_by_picture(trace):
        following = [*(state_of(event, "timestep") for event in steps[1:]), end]
        for event, expected in zip(steps, following, strict=True):
            previous = state_of(event, "previous_timestep")
            if previous != expected:
                yield (
                    event.event_id,
                    f"previous timestep {previous}, the next visited is {expected}",
                )
        for before, after in pairwise(steps):
            if state_of(before, "alpha_bar_previous") != state_of(after, "alpha_bar"):
                yield after.event_id, f"its alpha-bar is not the one that {before.event_id} led to"


def _prediction_has_the_latents_shape(trace: Trace) -> Iterator[Finding]:
    for event in of_type(trace, "denoise.updated"):
        latent = record_of(event, "latent")
        if latent is None:
            continue
        for name, expected in _expected_shapes(event, latent["shape"]).items():
            record = record_of(event, name)
            if record is not None and record["shape"] != expected:
                yield event.event_id, f"{name} has shape {record['shape']}, expected {expected}"


def _expected_shapes(event: Event, shape: list[int]) -> dict[str, list[int]]:
    expected = dict.fromkeys(("predicted_z0", "noise", "latent_out"), shape)
    for name in PREDICTIONS:
        for part in ("negative", "positive", "guided"):
            expected[f"{name}_{part}"] = shape
    if record_of(event, "latent_batch") is not None:
        pair = [2 * shape[0], *shape[1:]]
        expected |= dict.fromkeys(("latent_batch", *PREDICTIONS), pair)
    return expected


def _noise_follows_eta(trace: Trace) -> Iterator[Finding]:
    eta = setting_of(trace, "eta") or 0
    for event in of_type(trace, "denoise.updated"):
        drawn = sum(draw["draws"]["count"] for draw in event.payload.get("rng", ()))
        latent = record_of(event, "latent")
        whole = 0 if latent is None else math.prod(latent["shape"])
        if setting_of(trace, "draws_noise") and drawn in (0, whole):
            continue  # an ancestral scheduler draws whatever eta is, but for the last step
        expected = 0 if eta == 0 else whole
        if drawn != expected:
            yield event.event_id, f"draws {drawn} numbers, with eta {eta:g} expected {expected}"


def _latent_is_handed_on(trace: Trace) -> Iterator[Finding]:
    links = ("latent.initialized", "denoise.updated", "vae.decoded")
    for chain in by_lane([event for event in trace.events if event.event_type in links]):
        for before, after in pairwise(chain):
            made = record_of(before, "latent_out") or record_of(before, "latent")
            used = record_of(after, "latent")
            if made and used and made["digest"] != used["digest"]:
                yield after.event_id, f"its latent is not the one that {before.event_id} made"


def _three_levels_are_recorded(trace: Trace) -> Iterator[Finding]:
    for event in of_type(trace, "image.encoded"):
        if record_of(event, "pixels_uint8") is None:
            yield event.event_id, "the pixels are not recorded"
        if not event.payload.get("choice", {}).get("png_digest"):
            yield event.event_id, "the digest of the file's bytes is not recorded"
    for steps in steps_by_picture(trace):
        if record_of(steps[-1], "latent_out") is None:
            yield steps[-1].event_id, "the final latent is not recorded"


def _frames_replace_each_other(trace: Trace) -> Iterator[Finding]:
    for frames in by_lane(of_type(trace, "frame.replaced")):
        shown = None
        for event in frames:
            if state_of(event, "replaces") != shown:
                yield event.event_id, f"replaces {state_of(event, 'replaces')}, shown was {shown}"
            shown = state_of(event, "step_id")


def _finishes_once(trace: Trace) -> Iterator[Finding]:
    choices = [(event, event.payload.get("choice", {})) for event in trace.events]
    finished = [(event, choice) for event, choice in choices if choice.get("status") == "FINISHED"]
    if len(finished) != 1:
        last = finished[-1][0].event_id if finished else None
        yield last, f"FINISHED occurs {len(finished)} times, expected once"
    files = len(of_type(trace, "image.encoded"))
    for event, choice in finished:
        if len(choice.get("images", ())) != files:
            yield event.event_id, f"{files} pictures were encoded, returned are {choice['images']}"


ORDER_RULES = (
    Rule(
        "condition-is-constant",
        "every step uses the condition that was encoded",
        has_event("condition.encoded"),
        _condition_is_constant,
    ),
    Rule(
        "noise-fills-the-latent",
        "noise has the latent's shape, and the counter moves by one block for 4 normals",
        has_event("latent.initialized"),
        _noise_fills_the_latent,
    ),
    Rule(
        "negative-comes-first",
        "a guided batch is the negative half, then the positive one",
        has_event("condition.encoded"),
        _negative_comes_first,
    ),
    Rule(
        "timesteps-are-declared",
        "the steps visit the declared timesteps, descending but for repeats that are set",
        has_event("denoise.updated"),
        _timesteps_are_declared,
    ),
    Rule(
        "previous-is-the-next",
        "each step leads to the timestep of the next one, the last to the end",
        has_event("denoise.updated"),
        _previous_is_the_next,
    ),
    Rule(
        "prediction-has-the-latents-shape",
        "predictions and latents have one shape, batches are two of it",
        has_event("denoise.updated"),
        _prediction_has_the_latents_shape,
    ),
    Rule(
        "noise-follows-eta",
        "with eta 0 the loop draws nothing, else one latent of noise a step, or as is set",
        has_event("denoise.updated"),
        _noise_follows_eta,
    ),
    Rule(
        "latent-is-handed-on",
        "each step starts from the latent that the one before made, and so does the decoder",
        has_event("denoise.updated"),
        _latent_is_handed_on,
    ),
    Rule(
        "three-levels-are-recorded",
        "latent, pixels and file can each be compared",
        has_event("image.encoded"),
        _three_levels_are_recorded,
    ),
    Rule(
        "frames-replace-each-other",
        "a preview replaces the one before it",
        has_event("frame.replaced"),
        _frames_replace_each_other,
    ),
    Rule("one-finish", "the run finishes once, with every picture", is_image, _finishes_once),
)
