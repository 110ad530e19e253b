"""image-001: its events and their sections, its picture, and how it is reproduced."""

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from image_runs import finished_run, main_line, of_type, record_of, run, states, tensor_of
from PIL import Image

from tracediff.diff import diff_traces
from tracediff.engine.philox import PhiloxGenerator
from tracediff.workloads.definitions import data_folder
from tracediff.workloads.run import golden_path

ROOT = Path(__file__).parents[2]

LATENT = [1, 4, 64, 64]
PAIR = [2, 4, 64, 64]
CONDITION = [2, 12, 768]

# Source: section 7.7 of the fixture's definition.
EVENTS = [
    ("d00", "condition.encoded", 0),
    ("d01", "latent.initialized", 0),
    ("d02", "denoise.updated", 1),
    ("d03", "denoise.updated", 2),
    ("d04", "denoise.updated", 3),
    ("d05", "denoise.updated", 4),
    ("d06", "vae.decoded", 4),
    ("d07", "image.encoded", 4),
    ("d08", "response.completed", 4),
]
STEP_TENSORS = {
    "inputs": {"latent": LATENT, "latent_batch": PAIR, "condition_batch": CONDITION},
    "outputs": {
        "epsilon": PAIR,
        "epsilon_negative": LATENT,
        "epsilon_positive": LATENT,
        "epsilon_guided": LATENT,
        "predicted_z0": LATENT,
        "latent_out": LATENT,
    },
}
TENSORS = {
    "d00": {
        "outputs": {
            "unconditional_embedding": [1, 12, 768],
            "conditional_embedding": [1, 12, 768],
            "condition_batch": CONDITION,
        }
    },
    "d01": {"outputs": {"latent": LATENT}},
    **dict.fromkeys(("d02", "d03", "d04", "d05"), STEP_TENSORS),
    "d06": {
        "inputs": {"latent": LATENT},
        "outputs": {"latent_scaled": LATENT, "pixels": [1, 3, 512, 512]},
    },
    "d07": {
        "inputs": {"pixels": [1, 3, 512, 512]},
        "outputs": {"pixels_uint8": [1, 3, 512, 512]},
    },
    "d08": {},
}


def test_events() -> None:
    """The nine events, each caused by the one before."""
    events = main_line().events
    assert [(e.event_id, e.event_type, e.logical_step) for e in events] == EVENTS
    assert [e.parent_event_id for e in events] == [None, *(e.event_id for e in events[:-1])]


def test_tensors() -> None:
    """Every event holds the tensors of its row, in causal order, in their shapes."""
    for event in main_line().events:
        found = {
            section: {record["name"]: record["shape"] for record in event.payload[section]}
            for section in ("inputs", "outputs")
            if section in event.payload
        }
        assert found == TENSORS[event.event_id]
        for section, names in TENSORS[event.event_id].items():
            assert list(found[section]) == list(names)


def test_condition_state() -> None:
    """The ids are those of the tokenizer, padding for the empty prompt, negative first."""
    state = main_line().root.payload["state"]
    assert state["text_ids"] == [[1, 2, 3, 4, 5, 6, 7, 8, 9, 3, 10, 11]]
    assert state["negative_ids"] == [[0] * 12]
    assert state["guidance_order"] == ["negative", "positive"]


def test_artifacts() -> None:
    """The ids of section 7.6 stand in the root."""
    artifacts = main_line().root.payload["artifacts"]
    assert artifacts["text_encoder"] == "toy-text-encoder-v2"
    assert artifacts["denoiser"] == "toy-latent-denoiser-v3"
    assert artifacts["vae"] == "toy-vae-v1"
    assert artifacts["scheduler"] == "ddim-v1"


def test_ledger() -> None:
    """16,384 normals from 4,096 blocks fill the first latent; nothing is drawn afterwards."""
    (draw,) = main_line().events[1].payload["rng"]
    assert draw == {
        "generator": "noise",
        "algorithm": "Philox4x32-10",
        "key": [314159, 0],
        "counter_before": 0,
        "counter_after": 4096,
        "draws": {"count": 16384, "shape": LATENT},
        "transform": "box-muller-v1",
    }
    for event in of_type(main_line(), "denoise.updated"):
        (draw,) = event.payload["rng"]
        assert draw["draws"] == {"count": 0}
        assert (draw["counter_before"], draw["counter_after"]) == (4096, 4096)


def test_first_latent_is_filled_in_c_order() -> None:
    """The first latent is the stream of normals itself."""
    trace, _ = finished_run()
    latent = tensor_of(trace, trace.events[1], "latent")
    assert np.array_equal(latent.reshape(-1), PhiloxGenerator(314159).normals(16384))


def test_timesteps() -> None:
    """Each step has its timestep and the one it leads to; the alpha-bars chain."""
    assert main_line().events[1].payload["state"]["timesteps"] == [999, 749, 499, 249]
    assert states(main_line(), "timestep") == [999, 749, 499, 249]
    assert states(main_line(), "previous_timestep") == [749, 499, 249, -1]
    assert states(main_line(), "alpha_bar_previous") == [*states(main_line(), "alpha_bar")[1:], 1.0]


def test_batches_are_made_of_their_halves() -> None:
    """Negative first, in the condition, and in the prediction; the latent twice."""
    trace, _ = finished_run()
    root, step = trace.events[0], trace.events[2]
    condition = tensor_of(trace, root, "condition_batch")
    assert np.array_equal(condition[:1], tensor_of(trace, root, "unconditional_embedding"))
    assert np.array_equal(condition[1:], tensor_of(trace, root, "conditional_embedding"))
    epsilon = tensor_of(trace, step, "epsilon")
    assert np.array_equal(epsilon[:1], tensor_of(trace, step, "epsilon_negative"))
    assert np.array_equal(epsilon[1:], tensor_of(trace, step, "epsilon_positive"))
    latents = tensor_of(trace, step, "latent_batch")
    assert np.array_equal(latents[0], latents[1])
    assert np.array_equal(latents[:1], tensor_of(trace, step, "latent"))


def test_latents_stay_sane() -> None:
    """No latent grows beyond what a picture needs, and none collapses."""
    for event in of_type(main_line(), "denoise.updated"):
        for name in ("latent", "predicted_z0", "latent_out"):
            stats = record_of(event, name)["stats"]
            assert max(-stats["min"], stats["max"]) < 10
            assert 0.3 < stats["l2"] / 128 < 3  # 128 = sqrt(16384): the root mean square


def patch(pixels: np.ndarray[Any, Any], x: float, y: float) -> np.ndarray[Any, Any]:
    """Return the mean colour of a small square around a place (0 to 1)."""
    column, row = round(x * 512), round(y * 512)
    square = pixels[row - 6 : row + 6, column - 6 : column + 6].reshape(-1, 3)
    mean: np.ndarray[Any, Any] = square.mean(axis=0)
    return mean


def shown(file: bytes) -> np.ndarray[Any, Any]:
    with Image.open(io.BytesIO(file)) as image:
        return np.asarray(image)


def test_picture_shows_the_prompt() -> None:
    """A red umbrella on a brown bench, a warm lamp, a dark blue night."""
    _, result = finished_run()
    pixels = shown(result.attachments["png"])
    red, green, blue = patch(pixels, 0.48, 0.36)
    assert red > 180
    assert max(green, blue) < 90
    red, green, blue = patch(pixels, 0.40, 0.675)
    assert red > 80
    assert red > 1.2 * green > 1.2 * blue
    red, green, blue = patch(pixels, 0.2, 0.2)
    assert red > 150
    assert blue < 0.7 * red
    red, green, blue = patch(pixels, 0.75, 0.2)
    assert max(red, green) < 60
    assert blue > max(red, green)


def test_file_holds_the_recorded_pixels() -> None:
    """Pillow reads from the file the pixels that the trace records, and its digest is recorded."""
    from blake3 import blake3

    trace, result = finished_run()
    event = trace.events[7]
    file = result.attachments["png"]
    recorded = tensor_of(trace, event, "pixels_uint8")
    assert np.array_equal(shown(file), recorded[0].transpose(1, 2, 0))
    digest = f"b3:{blake3(file).hexdigest()[:32]}"
    assert event.payload["choice"] == {"png_digest": digest, "png_length": len(file)}


def test_runs_repeat_themselves() -> None:
    """Two runs record the same events."""
    assert run({}).events == main_line().events


@pytest.mark.parametrize("tensors", ["sketch", "full"])
@pytest.mark.parametrize("kernel", ["blas", "float64"])
def test_other_numeric_paths_agree_up_to_the_pixels(kernel: str, tensors: str) -> None:
    """Another path agrees within tolerance everywhere but in the bytes of the file."""
    left, right = main_line(tensors=tensors), main_line(kernel, tensors)
    assert (
        record_of(left.events[2], "epsilon")["digest"]
        != record_of(right.events[2], "epsilon")["digest"]
    )
    result = diff_traces(left, right)
    assert [(d.left.event_id if d.left else "", d.difference.field) for d in result.frontier] == [
        ("d07", "payload.choice.png_digest")
    ]
    assert result.downstream == {}


def test_golden_is_small_enough_for_git() -> None:
    """The golden stays below 200 kB and names no file of tensors."""
    content = golden_path("image-001").read_bytes()
    assert len(content) <= 200_000
    assert b".npy" not in content


def test_weights_are_rebuilt(tmp_path: Path) -> None:
    """The script beside the weights writes the very same file."""
    folder = data_folder("fixtures") / "image-001"
    rebuilt = tmp_path / "weights.safetensors"
    subprocess.run(
        [sys.executable, "-B", str(folder / "build_weights.py"), str(rebuilt)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )
    assert rebuilt.read_bytes() == (folder / "weights.safetensors").read_bytes()
