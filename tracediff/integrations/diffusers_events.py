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
from tracediff.integrations.diffusers_pictures import (
    as_tensor,
    describe_file,
    is_viewable,
    to_pixels,
)
from tracediff.integrations.diffusers_predictions import (
    Prediction,
    guidance_order,
    name_predictions,
    row_of,
    used_name,
)
from tracediff.integrations.diffusers_request import Request
from tracediff.integrations.diffusers_returned import RETURNED, read_returned
from tracediff.integrations.diffusers_schedule import (
    END,
    clean_name,
    listed_timesteps,
    step_result,
    step_state,
)
from tracediff.integrations.torch_parameters import identify_parameters
from tracediff.integrations.torch_tensors import record_tensor
from tracediff.recording.kernels import load_kernels
from tracediff.recording.recorder import Recorder
from tracediff.recording.scratch import Workspace
from tracediff.recording.tensor_records import Recordable

PNG_ENCODER = "png-stored-v1"
Noised = tuple[torch.Tensor, torch.Tensor]


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
        self._start = 0
        self._reached: float = END
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

    def shortened(self, count: int) -> None:
        """Note that the call visits only the last `count` timesteps of the scheduler's list."""
        self._start = max(len(listed_timesteps(self._pipe.scheduler)) - count, 0)

    def initialised(self, latents: torch.Tensor, noised: Noised | None) -> None:
        """Record the first latent of each picture, and what was drawn for it.

        `noised` are latents of pictures and the noise that was added to them, None for a first
        latent that is nothing but noise.
        """
        self._latents = latents
        timesteps = listed_timesteps(self._pipe.scheduler)[self._start :]
        draws = self._ledger.draws(len(latents), self._shape(latents))
        clean, noise = noised if noised is not None and len(noised[1]) == len(latents) else ((), ())
        for index in range(len(latents)):
            read = {"image_latent": row_of(clean, index)} if index < len(clean) else {}
            drawn = {"noise": row_of(noise, index)} if index < len(noise) else {}
            self._emit(
                index,
                "noise_generator",
                "latent.initialized",
                state={"timesteps": timesteps, "end_timestep": END},
                inputs=self._records(read),
                rng=draws[index],
                outputs={
                    **self._records(drawn),
                    **self._at(timesteps[0] if timesteps else END, latent=row_of(latents, index)),
                },
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
        state = step_state(scheduler, self._steps, self._start, timestep)
        self._reached = state["previous_timestep"]
        after, clean = step_result(found)
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
        """Record what the call returned, as it returned it, and its end."""
        returned = read_returned(result)
        is_latent = self._request.settings.get("output_type") == "latent"
        names = []
        for index, picture in enumerate(returned.pictures):
            if is_latent:
                self._return_latent(index, as_tensor(RETURNED, picture))
            else:
                self._return_picture(index, picture)
                names.append(f"image-{index}.png")
        choice = {"status": "FINISHED", "images": names, **returned.facts}
        self._complete(choice, self._records(returned.tensors))

    def _return_latent(self, index: int, latent: torch.Tensor) -> None:
        made = self._latents
        read = {"latent": row_of(made, index)} if made is not None and index < len(made) else {}
        self._emit(
            index,
            "pipeline",
            "latent.returned",
            inputs=self._at(self._reached, **read),
            outputs=self._at(self._reached, **{f"latent_{RETURNED}": latent}),
        )

    def _return_picture(self, index: int, picture: Any) -> None:
        made = self._pixels
        read = {"pixels": row_of(made, index)} if made is not None and index < len(made) else {}
        held = as_tensor(RETURNED, picture)
        pixels = to_pixels(picture) if is_viewable(held) else None
        is_exact = pixels is not None and held.dtype is torch.uint8
        # Of other numbers, 256 levels say too little: NaN is one of them, and so is all above 1.
        numbers = {} if is_exact else self._records({RETURNED: held})
        self._emit(
            index,
            "image_encoder",
            "image.encoded",
            artifacts={"png_encoder": PNG_ENCODER},
            inputs=self._records(read),
            outputs={**numbers, **({} if pixels is None else {"pixels_uint8": pixels})},
            choice={} if pixels is None else describe_file(pixels),
        )

    def fail(self, error: BaseException) -> None:
        """Record that the call ended by an exception."""
        self._complete({"status": "FAILED", "error": type(error).__name__})

    def _complete(
        self, choice: Mapping[str, Any], outputs: Mapping[str, Recordable] | None = None
    ) -> None:
        *others, final = self._last or [self._encoded]
        self._recorder.event(
            "transport",
            "response.completed",
            logical_step=self._steps,
            parent=final,
            joins=[event for event in others if event != final],
            outputs=outputs or None,
            choice=choice,
        )

    def _emit(self, picture: int, component: str, event_type: str, **sections: Any) -> None:
        # More pictures may be returned than were begun.
        self._last += [self._encoded] * (picture + 1 - len(self._last))
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
