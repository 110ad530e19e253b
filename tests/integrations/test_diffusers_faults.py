"""Faults in a diffusers pipeline: the first divergence is at the right event, section and cause."""

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch")
diffusers = pytest.importorskip("diffusers", reason="needs the extra diffusers")
pytest.importorskip("transformers", reason="needs the extra diffusers")

from tiny_pipelines import Pipe, ddim, draw_picture, made, run  # noqa: E402

from tracediff.comparison import diff_files  # noqa: E402
from tracediff.diff import Outcome, TraceDiff  # noqa: E402

pytestmark = [
    pytest.mark.diffusers,
    pytest.mark.filterwarnings("ignore"),  # of other packages
]


def combine_the_other_way_round(pipe: Pipe) -> None:
    """Guide as positive + scale (negative - positive)."""
    outputs: list[Any] = []
    pipe.unet.register_forward_hook(lambda _, args, output: outputs.append(output[0]))
    step = pipe.scheduler.step

    def faulty(used: Any, *args: Any, **kwargs: Any) -> Any:
        negative, positive = outputs[-1].chunk(2)
        guided = positive + pipe.guidance_scale * (negative - positive)
        return step(guided, *args, **kwargs)

    # The pipeline reads off the signature what it may pass.
    faulty.__signature__ = step.__signature__  # type: ignore[attr-defined]
    pipe.scheduler.step = faulty


def exchange_conditions(pipe: Pipe) -> None:
    """Give the UNet the positive condition first."""
    encode = pipe.encode_prompt
    pipe.encode_prompt = lambda *args, **kwargs: encode(*args, **kwargs)[::-1]


def change_weight(pipe: Pipe) -> None:
    with torch.no_grad():
        pipe.unet.mid_block.attentions[0].proj_in.weight[3, 5] += 0.5


FAULTS: dict[str, tuple[dict[str, Any], str, dict[str, int] | None, str, str, str]] = {
    "timestep-spacing": (
        {"scheduler": lambda: ddim(timestep_spacing="trailing")},
        *("latent.initialized", {"image": 0}),
        *("state", "payload.state.timesteps[0]", "schedule"),
    ),
    "guidance-combined-the-other-way-round": (
        {"inside": combine_the_other_way_round},
        *("denoise.updated", {"image": 0}),
        *("outputs", "payload.outputs[epsilon_guided]", "guidance-order"),
    ),
    "guidance-conditions-exchanged-at-the-unet": (
        {"inside": exchange_conditions},
        *("denoise.updated", {"image": 0}),
        *("state", "payload.state.guidance_order[0]", "guidance-order"),
    ),
    "guidance-conditions-exchanged-by-the-encoder": (
        {"before": exchange_conditions},
        *("condition.encoded", None),
        *("outputs", "payload.outputs[unconditional_embedding]", "guidance-order"),
    ),
    "vae-factor": (
        {"factor": 0.13025},
        *("vae.decoded", {"image": 0}),
        *("outputs", "payload.outputs[latent_scaled]", "constant-factor"),
    ),
    "prediction-type": (
        {"scheduler": lambda: ddim(prediction_type="v_prediction")},
        *("denoise.updated", {"image": 0}),
        *("state", "payload.state.prediction_type", "prediction-type"),
    ),
    "guidance-scale": (
        {"guidance_scale": 7.0},
        *("denoise.updated", {"image": 0}),
        *("outputs", "payload.outputs[epsilon_guided]", "guidance-scale"),
    ),
    "seed": (
        {"generator": 8},
        *("latent.initialized", {"image": 0}),
        *("rng", "payload.rng[0].key[0]", "seed"),
    ),
    "generator-for-each-picture": (
        {"num_images_per_prompt": 2, "generator": [7, 8]},
        *("latent.initialized", {"image": 1}),
        *("rng", "payload.rng[0].counter_before", "rng-counter"),
    ),
    "one-weight": (
        {"before": change_weight},
        *("module.loaded", None),
        *("artifacts", "payload.artifacts.unet.mid_block.attentions.0.proj_in.weight"),
        "artifact-changed",
    ),
}


@pytest.fixture(scope="module")
def goldens(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Recordings of a batch of one and of two, by its size."""
    folder = tmp_path_factory.mktemp("golden")
    return {size: run(folder, f"{size}", num_images_per_prompt=size) for size in (1, 2)}


def diverged(found: TraceDiff) -> tuple[str, Any, str, str, str]:
    assert found.outcome is Outcome.DIVERGED
    first = found.first
    assert first is not None
    assert first.left is not None
    assert found.cause is not None
    place = first.left
    return (
        place.event_type,
        place.lane,
        first.check,
        first.difference.field,
        found.cause.kind,
    )


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_named(fault: str, goldens: dict[int, Path], tmp_path: Path) -> None:
    """The first divergence of a fault is at its event, picture, section, field and cause."""
    changes, *expected = FAULTS[fault]
    golden = goldens[changes.get("num_images_per_prompt", 1)]
    found = diff_files(golden, run(tmp_path, "faulty", **made(changes)))
    assert diverged(found) == tuple(expected)


TRIGGERS = {
    "timestep-spacing": "payload.settings.scheduler.timestep_spacing",
    "vae-factor": "payload.settings.vae_scaling_factor",
    "prediction-type": "payload.settings.prediction_type",
    "guidance-scale": "payload.settings.guidance_scale",
    "generator-for-each-picture": "payload.settings.generator_mode",
}


@pytest.mark.parametrize("fault", TRIGGERS)
def test_setting_is_the_trigger(fault: str, goldens: dict[int, Path], tmp_path: Path) -> None:
    """A fault that somebody set stands beside the divergence as its trigger."""
    changes = FAULTS[fault][0]
    golden = goldens[changes.get("num_images_per_prompt", 1)]
    found = diff_files(golden, run(tmp_path, "faulty", **made(changes)))
    assert TRIGGERS[fault] in [one.field for one in found.triggers]


def test_two_runs_are_equal(goldens: dict[int, Path], tmp_path: Path) -> None:
    """The same pipeline, prompt and seed give the same file, byte for byte."""
    again = run(tmp_path, "again", num_images_per_prompt=2)
    assert again.read_bytes() == goldens[2].read_bytes()


def test_two_threads_are_within_tolerance(goldens: dict[int, Path], tmp_path: Path) -> None:
    """Another number of threads is no divergence, and drifts evenly."""
    found = diff_files(goldens[1], run(tmp_path, "threads", threads=2))
    assert found.outcome in (Outcome.EQUAL, Outcome.WITHIN_TOLERANCE)


WORDS: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "negative-prompt": (
        {"negative_prompt": "cat"},
        *("payload.state.negative_ids", "input-changed", "another text: negative_prompt differs"),
    ),
    "without-guidance": (
        {"guidance_scale": 1.0},
        *("payload.state", "guidance-scale", "only left is guided"),
    ),
    "rescaled": (
        {"guidance_rescale": 0.7},
        *("payload.outputs", "guidance-scale", "only right rescales what guidance gave"),
    ),
    "drawn-from-before": (
        {"generator": "used"},
        *("payload.rng[0].key[1]", "rng-counter", "the seed agrees"),
    ),
}


@pytest.mark.parametrize("case", WORDS)
def test_what_the_call_changed_is_told(case: str, goldens: dict[int, Path], tmp_path: Path) -> None:
    """Another call is explained by what is other in it, and not by what one might suspect."""
    changes, field, kind, text = WORDS[case]
    if changes.get("generator") == "used":
        used = torch.Generator().manual_seed(7)
        torch.rand(3, generator=used)
        changes = {"generator": used}
    found = diff_files(goldens[1], run(tmp_path, "other", **changes))
    assert found.first is not None
    assert found.cause is not None
    assert found.first.difference.field.startswith(field)
    assert (found.cause.kind, text in found.cause.explanation) == (kind, True)


def stop_guiding(pipe: Pipe, index: int, _: Any, held: dict[str, Any]) -> dict[str, Any]:
    """Go on without the negative condition after the first step."""
    if index == 0:
        pipe._guidance_scale = 0.0
        return {"prompt_embeds": held["prompt_embeds"].chunk(2)[-1]}
    return held


def weaken_conditions(_: Pipe, index: int, __: Any, held: dict[str, Any]) -> dict[str, Any]:
    return {"prompt_embeds": held["prompt_embeds"] * 0.9} if index == 0 else held


def calling(callback: Any) -> dict[str, Any]:
    return {
        "callback_on_step_end": callback,
        "callback_on_step_end_tensor_inputs": ["prompt_embeds"],
    }


def start_from_image(strength: float) -> dict[str, Any]:
    kind = diffusers.StableDiffusionImg2ImgPipeline
    return {"kind": kind, "image": draw_picture(), "strength": strength}


PAIRS: dict[str, tuple[dict[str, Any], dict[str, Any], str, str, str]] = {
    "guidance-stopped-by-a-callback": (
        *({}, calling(stop_guiding)),
        *("payload.state.guidance_order", "guidance-scale"),
        "in this step only left is guided: right has no negative half",
    ),
    "guidance-stopped-on-the-left": (
        *(calling(stop_guiding), {}),
        *("payload.state.guidance_order", "guidance-scale"),
        "in this step only right is guided: left has no negative half",
    ),
    "conditions-changed-by-a-callback": (
        *({}, calling(weaken_conditions)),
        *("payload.state.guidance_order", "input-changed"),
        "in this step the network on the right got conditions that were not encoded",
    ),
    "thresholding": (
        *({}, {"scheduler": lambda: ddim(thresholding=True)}),
        *("payload.outputs[predicted_z0]", "clipping"),
        "only right clips the predicted clean latent",
    ),
    "thresholding-on-the-left": (
        *({"scheduler": lambda: ddim(thresholding=True)}, {}),
        *("payload.outputs[clipped_z0]", "clipping"),
        "only left clips the predicted clean latent",
    ),
    "strength": (
        *(start_from_image(0.8), start_from_image(0.5)),
        *("payload.state.timesteps[0]", "schedule", "timesteps differs"),
    ),
}


@pytest.mark.parametrize("case", PAIRS)
def test_what_one_side_did_is_told(case: str, tmp_path: Path) -> None:
    """What one of two calls did otherwise is its cause, not the name of what is lacking."""
    left, right, field, kind, text = PAIRS[case]
    found = diff_files(run(tmp_path, "a", **made(left)), run(tmp_path, "b", **made(right)))
    assert found.first is not None
    assert found.cause is not None
    assert found.first.difference.field == field
    assert (found.cause.kind, found.cause.explanation) == (kind, text)


def test_thresholding_is_the_trigger(goldens: dict[int, Path], tmp_path: Path) -> None:
    """The setting that clips stands beside the divergence, and in the evidence of its cause."""
    found = diff_files(goldens[1], run(tmp_path, "b", ddim(thresholding=True)))
    field = "payload.settings.scheduler.thresholding"
    assert field in [one.field for one in found.triggers]
    assert found.cause is not None
    assert found.cause.evidence[field] == {"left": False, "right": True}
