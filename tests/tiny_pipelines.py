"""Stable Diffusion pipelines small enough for tests, made from configurations and seeds alone,
and recordings of them.

Imported by tests that have made sure that torch, diffusers and transformers are there.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import diffusers
import torch
import transformers
from PIL import Image

from tracediff.integrations.diffusers_pipeline import record_pipeline

Pipe = Any
Fault = Callable[[Pipe], None]
PROMPT = "red umbrella"
STEPS = 4
NOISE = {"beta_start": 0.00085, "beta_end": 0.012, "beta_schedule": "scaled_linear"}


def ddim(**changes: Any) -> Any:
    plain = {"clip_sample": False, "set_alpha_to_one": False, "steps_offset": 1}
    return diffusers.DDIMScheduler(**{**NOISE, **plain, **changes})


def build_pipeline(folder: Path, scheduler: Any = None, scaling_factor: float = 0.18215) -> Any:
    """Return a pipeline with random weights; its tokenizer's files go into `folder`."""
    torch.manual_seed(0)
    pipe = diffusers.StableDiffusionPipeline(
        vae=_vae(scaling_factor),
        text_encoder=_text_encoder(),
        tokenizer=_tokenizer(folder),
        unet=_unet(),
        scheduler=scheduler or ddim(),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    pipe.set_progress_bar_config(disable=True)
    return pipe


def build_variant(folder: Path, kind: Any, scheduler: Any = None) -> Any:
    """Return a pipeline of another class with the same components."""
    parts = build_pipeline(folder, scheduler).components
    pipe = kind(**parts, requires_safety_checker=False)
    pipe.set_progress_bar_config(disable=True)
    return pipe


def draw_picture(mode: str = "RGB") -> Any:
    """Return a picture of PIL of 32 by 32 pixels."""
    levels = torch.randint(0, 256, (32, 32, 3), generator=seeded(), dtype=torch.uint8)
    return Image.fromarray(levels.numpy()).convert(mode)


def seeded(seed: int = 7) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def nothing(pipe: Pipe) -> None:
    pass


def run(
    folder: Path,
    name: str,
    scheduler: Any = None,
    *,
    factor: float = 0.18215,
    before: Fault = nothing,
    inside: Fault = nothing,
    tensors: str = "sketch",
    threads: int = 1,
    kind: Any = None,
    **arguments: Any,
) -> Path:
    """Record a tiny pipeline; `before` changes it first, `inside` what happens around recording.

    `kind` is the class of another pipeline than the one from text to picture.
    """
    pipe = (
        build_pipeline(folder, scheduler, factor)
        if kind is None
        else build_variant(folder, kind, scheduler)
    )
    before(pipe)
    path = folder / f"{name}.jsonl"
    given = {"num_inference_steps": STEPS, "generator": seeded(), **arguments}
    # More threads only wait for each other on tensors as small as these.
    with using_threads(threads), record_pipeline(pipe, path, tensors=tensors):
        inside(pipe)
        pipe(PROMPT, **given)
    return path


@contextmanager
def using_threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def made(changes: dict[str, Any]) -> dict[str, Any]:
    """Return the changes with scheduler and generators made for one run."""
    found = dict(changes)
    if "scheduler" in found:
        found["scheduler"] = found["scheduler"]()
    if "generator" in found:
        seeds = found["generator"]
        found["generator"] = (
            [seeded(s) for s in seeds] if isinstance(seeds, list) else seeded(seeds)
        )
    return found


def _unet() -> Any:
    return diffusers.UNet2DConditionModel(
        block_out_channels=(32, 64),
        layers_per_block=1,
        sample_size=16,
        in_channels=4,
        out_channels=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=32,
        attention_head_dim=8,
        norm_num_groups=8,
    ).eval()


def _vae(scaling_factor: float) -> Any:
    return diffusers.AutoencoderKL(
        block_out_channels=[32, 64],
        in_channels=3,
        out_channels=3,
        down_block_types=["DownEncoderBlock2D"] * 2,
        up_block_types=["UpDecoderBlock2D"] * 2,
        latent_channels=4,
        norm_num_groups=8,
        scaling_factor=scaling_factor,
        sample_size=32,
    ).eval()


def _text_encoder() -> Any:
    config = transformers.CLIPTextConfig(
        bos_token_id=52,
        eos_token_id=53,
        pad_token_id=53,
        hidden_size=32,
        intermediate_size=37,
        num_attention_heads=4,
        num_hidden_layers=2,
        vocab_size=54,
        max_position_embeddings=16,
    )
    return transformers.CLIPTextModel(config).eval()


def _tokenizer(folder: Path) -> Any:
    """Return a tokenizer of single letters."""
    ends = ["<|startoftext|>", "<|endoftext|>"]
    pieces = [*ascii_lowercase, *(f"{letter}</w>" for letter in ascii_lowercase), *ends]
    vocabulary, merges = folder / "vocab.json", folder / "merges.txt"
    vocabulary.write_text(json.dumps({piece: index for index, piece in enumerate(pieces)}))
    merges.write_text("#version: 0.2\n")
    return transformers.CLIPTokenizer(str(vocabulary), str(merges), model_max_length=16)
