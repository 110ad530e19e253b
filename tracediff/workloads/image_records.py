"""How image-001 writes things down: names, places, ids, ledgers, and how far numbers may differ.

Knows what the recorder takes. Must not know the order of events or the engine's networks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from blake3 import blake3

from tracediff.engine.ddim import EPSILON, VELOCITY
from tracediff.engine.kernels import Array, record_float32
from tracediff.engine.philox import PhiloxGenerator
from tracediff.events import ToleranceRule, Tolerances
from tracediff.recording.recordable import Draw, Tensor
from tracediff.workloads.definitions import Definition

TOLERANCES = Tolerances(
    (
        # The first step divides by sqrt(alpha_bar_999) = 0.068, so its errors are 15 times larger.
        ToleranceRule("predicted_z0", "allclose", rtol=1.3e-6, atol=1.5e-4, rel_l2=1e-5),
        # Division by the scaling factor 0.18215 makes them 5.5 times larger.
        ToleranceRule("latent_scaled", "allclose", rtol=1.3e-6, atol=6e-5, rel_l2=1e-5),
        # A number at a rounding border falls to either side: one level, in few pixels. One level
        # in every pixel of this picture is 1e-2; in one of a hundred, 1e-3.
        ToleranceRule("pixels_uint8", "allclose", atol=1.0, rel_l2=1e-3),
        ToleranceRule("frame_uint8", "allclose", atol=1.0, rel_l2=1e-3),
    )
)

PREDICTION_NAMES: Mapping[str, str] = MappingProxyType({EPSILON: "epsilon", VELOCITY: "velocity"})
"""What the network's output is called under each prediction type."""


def list_artifacts(definition: Definition) -> dict[str, str]:
    """Return the immutable ids of everything that a run uses."""
    content = definition.content
    return {
        "tokenizer": content["tokenizer"]["id"],
        "text_encoder": content["text_encoder"]["id"],
        "denoiser": content["denoiser"]["id"],
        "scheduler": content["scheduler"]["id"],
        "noise_schedule": content["scheduler"]["noise_schedule"],
        "vae": content["vae"]["id"],
        "png_encoder": content["png_encoder"],
        "weights": definition.weights_digest,
    }


def at_timestep(array: Array, timestep: int) -> Tensor:
    """Return a latent or prediction with the timestep to which it belongs, -1 for the clean one."""
    return Tensor(record_float32(array), {"timestep": timestep})


def describe_draw(generator: PhiloxGenerator, before: int, shape: tuple[int, ...] | None) -> Draw:
    """Return what was drawn since the counter `before`: normals of `shape`, or nothing."""
    return Draw(
        generator="noise",
        algorithm="Philox4x32-10",
        key=generator.key,
        counter_before=before,
        counter_after=generator.counter,
        count=0 if shape is None else math.prod(shape),
        shape=shape,
        transform=None if shape is None else "box-muller-v1",
    )


def describe_file(file: bytes) -> dict[str, Any]:
    """Return digest (`b3:` and 32 hex digits of BLAKE3) and length of a PNG file."""
    return {"png_digest": f"b3:{blake3(file).hexdigest()[:32]}", "png_length": len(file)}
