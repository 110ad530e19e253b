"""image-001: one request through text encoder, denoising loop, decoder and PNG, told to a recorder.

Knows the engine's parts for pictures and the recorder. Must not know files or the command line.
The order of the events is the workload; the numbers are the engine's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracediff.engine import guidance
from tracediff.engine.ddim import DdimStep, DdimUpdate, update
from tracediff.engine.denoiser import predict
from tracediff.engine.kernels import Array, Kernel, record_float32
from tracediff.engine.noise_schedule import END, previous_timesteps
from tracediff.engine.philox import PhiloxGenerator
from tracediff.engine.pixels import quantise_pixels, to_rows
from tracediff.engine.png import encode_png
from tracediff.engine.preview import preview_colours
from tracediff.engine.text_encoder import encode_text
from tracediff.engine.vae import decode, undo_scaling
from tracediff.recording.recordable import Draw
from tracediff.recording.recorder import Recorder
from tracediff.workloads.definitions import Definition
from tracediff.workloads.image_model import ImageModel, build_image_model, tokenize_padded
from tracediff.workloads.image_records import (
    PREDICTION_NAMES,
    at_timestep,
    describe_draw,
    describe_file,
    list_artifacts,
)
from tracediff.workloads.image_settings import resolve_seeds, resolve_timesteps


@dataclass(frozen=True, slots=True)
class ImageResult:
    """What a run returned: the PNG file of each picture, and the timesteps it took."""

    pictures: tuple[bytes, ...]
    timesteps: tuple[int, ...]


@dataclass(slots=True)
class _Picture:
    """One picture of the batch while it is made: its latent, its generator, its last event."""

    index: int
    generator: PhiloxGenerator
    latent: Array
    last: str

    @property
    def lane(self) -> dict[str, int]:
        return {"image": self.index}


@dataclass(frozen=True, slots=True)
class _Step:
    """What one step computed; `outputs` by name, in the order in which they came to be."""

    batch: Array
    constants: DdimStep
    draw: Draw
    outputs: Mapping[str, Array]
    updated: DdimUpdate


def run_image(
    definition: Definition, settings: Mapping[str, Any], kernel: Kernel, recorder: Recorder
) -> ImageResult:
    """Run the fixture and tell `recorder` every event.

    Raises UsageError and TokenizerError as `image_settings.validate` does.
    """
    run = _ImageRun(definition, settings, build_image_model(definition, kernel), recorder)
    condition = run.encode()
    pictures = run.initialise()
    run.denoise(pictures, condition)
    return run.finish(pictures)


class _ImageRun:
    """What all pictures of one run share."""

    def __init__(
        self,
        definition: Definition,
        settings: Mapping[str, Any],
        model: ImageModel,
        recorder: Recorder,
    ) -> None:
        self._definition = definition
        self._settings = settings
        self._model = model
        self._recorder = recorder
        self._timesteps = resolve_timesteps(settings, definition.content["settings"])
        self._root = ""

    def encode(self) -> Array:
        """Record d00; return the condition [2, length, width], negative first."""
        content, settings = self._definition.content, self._settings
        texts = {"negative": settings["negative_prompt"], "positive": settings["prompt"]}
        ids = {
            "negative": tokenize_padded(content, "negative_prompt", texts["negative"]),
            "positive": tokenize_padded(content, "prompt", texts["positive"]),
        }
        embedded = {name: encode_text(self._model.text_encoder, ids[name]) for name in ids}
        condition = guidance.stack_pair(embedded["negative"], embedded["positive"])
        self._root = self._recorder.event(
            "text_encoder",
            "condition.encoded",
            artifacts=list_artifacts(self._definition),
            state={
                "prompt": texts["positive"],
                "negative_prompt": texts["negative"],
                "text_ids": [ids["positive"]],
                "negative_ids": [ids["negative"]],
                "guidance_order": list(guidance.ORDER),
            },
            settings={
                key: value
                for key, value in settings.items()
                if key not in ("prompt", "negative_prompt")
            },
            outputs={
                "unconditional_embedding": record_float32(embedded["negative"]),
                "conditional_embedding": record_float32(embedded["positive"]),
                "condition_batch": record_float32(condition),
            },
        )
        return condition

    def initialise(self) -> list[_Picture]:
        """Record d01 for each picture: its first latent is nothing but noise."""
        generators = [PhiloxGenerator(seed) for seed in resolve_seeds(self._settings)]
        pictures = []
        for index in range(self._settings["batch_size"]):
            generator = generators[index % len(generators)]
            noise, draw = self._draw_noise(generator)
            latent = self._model.kernel.load(noise)
            picture = _Picture(index, generator, latent, self._root)
            picture.last = self._recorder.event(
                "noise_generator",
                "latent.initialized",
                parent=self._root,
                lane=picture.lane,
                artifacts=self._artifacts("scheduler"),
                state={"timesteps": self._timesteps, "end_timestep": END},
                rng=[draw],
                outputs={"latent": at_timestep(latent, self._timesteps[0])},
            )
            pictures.append(picture)
        return pictures

    def denoise(self, pictures: list[_Picture], condition: Array) -> None:
        """Record one event a step and picture; leave the clean latents in the pictures."""
        steps = zip(self._timesteps, previous_timesteps(self._timesteps), strict=True)
        for index, (timestep, previous) in enumerate(steps):
            for picture in pictures:
                self._denoise_once(picture, index, timestep, previous, condition)

    def finish(self, pictures: list[_Picture]) -> ImageResult:
        """Record the pixels and the file of each picture, and the end; return the files."""
        files = tuple(self._encode_picture(picture, self._decode(picture)) for picture in pictures)
        *others, final = pictures
        self._recorder.event(
            "transport",
            "response.completed",
            logical_step=len(self._timesteps),
            parent=final.last,
            joins=[picture.last for picture in others],
            choice={
                "status": "FINISHED",
                "images": [f"image-{picture.index}.png" for picture in pictures],
            },
        )
        return ImageResult(files, tuple(self._timesteps))

    def _draw_noise(self, generator: PhiloxGenerator) -> tuple[Array, Draw]:
        shape = self._model.latent_shape
        before = generator.counter
        noise = generator.normals(int(np.prod(shape))).reshape(shape)
        return noise, describe_draw(generator, before, shape)

    def _denoise_once(
        self, picture: _Picture, index: int, timestep: int, previous: int, condition: Array
    ) -> None:
        taken = self._take_step(picture, timestep, previous, condition)
        picture.last = self._recorder.event(
            "denoiser",
            "denoise.updated",
            logical_step=index + 1,
            parent=picture.last,
            lane=picture.lane,
            artifacts=self._artifacts("denoiser", "scheduler"),
            state={
                "timestep_index": index,
                "timestep": timestep,
                "previous_timestep": previous,
                "alpha_bar": taken.constants.alpha_bar,
                "alpha_bar_previous": taken.constants.alpha_bar_previous,
                "prediction_type": self._settings["prediction_type"],
                "guidance_order": list(guidance.ORDER),
            },
            inputs={
                "latent": at_timestep(picture.latent, timestep),
                "latent_batch": at_timestep(taken.batch, timestep),
                "condition_batch": record_float32(condition),
            },
            rng=[taken.draw],
            outputs={
                **{name: at_timestep(array, timestep) for name, array in taken.outputs.items()},
                "latent_out": at_timestep(taken.updated.latent, previous),
            },
        )
        picture.latent = taken.updated.latent
        if self._settings["preview"]:
            self._send_preview(picture, index, taken.updated)

    def _take_step(
        self, picture: _Picture, timestep: int, previous: int, condition: Array
    ) -> _Step:
        """Predict, guide, draw where eta asks for it, and update: nothing is recorded here."""
        settings, schedule = self._settings, self._model.schedule
        batch = guidance.stack_pair(picture.latent, picture.latent)
        prediction = predict(self._model.denoiser, batch, timestep, condition)
        negative, positive = guidance.split_pair(prediction)
        guided = guidance.guide(negative, positive, settings["guidance_scale"])
        constants = DdimStep(
            schedule.alpha_bar(timestep), schedule.alpha_bar(previous), settings["eta"]
        )
        noise, draw = None, describe_draw(picture.generator, picture.generator.counter, None)
        if settings["eta"] > 0:
            noise, draw = self._draw_noise(picture.generator)
        updated = update(picture.latent, guided, constants, settings["prediction_type"], noise)
        name = PREDICTION_NAMES[settings["prediction_type"]]
        outputs = {
            name: prediction,
            f"{name}_negative": negative,
            f"{name}_positive": positive,
            f"{name}_guided": guided,
            "predicted_z0": updated.predicted_z0,
            **({} if noise is None else {"noise": noise}),
        }
        return _Step(batch, constants, draw, outputs, updated)

    def _artifacts(self, *names: str) -> dict[str, str]:
        return {name: self._definition.content[name]["id"] for name in names}

    def _send_preview(self, picture: _Picture, index: int, updated: DdimUpdate) -> None:
        """Record a leaf of the step: nothing follows from a preview."""
        colours = preview_colours(updated.predicted_z0, self._model.preview_factors)
        frame = quantise_pixels(colours)
        self._recorder.event(
            "transport",
            "frame.replaced",
            logical_step=index + 1,
            parent=picture.last,
            lane=picture.lane,
            state={"step_id": index, "replaces": index - 1 if index else None},
            outputs={"frame_uint8": frame},
            choice=describe_file(encode_png(to_rows(frame))),
        )

    def _decode(self, picture: _Picture) -> Array:
        scaled = undo_scaling(picture.latent, self._settings["vae_scaling_factor"])
        pixels = decode(self._model.vae, scaled)
        picture.last = self._recorder.event(
            "vae",
            "vae.decoded",
            logical_step=len(self._timesteps),
            parent=picture.last,
            lane=picture.lane,
            artifacts=self._artifacts("vae"),
            inputs={"latent": at_timestep(picture.latent, END)},
            outputs={
                "latent_scaled": at_timestep(scaled, END),
                "pixels": record_float32(pixels),
            },
        )
        return pixels

    def _encode_picture(self, picture: _Picture, pixels: Array) -> bytes:
        quantised = quantise_pixels(pixels)
        file = encode_png(to_rows(quantised))
        picture.last = self._recorder.event(
            "image_encoder",
            "image.encoded",
            logical_step=len(self._timesteps),
            parent=picture.last,
            lane=picture.lane,
            artifacts={"png_encoder": self._definition.content["png_encoder"]},
            inputs={"pixels": record_float32(pixels)},
            outputs={"pixels_uint8": quantised},
            choice=describe_file(file),
        )
        return file
