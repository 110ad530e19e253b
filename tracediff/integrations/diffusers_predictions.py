"""What the UNet read and gave in a step, picture by picture, with the names of image-001.

Knows how a batch holds its pictures: once, or under guidance several times over. Must not know the
recorder or the order of events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch

from tracediff.integrations.diffusers_schedule import prediction_name, scales_input

ORDER: Final = ("negative", "positive")
Named = dict[str, torch.Tensor]


@dataclass(frozen=True, slots=True)
class Prediction:
    """One call of the UNet: the latents it read, the condition, what was added, and its output."""

    latents: torch.Tensor
    condition: torch.Tensor | None
    added: Mapping[str, Any]
    output: torch.Tensor


def name_predictions(
    scheduler: Any, predictions: Sequence[Prediction], picture: int, pictures: int
) -> tuple[Named, Named]:
    """Return what the UNet read and what it gave for one picture of a batch, by name.

    With several calls in a step, each name has the number of the call behind it.
    """
    read: Named = {}
    made: Named = {}
    for number, prediction in enumerate(predictions):
        suffix = f"[{number}]" if len(predictions) > 1 else ""
        read |= _read(scheduler, prediction, picture, pictures, suffix)
        name = prediction_name(scheduler) + suffix
        output = _rows(prediction.output, picture, pictures)
        made[name] = output
        if len(output) == len(ORDER):
            made |= {f"{name}_{part}": row_of(output, i) for i, part in enumerate(ORDER)}
    return read, made


def used_name(
    scheduler: Any, settings: Mapping[str, Any], made: Mapping[str, torch.Tensor], used: Any
) -> str | None:
    """Return what the prediction given to the scheduler is called, None if it is the UNet's own."""
    name = prediction_name(scheduler)
    own = made.get(name)
    if own is not None and len(own) == 1 and torch.equal(own, used):
        return None
    # With the deviation of another tensor, it is no longer what the formula of guidance gives.
    return f"{name}_rescaled" if settings.get("guidance_rescale") else f"{name}_guided"


def guidance_order(
    encoded: tuple[torch.Tensor, torch.Tensor] | None,
    predictions: Sequence[Prediction],
    picture: int,
    pictures: int,
) -> list[str] | None:
    """Return in which order the UNet got the negative and the positive condition.

    `encoded` are the two as they were made. None where the UNet did not get just these two.
    """
    if encoded is None or len(predictions) != 1 or predictions[0].condition is None:
        return None
    rows = _rows(predictions[0].condition, picture, pictures)
    halves = [row_of(half, picture % len(half)).to(rows) for half in encoded]
    for order in ((0, 1), (1, 0)):
        if torch.equal(rows, torch.cat([halves[index] for index in order])):
            return [ORDER[index] for index in order]
    return None


def row_of(batch: torch.Tensor, index: int) -> torch.Tensor:
    """Return one row of a batch as a batch of one."""
    return batch[index : index + 1]


def _read(
    scheduler: Any, prediction: Prediction, picture: int, pictures: int, suffix: str
) -> Named:
    read: Named = {}
    latents = _rows(prediction.latents, picture, pictures)
    if scales_input(scheduler):
        read[f"model_input{suffix}"] = latents
    elif len(latents) == len(ORDER):
        read[f"latent_batch{suffix}"] = latents
    if prediction.condition is not None:
        read[f"condition_batch{suffix}"] = _rows(prediction.condition, picture, pictures)
    for key, value in prediction.added.items():
        if isinstance(value, torch.Tensor):
            read[f"added.{key}{suffix}"] = _rows(value, picture, pictures)
    return read


def _rows(batch: torch.Tensor, picture: int, pictures: int) -> torch.Tensor:
    """Return all rows of one picture in a batch that holds the pictures several times over."""
    return batch[picture::pictures] if len(batch) % pictures == 0 else batch
