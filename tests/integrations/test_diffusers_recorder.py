"""Recording a diffusers pipeline: its contract, what is put back, and what is refused."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch")
diffusers = pytest.importorskip("diffusers", reason="needs the extra diffusers")
pytest.importorskip("transformers", reason="needs the extra diffusers")

from tiny_pipelines import (  # noqa: E402
    NOISE,
    PROMPT,
    STEPS,
    Pipe,
    build_pipeline,
    ddim,
    draw_picture,
    made,
    run,
    seeded,
)

from tracediff import Recorder  # noqa: E402
from tracediff.comparison import diff_files  # noqa: E402
from tracediff.contracts.check import check_trace  # noqa: E402
from tracediff.diff import Outcome  # noqa: E402
from tracediff.errors import IncompleteTrace, UsageError  # noqa: E402
from tracediff.integrations.diffusers_pipeline import record_pipeline  # noqa: E402
from tracediff.storage import read_trace  # noqa: E402

pytestmark = [
    pytest.mark.diffusers,
    pytest.mark.filterwarnings("ignore"),  # of other packages
]


SCHEDULERS: dict[str, tuple[Callable[[], Any], str]] = {
    "ddim": (ddim, "image"),
    "ddim-trailing": (lambda: ddim(timestep_spacing="trailing"), "image"),
    "ddim-velocity": (lambda: ddim(prediction_type="v_prediction"), "image"),
    "ddim-clipped": (lambda: ddim(clip_sample=True), "image"),
    "euler": (lambda: diffusers.EulerDiscreteScheduler(**NOISE), "image"),
    "dpm-solver": (lambda: diffusers.DPMSolverMultistepScheduler(**NOISE), "image"),
    "uni-pc": (lambda: diffusers.UniPCMultistepScheduler(**NOISE), "image"),
    "dpm-solver-sde": (
        lambda: diffusers.DPMSolverMultistepScheduler(**NOISE, algorithm_type="sde-dpmsolver++"),
        "image",
    ),
    "dpm-solver-single": (lambda: diffusers.DPMSolverSinglestepScheduler(**NOISE), "image"),
    "ddpm": (lambda: diffusers.DDPMScheduler(**NOISE), "image"),
    "euler-ancestral": (lambda: diffusers.EulerAncestralDiscreteScheduler(**NOISE), "image"),
    "pndm": (lambda: diffusers.PNDMScheduler(**NOISE), "image"),
    "pndm-without-warmup": (
        lambda: diffusers.PNDMScheduler(**NOISE, skip_prk_steps=True),
        "image",
    ),
    "heun": (lambda: diffusers.HeunDiscreteScheduler(**NOISE), "image"),
    "kdpm2": (lambda: diffusers.KDPM2DiscreteScheduler(**NOISE), "image"),
    "lcm": (lambda: diffusers.LCMScheduler(**NOISE), "image"),
    "tcd": (lambda: diffusers.TCDScheduler(**NOISE), "generic"),
}


@pytest.mark.parametrize("name", SCHEDULERS)
def test_contract_holds(name: str, tmp_path: Path) -> None:
    """A recording keeps the rules of its kind, whatever the scheduler."""
    build, kind = SCHEDULERS[name]
    trace = read_trace(run(tmp_path, "a", build(), tensors="values"))
    report = check_trace(trace)
    assert report.kind == kind
    assert report.violations == ()
    steps = [event for event in trace.events if event.event_type == "denoise.updated"]
    assert len(steps) >= STEPS
    if hasattr(build(), "sigmas") and kind == "image":
        assert [step.payload["state"]["sigma_index"] for step in steps] == [*range(len(steps))]


@pytest.mark.parametrize(
    ("name", "setting", "rule"),
    [
        ("heun", "repeats_timesteps", "timesteps-are-declared"),
        ("euler-ancestral", "draws_noise", "noise-follows-eta"),
    ],
)
def test_contract_is_relaxed_by_what_is_set(
    name: str, setting: str, rule: str, tmp_path: Path
) -> None:
    """Without the setting that says how a scheduler steps, its steps break a rule."""
    trace = read_trace(run(tmp_path, "a", SCHEDULERS[name][0]()))
    root = trace.root
    settings = {key: held for key, held in root.payload["settings"].items() if key != setting}
    changed = replace(root, payload={**root.payload, "settings": settings})
    report = check_trace(replace(trace, events=(changed, *trace.events[1:])))
    assert {found.rule for found in report.violations} == {rule}


@pytest.mark.parametrize("name", ["pndm", "heun", "lcm", "euler-ancestral"])
def test_another_scheduler_is_named(name: str, tmp_path: Path) -> None:
    """A scheduler of another kind of steps diverges from DDIM, and is named."""
    paths = run(tmp_path, "a"), run(tmp_path, "b", SCHEDULERS[name][0]())
    found = diff_files(*paths)
    assert found.outcome is Outcome.DIVERGED
    assert found.first is not None
    assert found.first.difference.field == "payload.artifacts.scheduler"


def test_a_call_without_pictures_is_compared(tmp_path: Path) -> None:
    """Recorders of kind generic hold a call for latents against one for pictures."""
    paths = [tmp_path / "pictures.jsonl", tmp_path / "latents.jsonl"]
    for path, kind in zip(paths, ("pil", "latent"), strict=True):
        pipe = build_pipeline(tmp_path)
        with Recorder(path, kind="generic") as recorder, record_pipeline(pipe, recorder):
            pipe(PROMPT, num_inference_steps=STEPS, generator=seeded(), output_type=kind)
    found = diff_files(*paths)
    assert found.first is not None
    assert found.first.left is not None
    assert found.first.left.event_type == "vae.decoded"


IMAGE_TO_IMAGE: dict[str, tuple[Callable[[], Any], list[int]]] = {
    "ddim": (ddim, [251, 1]),
    "euler": (lambda: diffusers.EulerDiscreteScheduler(**NOISE), [333, 0]),
    "dpm-solver": (lambda: diffusers.DPMSolverMultistepScheduler(**NOISE), [500, 250]),
    "pndm-without-warmup": (
        lambda: diffusers.PNDMScheduler(**NOISE, skip_prk_steps=True),
        [501, 251, 1],  # of 751, 501, 501, 251, 1: it begins at the second of the two
    ),
    "heun": (lambda: diffusers.HeunDiscreteScheduler(**NOISE), [333, 0, 0]),
}


@pytest.mark.parametrize("name", IMAGE_TO_IMAGE)
def test_a_call_that_begins_midway(name: str, tmp_path: Path) -> None:
    """With a strength of a half, steps lead to each other along the half that is visited."""
    build, visited = IMAGE_TO_IMAGE[name]
    kind = diffusers.StableDiffusionImg2ImgPipeline
    path = run(tmp_path, "a", build(), kind=kind, image=draw_picture(), strength=0.5)
    events = read_trace(path).events
    first = next(event for event in events if event.event_type == "latent.initialized")
    steps = [event for event in events if event.event_type == "denoise.updated"]
    taken = [step.payload["state"]["timestep"] for step in steps]
    assert taken == visited
    assert first.payload["state"]["timesteps"] == taken
    places = [timestep_of(event) for event in (first, *steps)]
    assert places == [*taken, -1]
    led_to = [step.payload["state"]["previous_timestep"] for step in steps]
    assert led_to == [*taken[1:], -1]


def timestep_of(event: Any) -> Any:
    """Return the timestep of the latent that an event made."""
    (record,) = (r for r in event.payload["outputs"] if r["name"] in ("latent", "latent_out"))
    return record["logical"]["timestep"]


def test_the_noise_of_an_image_is_recorded_itself(tmp_path: Path) -> None:
    """Of image to image, the picture's latent, the noise and what they gave are three tensors."""
    kind = diffusers.StableDiffusionImg2ImgPipeline
    traces = [
        read_trace(run(tmp_path, str(index), kind=kind, image=draw_picture(), strength=strength))
        for index, strength in enumerate((0.8, 0.5))
    ]
    made: list[dict[str, str]] = []
    for trace in traces:
        first = next(event for event in trace.events if event.event_type == "latent.initialized")
        records = [*first.payload["inputs"], *first.payload["outputs"]]
        made.append({record["name"]: record["digest"] for record in records})
    assert list(made[0]) == ["image_latent", "noise", "latent"]
    assert [made[0][name] == made[1][name] for name in made[0]] == [True, True, False]


def wrap_parts(pipe: Pipe) -> None:
    for name in ("unet", "vae", "text_encoder"):
        setattr(pipe, name, torch.compile(getattr(pipe, name), backend="eager"))


def compile_in_place(pipe: Pipe) -> None:
    pipe.unet.compile(backend="eager")


@pytest.mark.parametrize("change", [wrap_parts, compile_in_place])
def test_compiled_parts(change: Callable[[Pipe], None], tmp_path: Path) -> None:
    """What torch.compile wraps is recorded as what it wraps; that it does stands in the context."""
    plain, compiled = run(tmp_path, "a"), run(tmp_path, "b", before=change)
    found = diff_files(plain, compiled)
    assert found.outcome is Outcome.EQUAL
    names = read_trace(compiled).root.payload["context"]["compiled"]
    assert sorted(names) == (["text_encoder", "unet", "vae"] if change is wrap_parts else ["unet"])


CALLS: dict[str, tuple[dict[str, Any], str]] = {
    "two-pictures": ({"num_images_per_prompt": 2}, "image"),
    "a-generator-each": ({"num_images_per_prompt": 2, "generator": [1, 2]}, "image"),
    "noise-in-every-step": ({"eta": 1.0}, "image"),
    "noise-in-every-step-for-two": ({"eta": 1.0, "num_images_per_prompt": 2}, "image"),
    "without-guidance": ({"guidance_scale": 1.0}, "image"),
    "rescaled-guidance": ({"guidance_rescale": 0.7}, "image"),
    "negative-prompt": ({"negative_prompt": "rain"}, "image"),
    "numbers-for-pictures": ({"output_type": "np"}, "image"),
    "tensors-for-pictures": ({"output_type": "pt", "return_dict": False}, "image"),
    "latents-for-pictures": ({"output_type": "latent"}, "generic"),
}


@pytest.mark.parametrize("case", CALLS)
def test_contract_holds_for_a_call(case: str, tmp_path: Path) -> None:
    """A recording keeps the rules of its kind, however the pipeline is called."""
    arguments, kind = CALLS[case]
    report = check_trace(read_trace(run(tmp_path, "a", tensors="values=16384", **made(arguments))))
    assert report.kind == kind
    assert report.violations == ()


def test_two_prompts_in_a_batch(tmp_path: Path) -> None:
    """Each picture of a batch with several prompts has its own condition."""
    pipe, path = build_pipeline(tmp_path), tmp_path / "a.jsonl"
    with record_pipeline(pipe, path):
        pipe([PROMPT, "rain"], num_inference_steps=1, generator=seeded())
    trace = read_trace(path)
    assert check_trace(trace).violations == ()
    steps = [event for event in trace.events if event.event_type == "denoise.updated"]
    digests = {
        record["digest"]
        for step in steps
        for record in step.payload["inputs"]
        if record["name"] == "condition_batch"
    }
    assert len(digests) == 2


def test_a_generators_draws_are_shared_out(tmp_path: Path) -> None:
    """Two pictures of one generator have adjoining halves of its draw, of one word a normal."""
    events = read_trace(run(tmp_path, "a", num_images_per_prompt=2)).events
    draws = [e.payload["rng"][0] for e in events if e.event_type == "latent.initialized"]
    normals = 4 * 16 * 16
    assert [(int(d["counter_before"]), int(d["counter_after"])) for d in draws] == [
        (0, normals),
        (normals, 2 * normals),
    ]
    assert [draw["key"][0] for draw in draws] == [7, 7]


def test_a_recorder_of_the_callers_own(tmp_path: Path) -> None:
    """The caller's recorder can hold more than the pipeline, and the caller closes it."""
    pipe, path = build_pipeline(tmp_path), tmp_path / "a.jsonl"
    with Recorder(path, tensors="digest") as recorder:
        with record_pipeline(pipe, recorder, parameters=False):
            pipe(PROMPT, num_inference_steps=1, generator=seeded())
        recorder.event("mine", "picture.saved")
    assert read_trace(path).events[-1].component == "mine"


def test_everything_is_put_back(tmp_path: Path) -> None:
    """After the block, also one left by an exception, nothing of the recording is left behind."""
    pipe = build_pipeline(tmp_path)
    pipe.vae.decode = own = pipe.vae.decode
    before = kept(pipe)
    with pytest.raises(RuntimeError, match="stop"):
        record_until_stopped(pipe, tmp_path / "a.jsonl")
    assert kept(pipe) == before
    assert pipe.vae.decode is own


def record_until_stopped(pipe: Pipe, path: Path) -> None:
    before = kept(pipe)
    with record_pipeline(pipe, path):
        assert kept(pipe) != before
        pipe(PROMPT, num_inference_steps=2, callback_on_step_end=stop)


def kept(pipe: Pipe) -> list[Any]:
    parts = (pipe, pipe.scheduler, pipe.vae, pipe.unet, pipe.text_encoder)
    hooks = [len(part._forward_hooks) + len(part._forward_pre_hooks) for part in parts[2:]]
    watched = ("encode_prompt", "prepare_latents", "step", "decode")
    return [type(pipe), *hooks, *(vars(part).get(name) for part in parts for name in watched)]


def stop(*_: Any) -> dict[str, Any]:
    raise RuntimeError("stop")


def test_exception_leaves_a_readable_incomplete_trace(tmp_path: Path) -> None:
    """What was recorded before an exception can be read, and never counts as whole."""
    pipe, path = build_pipeline(tmp_path), tmp_path / "a.jsonl"
    with record_pipeline(pipe, path), pytest.raises(RuntimeError, match="stop"):
        pipe(PROMPT, num_inference_steps=2, callback_on_step_end=stop)
    assert not path.exists()
    lines = path.with_suffix(".jsonl.partial").read_text().splitlines()
    assert '"event_type":"denoise.updated"' in lines[-2]
    assert '"status":"FAILED"' in lines[-1]
    with pytest.raises(IncompleteTrace):
        read_trace(path.with_suffix(".jsonl.partial"))


def test_refusals_say_what_to_do(tmp_path: Path) -> None:
    """A pipeline of other parts, a second call and none at all are refused in one sentence."""
    pipe = build_pipeline(tmp_path)
    other = diffusers.DDPMPipeline(pipe.unet, pipe.scheduler)
    with (
        pytest.raises(UsageError, match=r"DDPMPipeline has no vae and no encode_prompt"),
        record_pipeline(other, tmp_path / "a.jsonl"),
    ):
        pass
    with (
        pytest.raises(UsageError, match="was not called"),
        record_pipeline(pipe, tmp_path / "a.jsonl"),
    ):
        pass
    with pytest.raises(UsageError, match="this is the second"):
        call_twice(pipe, tmp_path / "a.jsonl")


def call_twice(pipe: Pipe, path: Path) -> None:
    with record_pipeline(pipe, path):
        for _ in range(2):
            pipe(PROMPT, num_inference_steps=1)


EXAMPLE = """\
import torch

from tracediff.integrations.diffusers_pipeline import record_pipeline

with record_pipeline(pipe, "before.jsonl"):
    pipe("a red umbrella", num_inference_steps=4, generator=torch.Generator().manual_seed(7))
"""
"""The example of the documentation; `pipe` is any pipeline."""


def test_documented_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example writes a trace whose contract holds."""
    monkeypatch.chdir(tmp_path)
    pipe = build_pipeline(tmp_path)
    assert EXAMPLE in (Path(__file__).parents[2] / "docs" / "diffusers.md").read_text("utf-8")
    exec(compile(EXAMPLE, "example", "exec"), {"pipe": pipe})
    assert check_trace(read_trace(tmp_path / "before.jsonl")).violations == ()
