"""The field cases about pictures, as pairs of small traces."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from trace_building import chain, event, tensor

from tracediff.events import Event, Trace

LATENT = np.array([0.18215, -0.3643, 0.0911, 0.7286], np.float32)


def image(*events: Event) -> Trace:
    """Return an image trace whose events follow one from another."""
    return chain(*events, kind="image")


def request(**settings: Any) -> Event:
    return event("request", None, "request.accepted", component="gateway", settings=settings)


def timesteps(listed: Sequence[int], end: int = -1) -> Event:
    state = {"timesteps": list(listed), "end_timestep": end}
    return event("start", None, "latent.initialized", component="scheduler", state=state)


def updated(index: int, timestep: int, previous: int, value: float) -> Event:
    return event(
        f"step-{index}",
        None,
        "denoise.updated",
        component="scheduler",
        step=index + 1,
        state={"timestep_index": index, "timestep": timestep, "previous_timestep": previous},
        outputs=[tensor("latent_out", np.array([value]), timestep=previous)],
    )


def two_steps(previous: Sequence[int], values: Sequence[float]) -> Trace:
    """Return the first two of ten steps of linspace, the list cut after them."""
    return image(
        request(spacing="linspace", steps=10),
        timesteps([999, 888], end=777),
        updated(0, 999, previous[0], values[0]),
        updated(1, 888, previous[1], values[1]),
    )


F037 = {
    "left": two_steps([888, 777], [1.4248844, 1.6]),
    "right": two_steps([899, 788], [1.3742867, 1.5]),
}


def spaced(spacing: str, listed: Sequence[int]) -> Trace:
    return image(request(spacing=spacing, steps=len(listed)), timesteps(listed))


F040 = {
    "left": spaced("leading", range(900, -1, -100)),
    "right": spaced("trailing", range(999, 0, -100)),
    "left-offset": spaced("leading", [981, 961]),
    "right-offset": spaced("leading", [980, 960]),
}


def condition(name: str, order: Sequence[str], halves: Sequence[float]) -> Event:
    negative, positive = (np.array([half, half * 2], np.float32) for half in halves)
    return event(
        name,
        None,
        "condition.encoded",
        component="text_encoder",
        state={"encoder": name, "guidance_order": list(order)},
        outputs=[tensor("pooled_negative", negative), tensor("pooled_positive", positive)],
    )


def guided(order: Sequence[str], halves: Sequence[float], step: Sequence[Sequence[float]]) -> Trace:
    """Return two encoders' conditions and one guided step: negative, positive, guided."""
    names = ("epsilon_negative", "epsilon_positive", "epsilon_guided")
    outputs = [tensor(name, np.array(x, np.float32)) for name, x in zip(names, step, strict=True)]
    return image(
        request(guidance_scale=7.5),
        condition("embeds", ["negative", "positive"], [1.0, 2.0]),
        condition("pooled", order, halves),
        event("step", None, "denoise.updated", component="denoiser", step=1, outputs=outputs),
    )


ORDER = ["negative", "positive"]
# Each guided number is negative + 7.5 (positive - negative).
STEP = ([0.1, 0.5], [0.3, 0.2], [1.6, -1.75])
OTHER_STEP = ([0.12, 0.5], [0.27, 0.2], [1.245, -1.75])
F043 = {
    "left": guided(ORDER, [3.0, 4.0], STEP),
    "right": guided(ORDER[::-1], [3.0, 4.0], OTHER_STEP),
    "undeclared": guided(ORDER, [4.0, 3.0], OTHER_STEP),
    "exchanged": guided(ORDER, [3.0, 4.0], (STEP[1], STEP[0], [-1.2, 2.45])),
    "combined-the-other-way": guided(ORDER, [3.0, 4.0], (*STEP[:2], [-1.2, 2.45])),
}


def decoded(scaled: Any, mean: int) -> Trace:
    return image(
        request(),
        event(
            "final",
            None,
            "denoise.updated",
            component="denoiser",
            step=1,
            outputs=[tensor("latent_out", LATENT)],
        ),
        event(
            "decoded",
            None,
            "vae.decoded",
            component="vae",
            step=1,
            inputs=[tensor("latent", LATENT)],
            outputs=[tensor("latent_scaled", scaled), tensor("pixels", LATENT * mean)],
        ),
    )


F045 = {"left": decoded(LATENT / np.float32(0.18215), 128), "right": decoded(LATENT, 104)}


def pixels(values: Sequence[float], kept_as: str, pixel: int, dtype: str | None = None) -> Trace:
    array = np.array(values, dtype or np.float32)
    return image(
        request(vae_dtype=kept_as),
        event(
            "decoded",
            None,
            "vae.decoded",
            component="vae",
            inputs=[tensor("latent", LATENT)],
            outputs=[tensor("pixels", array)],
        ),
        event("encoded", None, "image.encoded", component="image_encoder", choice={"head": pixel}),
    )


F046 = {
    "left": pixels([0.5, 0.25], "float32", 128),
    "right": pixels([np.nan, 0.25], "float16", 0),
    "right-in-half": pixels([np.nan, 0.25], "float16", 0, "float16"),
    "also-nan": pixels([np.nan, 0.25], "float16", 0),
}


def saved(png: str) -> Trace:
    return image(
        request(),
        event(
            "encoded",
            None,
            "image.encoded",
            component="image_encoder",
            outputs=[tensor("pixels_uint8", np.arange(8, dtype=np.uint8))],
            choice={"png_digest": png},
        ),
    )


F050 = {"left": saved("a0"), "right": saved("b1")}

IMAGE_CASES = {
    "F037": F037,
    "F040": F040,
    "F043": F043,
    "F045": F045,
    "F046": F046,
    "F050": F050,
}
