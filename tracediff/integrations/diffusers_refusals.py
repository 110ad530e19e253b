"""Which pipelines cannot be recorded, said before anything is computed.

Knows what a pipeline that makes pictures has and is asked for. Must not know events.
"""

from __future__ import annotations

import inspect
from typing import Any, Final

import torch

from tracediff.errors import UsageError

COMPONENTS: Final = ("unet", "scheduler", "vae")
METHODS: Final = ("encode_prompt", "prepare_latents")
"""What a pipeline must have to be recorded."""

_FRAMES: Final = ("num_frames", "video", "video_length")
_SOUND: Final = ("audio_length_in_s", "num_waveforms_per_prompt")
"""Arguments that only a call for a film or for sound has."""

_PICTURES: Final = 4
"""Axes of a batch of latents: pictures, channels, height, width."""


def refuse_unknown(pipe: Any) -> None:
    """Raise UsageError for a pipeline that lacks a part, or makes no single pictures."""
    lacking = [name for name in COMPONENTS if getattr(pipe, name, None) is None]
    lacking += [name for name in METHODS if not callable(getattr(pipe, name, None))]
    if lacking:
        raise UsageError(
            f"record_pipeline needs a pipeline with {', '.join((*COMPONENTS, *METHODS))}; "
            f"{type(pipe).__name__} has no {' and no '.join(lacking)}: record its modules with "
            "record_module"
        )
    arguments = inspect.signature(type(pipe).__call__).parameters
    for made, names in (("a film", _FRAMES), ("sound", _SOUND)):
        asked = [name for name in names if name in arguments]
        if asked:
            raise _other_result(pipe, f"makes {made} (its call takes {asked[0]})")


def refuse_other_latents(pipe: Any, latents: Any) -> None:
    """Raise UsageError for first latents that are not those of a batch of pictures."""
    if not isinstance(latents, torch.Tensor):
        raise _other_result(pipe, f"starts from a {type(latents).__name__}")
    if latents.dim() != _PICTURES:
        raise _other_result(pipe, f"starts from latents of the shape {list(latents.shape)}")


def _other_result(pipe: Any, found: str) -> UsageError:
    return UsageError(
        "record_pipeline records pictures, from latents [pictures, channels, height, width]; "
        f"{type(pipe).__name__} {found}: record its modules with record_module"
    )
