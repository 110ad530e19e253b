"""Rules on the tensors of diffusion traces: guidance, update, scaling and pixels by arithmetic.

Knows the formulas (Ho and Salimans 2022, arXiv:2207.12598; Song, Meng and Ermon 2021,
arXiv:2010.02502; Salimans and Ho 2022, arXiv:2202.00512) and writes them as linear identities
between recorded tensors. What rounding may leave of one is `linear_identity`'s matter.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from tracediff.contracts.diffusion_events import (
    PREDICTIONS,
    has_event,
    has_number,
    is_image,
    of_type,
    record_of,
    setting_of,
    state_of,
)
from tracediff.contracts.linear_identity import Term, is_finite, load_values, measure
from tracediff.contracts.rule import Finding, Rule
from tracediff.events import Event, Trace
from tracediff.events.event import TENSOR_SECTIONS

HALVES = (
    ("condition_batch", "unconditional_embedding", "conditional_embedding"),
    *((name, f"{name}_negative", f"{name}_positive") for name in PREDICTIONS),
    ("latent_batch", "latent", "latent"),
)
"""A batch of two, its first and its second half."""

ROUNDING_BORDER = 0.5 + 1e-4
"""Half a level, and what float32 may add before quantisation."""


def _guidance_holds(trace: Trace) -> Iterator[Finding]:
    scale = setting_of(trace, "guidance_scale")
    for event in of_type(trace, "denoise.updated"):
        for name in PREDICTIONS:
            constants = {
                f"{name}_negative": 1.0 - scale,
                f"{name}_positive": scale,
                f"{name}_guided": -1.0,
            }
            statement = f"{name}_guided is not negative + {scale:g} (positive - negative)"
            yield from _broken_identity(trace, event, constants, statement)


def _clean_latent_follows(trace: Trace) -> Iterator[Finding]:
    for event in of_type(trace, "denoise.updated"):
        name, bar = _prediction_name(event), _alpha_bar(event, "alpha_bar")
        if name is None or bar is None:
            continue
        signal, noise = math.sqrt(bar), math.sqrt(1.0 - bar)
        constants = {"latent": 1.0 / signal, name: -noise / signal, "predicted_z0": -1.0}
        if state_of(event, "prediction_type") == "v_prediction":
            constants |= {"latent": signal, name: -noise}
        statement = f"predicted_z0 does not follow from latent and {name} at alpha-bar {bar:.6g}"
        yield from _broken_identity(trace, event, constants, statement)


def _alpha_bars_are_possible(trace: Trace) -> Iterator[Finding]:
    for event in of_type(trace, "denoise.updated"):
        bars = [state_of(event, key) for key in ("alpha_bar", "alpha_bar_previous")]
        wrong = [bar for bar in bars if bar is not None and not _is_share(bar)]
        for bar in wrong:
            yield event.event_id, f"alpha-bar {bar!r:.40} is not in (0, 1]"
        if not wrong and None not in bars and bars[1] < bars[0]:
            yield event.event_id, f"alpha-bar falls from {bars[0]:.6g} to {bars[1]:.6g}"


def _is_share(bar: object) -> bool:
    return isinstance(bar, int | float) and not isinstance(bar, bool) and 0.0 < bar <= 1.0


def _update_holds(trace: Trace) -> Iterator[Finding]:
    eta = setting_of(trace, "eta") or 0.0
    for event in of_type(trace, "denoise.updated"):
        name, bar = _prediction_name(event), _alpha_bar(event, "alpha_bar")
        after = _alpha_bar(event, "alpha_bar_previous")
        # An alpha-bar that falls is for the rule on alpha-bars to say.
        if name is None or bar is None or after is None or after < bar:
            continue
        sigma = eta * math.sqrt((1.0 - after) / (1.0 - bar) * (1.0 - bar / after))
        direction = math.sqrt(max(1.0 - after - sigma * sigma, 0.0))
        constants = {"predicted_z0": math.sqrt(after), name: direction, "latent_out": -1.0}
        if state_of(event, "prediction_type") == "v_prediction":
            constants[name] = direction * math.sqrt(bar)
            constants["latent"] = direction * math.sqrt(1.0 - bar)
        if eta:
            constants["noise"] = sigma
        statement = f"latent_out is not the update to alpha-bar {after:.6g} with eta {eta:g}"
        yield from _broken_identity(trace, event, constants, statement)


def _scaling_is_undone(trace: Trace) -> Iterator[Finding]:
    factor = setting_of(trace, "vae_scaling_factor")
    for event in of_type(trace, "vae.decoded"):
        constants = {"latent": 1.0 / factor, "latent_scaled": -1.0}
        statement = f"latent_scaled is not the latent divided by {factor:g}"
        yield from _broken_identity(trace, event, constants, statement)


def _prediction_name(event: Event) -> str | None:
    """Return the name of the prediction that the update used: guided, or as it came."""
    names = [f"{name}{part}" for part in ("_guided", "") for name in PREDICTIONS]
    return next((name for name in names if record_of(event, name) is not None), None)


def _alpha_bar(event: Event, key: str) -> float | None:
    """Return an alpha-bar from the state, None where it is no possible one."""
    bar = state_of(event, key)
    if not _is_share(bar):
        return None
    highest = 1.0 if key == "alpha_bar_previous" else math.nextafter(1.0, 0.0)
    return float(bar) if bar <= highest else None


def _broken_identity(
    trace: Trace, event: Event, constants: Mapping[str, float], statement: str
) -> Iterator[Finding]:
    """Yield where the tensors, each times its constant, do not add up to zero."""
    records = {name: record_of(event, name) for name in constants}
    terms = [Term(constants[name], record) for name, record in records.items() if record]
    residual = measure(trace, terms) if len(terms) == len(constants) else None
    if residual is not None and not residual.is_zero:
        yield event.event_id, f"{statement}: {residual.describe()}"


def _halves_are_in_order(trace: Trace) -> Iterator[Finding]:
    for event in trace.events:
        for batch, *halves in HALVES:
            yield from _wrong_halves(trace, event, batch, halves)


def _wrong_halves(
    trace: Trace, event: Event, batch: str, halves: Sequence[str]
) -> Iterator[Finding]:
    records = [record_of(event, name) for name in (batch, *halves)]
    arrays = [None if record is None else load_values(trace, record) for record in records]
    whole, *parts = arrays
    for index, part in enumerate(parts):
        if whole is None or part is None:
            continue
        taken = whole[index * len(part) : (index + 1) * len(part)]
        if taken.tobytes() != part.tobytes():
            yield event.event_id, f"half {index + 1} of {batch} is not {halves[index]}"


def _pixels_are_quantised(trace: Trace) -> Iterator[Finding]:
    for event in of_type(trace, "image.encoded"):
        pixels, quantised = record_of(event, "pixels"), record_of(event, "pixels_uint8")
        if pixels is None or quantised is None or not is_finite(pixels):
            continue
        if pixels["shape"] != quantised["shape"]:
            yield event.event_id, f"{pixels['shape']} became pixels of {quantised['shape']}"
        # Quantisation keeps the order of numbers, so their extremes belong together.
        for key in ("min", "max"):
            level = min(max((pixels["stats"][key] / 2.0 + 0.5) * 255.0, 0.0), 255.0)
            if abs(quantised["stats"][key] - level) > ROUNDING_BORDER:
                found = quantised["stats"][key]
                yield event.event_id, f"the {key} of pixels_uint8 is {found}, expected {level:.2f}"


def _numbers_are_finite(trace: Trace) -> Iterator[Finding]:
    for event in trace.events:
        for section in TENSOR_SECTIONS:
            for record in event.payload.get(section, ()):
                if not is_finite(record):
                    yield event.event_id, f"{record['name']} has NaN or infinite elements"


IDENTITY_RULES = (
    Rule(
        "guidance-identity",
        "the guided prediction is negative + scale (positive - negative)",
        has_number("denoise.updated", "guidance_scale"),
        _guidance_holds,
    ),
    Rule(
        "clean-latent-identity",
        "the predicted clean latent follows from latent, prediction and alpha-bar",
        has_event("denoise.updated"),
        _clean_latent_follows,
    ),
    Rule(
        "alpha-bars-are-possible",
        "every alpha-bar is in (0, 1], and no step lowers it",
        has_event("denoise.updated"),
        _alpha_bars_are_possible,
    ),
    Rule(
        "update-identity",
        "the next latent is the DDIM update of clean latent, prediction and noise",
        has_event("denoise.updated"),
        _update_holds,
    ),
    Rule(
        "scaling-identity",
        "the decoder gets the final latent divided by the scaling factor, once",
        has_number("vae.decoded", "vae_scaling_factor"),
        _scaling_is_undone,
    ),
    Rule(
        "halves-are-in-order",
        "a batch is its negative half, then its positive one, where the numbers were kept",
        has_event("condition.encoded"),
        _halves_are_in_order,
    ),
    Rule(
        "pixels-are-quantised",
        "the pixels are the decoder's numbers, mapped from -1 … 1 to 0 … 255",
        has_event("image.encoded"),
        _pixels_are_quantised,
    ),
    Rule(
        "numbers-are-finite",
        "no tensor has NaN or infinite elements",
        is_image,
        _numbers_are_finite,
    ),
)
