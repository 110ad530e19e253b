"""What a diffusers pipeline returns is compared as it is returned, and no recording breaks it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch")
diffusers = pytest.importorskip("diffusers", reason="needs the extra diffusers")
pytest.importorskip("transformers", reason="needs the extra diffusers")

import numpy as np  # noqa: E402
from tiny_pipelines import (  # noqa: E402
    PROMPT,
    Pipe,
    build_pipeline,
    build_variant,
    draw_picture,
    run,
    seeded,
)

from tracediff.comparison import diff_files  # noqa: E402
from tracediff.contracts.check import check_trace  # noqa: E402
from tracediff.diff import Outcome  # noqa: E402
from tracediff.errors import UsageError  # noqa: E402
from tracediff.integrations import diffusers_events  # noqa: E402
from tracediff.integrations.diffusers_pipeline import record_pipeline  # noqa: E402
from tracediff.storage import read_trace  # noqa: E402

pytestmark = [
    pytest.mark.diffusers,
    pytest.mark.filterwarnings("ignore"),  # of other packages
]


Change = Callable[[Any], Any]


def returning(change: Change, *, flagged: bool = False) -> dict[str, Any]:
    """Return the arguments of a run that returns something else than the pictures it made."""

    def before(pipe: Pipe) -> None:
        found = pipe.image_processor.postprocess
        pipe.image_processor.postprocess = lambda *args, **kwargs: change(found(*args, **kwargs))
        pipe.run_safety_checker = lambda image, *_: (image, [flagged] * len(image))

    return {"before": before}


def numbers(value: float) -> dict[str, Any]:
    return {**returning(lambda found: found * 0 + value), "output_type": "np"}


def tensors(value: float) -> dict[str, Any]:
    return {**returning(lambda found: found * 0 + value), "output_type": "pt"}


def with_pixel(value: int) -> dict[str, Any]:
    def change(found: Any) -> Any:
        found[0].putpixel((3, 5), (value, 0, 0))
        return found

    return returning(change)


def with_palette(colour: int) -> dict[str, Any]:
    def change(_: Any) -> Any:
        picture = draw_picture("L").convert("P")
        picture.putpalette([colour] * 768)
        return [picture]

    return returning(change)


def with_levels(dtype: str, value: int) -> dict[str, Any]:
    return returning(lambda _: [np.full((8, 8), value, dtype)])


def clear_the_last_latent(pipe: Pipe, index: int, _: Any, held: dict[str, Any]) -> dict[str, Any]:
    """Set the latents to zero once nothing but the return reads them."""
    is_last = index == pipe.num_timesteps - 1
    return {"latents": held["latents"] * 0} if is_last else held


LATENT: dict[str, Any] = {"output_type": "latent"}
CLEARED: dict[str, Any] = {**LATENT, "callback_on_step_end": clear_the_last_latent}
IMAGE_TO_IMAGE: dict[str, Any] = {
    "kind": diffusers.StableDiffusionImg2ImgPipeline,
    "image": draw_picture(),
    "strength": 0.5,
}
INPAINTING: dict[str, Any] = {
    "kind": diffusers.StableDiffusionInpaintPipeline,
    **{"image": draw_picture(), "mask_image": draw_picture("L"), "strength": 1.0},
    **{"height": 32, "width": 32},
}

OTHERS: dict[str, tuple[dict[str, Any], dict[str, Any], str, str]] = {
    "latent": (LATENT, CLEARED, "latent.returned", "payload.outputs[latent_returned]"),
    "latent-in-a-tuple": (
        {**LATENT, "return_dict": False},
        {**CLEARED, "return_dict": False},
        *("latent.returned", "payload.outputs[latent_returned]"),
    ),
    "latent-of-image-to-image": (
        {**IMAGE_TO_IMAGE, **LATENT},
        {**IMAGE_TO_IMAGE, **CLEARED},
        *("latent.returned", "payload.outputs[latent_returned]"),
    ),
    "latent-of-inpainting": (
        {**INPAINTING, **LATENT},
        {**INPAINTING, **CLEARED},
        *("latent.returned", "payload.outputs[latent_returned]"),
    ),
    "numbers-that-are-none": (
        *(numbers(0.0), numbers(np.nan)),
        *("image.encoded", "payload.outputs[returned]"),
    ),
    "numbers-above-one": (
        *(numbers(1.0), numbers(2.0)),
        *("image.encoded", "payload.outputs[returned]"),
    ),
    "numbers-below-a-level": (
        *(numbers(0.5), numbers(0.501)),
        *("image.encoded", "payload.outputs[returned]"),
    ),
    "tensors-that-are-no-numbers": (
        *(tensors(0.0), tensors(np.nan)),
        *("image.encoded", "payload.outputs[returned]"),
    ),
    "tensors-above-one": (
        *(tensors(1.0), tensors(2.0)),
        *("image.encoded", "payload.outputs[returned]"),
    ),
    "one-pixel": (
        *(with_pixel(0), with_pixel(255)),
        *("image.encoded", "payload.outputs[pixels_uint8]"),
    ),
    "colours-of-a-palette": (
        *(with_palette(0), with_palette(90)),
        *("image.encoded", "payload.outputs[pixels_uint8]"),
    ),
    "sixteen-bits": (
        *(with_levels("uint16", 300), with_levels("uint16", 44)),
        *("image.encoded", "payload.outputs[returned]"),
    ),
    "flags": (
        *(returning(lambda _: [draw_picture()]),),
        *(returning(lambda _: [draw_picture()], flagged=True),),
        *("response.completed", "payload.choice.returned[1][0]"),
    ),
    "too-few": (
        {**returning(lambda found: found), "num_images_per_prompt": 2},
        {**returning(lambda found: found[:1]), "num_images_per_prompt": 2},
        *("image.encoded", "event"),
    ),
    "too-many": (
        *(returning(lambda found: found), returning(lambda found: found * 2)),
        *("image.encoded", "event"),
    ),
}


@pytest.mark.parametrize("case", OTHERS)
def test_another_result_is_found(case: str, tmp_path: Path) -> None:
    """Two calls that differ in nothing but what they return diverge at that."""
    left, right, event_type, field = OTHERS[case]
    found = diff_files(run(tmp_path, "a", **left), run(tmp_path, "b", **right))
    assert found.outcome is Outcome.DIVERGED
    assert found.first is not None
    place = found.first.left or found.first.right
    assert place is not None
    assert (place.event_type, found.first.difference.field) == (event_type, field)


@pytest.mark.parametrize("kind", ["pil", "np", "pt", "latent"])
def test_a_tuple_is_the_same_result(kind: str, tmp_path: Path) -> None:
    """With `return_dict=False` the same pictures are the same, and the contract holds."""
    paths = [
        run(tmp_path, name, output_type=kind, return_dict=name == "dict")
        for name in ("dict", "tuple")
    ]
    assert diff_files(*paths).outcome is Outcome.EQUAL
    assert [check_trace(read_trace(path)).violations for path in paths] == [(), ()]


class Sound(diffusers.StableDiffusionPipeline):  # type: ignore[misc, name-defined]
    """A pipeline that is asked for seconds."""

    def __call__(self, prompt: str, audio_length_in_s: float = 1.0) -> None:
        raise AssertionError("it was called")


class Frames(diffusers.StableDiffusionPipeline):  # type: ignore[misc, name-defined]
    """A pipeline that does not say so, but starts from latents with an axis of frames."""

    def prepare_latents(self, *args: Any, **kwargs: Any) -> Any:
        return super().prepare_latents(*args, **kwargs)[:, :, None]


def animate(folder: Path) -> Pipe:
    parts = build_pipeline(folder).components
    kept = {name: parts[name] for name in ("vae", "text_encoder", "tokenizer", "scheduler")}
    adapter = diffusers.MotionAdapter(
        block_out_channels=(8, 8),
        motion_layers_per_block=1,
        motion_norm_num_groups=2,
        motion_num_attention_heads=4,
    )
    unet = diffusers.UNet2DConditionModel(
        block_out_channels=(8, 8),
        layers_per_block=1,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=32,
        norm_num_groups=2,
    )
    return diffusers.AnimateDiffPipeline(unet=unet, motion_adapter=adapter, **kept)


REFUSED: dict[str, tuple[Callable[[Path], Pipe], str]] = {
    "film": (animate, r"AnimateDiffPipeline makes a film \(its call takes num_frames\)"),
    "sound": (
        lambda folder: build_variant(folder, Sound),
        r"Sound makes sound \(its call takes audio_length_in_s\)",
    ),
    "frames": (
        lambda folder: build_variant(folder, Frames),
        r"Frames starts from latents of the shape \[1, 4, 1, 16, 16\]",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_other_results_are_refused_before_anything_is_computed(case: str, tmp_path: Path) -> None:
    """A pipeline of films or sound is refused before its first step, with its name and why."""
    build, message = REFUSED[case]
    pipe = build(tmp_path)
    pipe.unet.register_forward_pre_hook(lambda *_: pytest.fail("a step was computed"))
    with pytest.raises(UsageError, match=message), record_pipeline(pipe, tmp_path / "a.jsonl"):
        pipe(PROMPT)
    assert not (tmp_path / "a.jsonl").exists()


def fail(*_: Any) -> Any:
    raise ZeroDivisionError("by zero")


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ("describe_file", r"could not be recorded, though .*ZeroDivisionError: by zero"),
        ("step_state", r"could not be recorded, though .*ZeroDivisionError: by zero"),
        (None, r"holds object as returned, which a trace cannot hold"),
    ],
)
def test_no_recording_ends_a_call(
    broken: str | None, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be recorded is told on leaving the block; the call has returned by then."""
    pipe = build_pipeline(tmp_path)
    if broken is None:
        returning(lambda _: [object()])["before"](pipe)
    else:
        monkeypatch.setattr(diffusers_events, broken, fail)
    found: list[Any] = []
    with pytest.raises(UsageError, match=message):
        record_into(found, pipe, tmp_path / "a.jsonl")
    assert len(found) == 1
    assert not (tmp_path / "a.jsonl").exists()


def record_into(found: list[Any], pipe: Pipe, path: Path) -> None:
    with record_pipeline(pipe, path):
        found += pipe(PROMPT, num_inference_steps=2, generator=seeded()).images
