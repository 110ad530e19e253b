"""Rules that hold a diffusion run against its own settings: seed, type, steps, batch, preview.

Knows which settings determine what is recorded. Must not know how it is computed; a setting that
the root does not state determines nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from tracediff.contracts.diffusion_events import (
    by_lane,
    has_event,
    of_type,
    setting_of,
    state_of,
    steps_by_picture,
)
from tracediff.contracts.rule import Finding, Rule
from tracediff.events import Trace

ONE_GENERATOR = "one"
WORD_BITS = 32


def _key_is_the_seed(trace: Trace) -> Iterator[Finding]:
    seed = setting_of(trace, "seed")
    # Several generators have seeds of their own.
    if type(seed) is not int or setting_of(trace, "generator_mode") != ONE_GENERATOR:
        return
    expected = [seed % 2**WORD_BITS, seed >> WORD_BITS]
    for event in trace.events:
        for draw in event.payload.get("rng", ()):
            is_philox = draw["algorithm"].startswith("Philox4x32")
            if is_philox and draw.get("key") != expected:
                yield event.event_id, f"key {draw.get('key')}, the seed {seed} gives {expected}"


def _prediction_type_is_the_setting(trace: Trace) -> Iterator[Finding]:
    expected = setting_of(trace, "prediction_type")
    for event in of_type(trace, "denoise.updated"):
        found = state_of(event, "prediction_type")
        if expected is not None and found != expected:
            yield event.event_id, f"predicts {found!r:.40}, the setting is {expected!r:.40}"


def _steps_are_counted(trace: Trace) -> Iterator[Finding]:
    for steps in steps_by_picture(trace):
        for expected, event in enumerate(steps):
            index = state_of(event, "timestep_index")
            if index is not None and index != expected:
                yield event.event_id, f"timestep index {index!r:.40}, expected {expected}"


def _timesteps_are_the_settings(trace: Trace) -> Iterator[Finding]:
    listed, count = setting_of(trace, "timesteps"), setting_of(trace, "steps")
    for steps in steps_by_picture(trace):
        taken = [state_of(event, "timestep") for event in steps]
        if listed:
            if taken != listed:
                yield steps[0].event_id, f"the timesteps are {taken}, set were {listed!r:.80}"
        elif count is not None and len(taken) != count:
            yield steps[0].event_id, f"takes {len(taken)} steps, set were {count!r:.40}"


def _pictures_fill_the_batch(trace: Trace) -> Iterator[Finding]:
    expected = setting_of(trace, "batch_size")
    begun = len(by_lane(of_type(trace, "latent.initialized")))
    if expected is not None and begun != expected:
        yield None, f"{begun} pictures are begun, the batch size is {expected!r:.40}"


def _previews_are_as_set(trace: Trace) -> Iterator[Finding]:
    preview, frames = setting_of(trace, "preview"), of_type(trace, "frame.replaced")
    if preview is True and not frames:
        yield None, "previews are set, but no frame is sent"
    if preview is False and frames:
        yield frames[0].event_id, "sends a frame, but no previews are set"


SETTINGS_RULES = (
    Rule(
        "noise-key-is-the-seed",
        "the only generator's key is the seed, its low word first",
        has_event("latent.initialized"),
        _key_is_the_seed,
    ),
    Rule(
        "prediction-type-is-the-setting",
        "every step predicts what the settings say",
        has_event("denoise.updated"),
        _prediction_type_is_the_setting,
    ),
    Rule(
        "steps-are-counted",
        "the timestep indices of a picture are 0, 1, 2, …",
        has_event("denoise.updated"),
        _steps_are_counted,
    ),
    Rule(
        "timesteps-are-the-settings",
        "a picture takes the timesteps that are set, or as many as are set",
        has_event("denoise.updated"),
        _timesteps_are_the_settings,
    ),
    Rule(
        "pictures-fill-the-batch",
        "as many pictures are begun as the batch size says",
        has_event("latent.initialized"),
        _pictures_fill_the_batch,
    ),
    Rule(
        "previews-are-as-set",
        "frames are sent exactly where previews are set",
        has_event("denoise.updated"),
        _previews_are_as_set,
    ),
)
