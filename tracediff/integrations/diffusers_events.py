"""The events of a pipeline's call, with the names and the lanes of image-001.

Knows the recorder, and how a batch is cut into its pictures. Must not know which methods of a
pipeline are watched (`diffusers_pipeline`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from tracediff.integrations.diffusers_draws import PictureLedger
from tracediff.integrations.diffusers_parts import compiled_names, components_of, uncompiled
from tracediff.integrations.diffusers_pictures import describe_file, to_pixels
from tracediff.integrations.diffusers_predictions import (
    Prediction,
    guidance_order,
    name_predictions,
    row_of,
    used_name,
)
from tracediff.integrations.diffusers_request import Request
from tracediff.integrations.diffusers_schedule import (
    END,
    clean_name,
    listed_timesteps,
    step_state,
)
from tracediff.integrations.torch_parameters import identify_parameters
from tracediff.integrations.torch_tensors import record_tensor
from tracediff.recording.kernels import load_kernels
from tracediff.recording.recorder import Recorder
from tracediff.recording.scratch import Workspace
from tracediff.recording.tensor_records import Recordable

PNG_ENCODER = "png-stored-v1"


class PipelineEvents:
    """Records what a pipeline does, in the order in which it does it."""

    def __init__(self, recorder: Recorder, pipe: Any, request: Request) -> None:
        self._recorder = recorder
        self._pipe = pipe
        self._request = request
        self._ledger = PictureLedger(request.generators)
        self._root = ""
        self._encoded = ""
        self._last: list[str] = []
        self._latents: torch.Tensor | None = None
        self._pixels: torch.Tensor | None = None
        self._halves: tuple[torch.Tensor, torch.Tensor] | None = None
        self._steps = 0
        self._workspace = Workspace(load_kernels())
        recorder.use_kernels(self._workspace.kernels)

    def begin(self, parameters: bool) -> None:
        """Record what is asked for, and what the components consist of."""
        parts = {name: uncompiled(part) for name, part in components_of(self._pipe).items()}
        compiled = compiled_names(self._pipe)
        self._root = self._recorder.event(
            "pipeline",
            "pipeline.called",
            artifacts={
                "pipeline": type(self._pipe).__name__,
                **{name: type(part).__name__ for name, part in parts.items()},
            },
            settings=self._request.settings,
            context={"compiled": compiled} if compiled else None,
            inputs=self._records(self._request.inputs) or None,
        )
        self._encoded = self._root
        for name, part in parts.items():
            if isinstance(part, torch.nn.Module):
                identities, sums = identify_parameters(part, f"{name}.") if parameters else ({}, {})
                self._recorder.event(
                    name,
                    "module.loaded",
                    parent=self._root,
                    artifacts=identities,
                    state={"training": [name] if part.training else [], "parameter_sums": sums},
                )

    def encoded(self, found: Any, text_ids: Mapping[str, Sequence[torch.Tensor]]) -> None:
        """Record the condition: `found` is what `encode_prompt` returned, the positive one first.

        `text_ids` are what each text encoder was called with, for the positive prompt first.
        """
        embeddings = [part for part in found if isinstance(part, torch.Tensor)]
        is_guided = len(found) > 1 and isinstance(found[1], torch.Tensor)
        named = {"conditional_embedding": embeddings[0]}
        if is_guided:
            named = {"unconditional_embedding": embeddings[1], **named}
            self._halves = embeddings[1].detach().clone(), embeddings[0].detach().clone()
        for index, pooled in enumerate(embeddings[len(named) :]):
            named[f"pooled_embedding[{index}]"] = pooled
        if self._request.is_shared:
            named = {name: tensor[:1] for name, tensor in named.items()}
            if is_guided:
                named["condition_batch"] = torch.cat(list(named.values())[:2])
        self._encoded = self._recorder.event(
            "text_encoder",
            "condition.encoded",
            parent=self._root,
            state={**self._request.texts, **_ids(text_ids)},
            outputs=self._records(named),
        )

    def initialised(self, latents: torch.Tensor) -> None:
        """Record the first latent of each picture, and what was drawn for it."""
        self._latents = latents
        timesteps = listed_timesteps(self._pipe.scheduler)
        draws = self._ledger.draws(len(latents), self._shape(latents))
        for index in range(len(latents)):
            self._last.append(self._encoded)
            self._emit(
                index,
                "noise_generator",
                "latent.initialized",
                state={"timesteps": timesteps, "end_timestep": END},
                rng=draws[index],
                outputs=self._at(timesteps[0] if timesteps else END, latent=row_of(latents, index)),
            )

    def updated(
        self,
        latents: torch.Tensor,
        timestep: Any,
        used: torch.Tensor,
        predictions: Sequence[Prediction],
        found: Any,
    ) -> None:
        """Record a step of the scheduler: from `latents` with the prediction `used` to `found`."""
        scheduler = self._pipe.scheduler
        state = step_state(scheduler, self._steps, timestep)
        after, clean = _step_result(found)
        self._steps += 1
        draws = self._ledger.draws(len(latents), self._shape(latents))
        for index in range(len(latents)):
            read, outputs = name_predictions(scheduler, predictions, index, len(latents))
            inputs = {"latent": row_of(latents, index), **read}
            name = used_name(scheduler, self._request.settings, outputs, row_of(used, index))
            if name is not None:
                outputs[name] = row_of(used, index)
            if clean is not None:
                outputs[clean_name(scheduler)] = row_of(clean, index)
            order = guidance_order(self._halves, predictions, index, len(latents))
            self._emit(
                index,
                "denoiser",
                "denoise.updated",
                state=state | ({"guidance_order": order} if order else {}),
                inputs=self._at(state["timestep"], **inputs),
                rng=draws[index],
                outputs={
                    **self._at(state["timestep"], **outputs),
                    **self._at(state["previous_timestep"], latent_out=row_of(after, index)),
                },
            )
        self._latents = after

    def decoded(self, scaled: torch.Tensor, pixels: torch.Tensor) -> None:
        """Record what the VAE was given and made of it, picture by picture."""
        self._pixels = pixels
        for index in range(len(scaled)):
            latents = self._latents
            read = {} if latents is None else {"latent": row_of(latents, index)}
            self._emit(
                index,
                "vae",
                "vae.decoded",
                inputs=self._at(END, **read),
                outputs={
                    **self._at(END, latent_scaled=row_of(scaled, index)),
                    **self._records({"pixels": row_of(pixels, index)}),
                },
            )

    def end(self, result: Any) -> None:
        """Record the pictures that the call returned, and its end."""
        images = result[0] if isinstance(result, tuple) else result.images
        count = len(images) if self._pixels is not None else 0
        names = []
        for index in range(count):
            pixels = to_pixels(images[index])
            assert self._pixels is not None
            names.append(f"image-{index}.png")
            self._emit(
                index,
                "image_encoder",
                "image.encoded",
                artifacts={"png_encoder": PNG_ENCODER},
                inputs=self._records({"pixels": row_of(self._pixels, index)}),
                outputs={"pixels_uint8": pixels},
                choice=describe_file(pixels),
            )
        self._complete({"status": "FINISHED", "images": names})

    def fail(self, error: BaseException) -> None:
        """Record that the call ended by an exception."""
        self._complete({"status": "FAILED", "error": type(error).__name__})

    def _complete(self, choice: Mapping[str, Any]) -> None:
        *others, final = self._last or [self._encoded]
        self._recorder.event(
            "transport",
            "response.completed",
            logical_step=self._steps,
            parent=final,
            joins=[event for event in others if event != final],
            choice=choice,
        )

    def _emit(self, picture: int, component: str, event_type: str, **sections: Any) -> None:
        self._last[picture] = self._recorder.event(
            component,
            event_type,
            logical_step=self._steps,
            parent=self._last[picture],
            lane={"image": picture},
            **{key: value for key, value in sections.items() if value},
        )

    def _shape(self, latents: torch.Tensor) -> list[int] | None:
        """Return what is drawn for one picture, where that is known."""
        return [1, *latents.shape[1:]] if self._request.draws_latents else None

    def _at(self, timestep: float, **tensors: torch.Tensor) -> dict[str, Recordable]:
        """Return records of latents or predictions that belong to a timestep."""
        logical = {"timestep": timestep}
        return {name: replace(r, logical=logical) for name, r in self._records(tensors).items()}

    def _records(self, tensors: Mapping[str, torch.Tensor]) -> dict[str, Recordable]:
        level = self._recorder.level
        return {
            part: record
            for name, tensor in tensors.items()
            for part, record in record_tensor(name, tensor, level, workspace=self._workspace)
        }


def _ids(text_ids: Mapping[str, Sequence[torch.Tensor]]) -> dict[str, Any]:
    """Return the ids of both prompts, as `text_ids` and `negative_ids`, for each encoder."""
    found = {}
    for encoder, calls in text_ids.items():
        suffix = encoder.removeprefix("text_encoder")
        for name, ids in zip(("text_ids", "negative_ids"), calls, strict=False):
            found[f"{name}{suffix}"] = ids.tolist()
    return found


def _step_result(found: Any) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Return the next latent and, where the scheduler says it, the predicted clean one."""
    if isinstance(found, tuple):
        clean = found[1] if len(found) > 1 else None
        after = found[0]
    else:
        after, clean = found.prev_sample, getattr(found, "pred_original_sample", None)
    return after, clean if isinstance(clean, torch.Tensor) and clean.shape == after.shape else None
