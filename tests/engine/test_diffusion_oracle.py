"""Text encoder, denoiser and VAE against a second implementation of them.

The second implementation is plain float64 numpy, written from the definition of the architecture:
convolution as a sum of shifted pictures, attention one pixel's head at a time, no shared code with
the engine. It reads the weights file itself.
"""

import json
import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

from tracediff.engine.denoiser import predict
from tracediff.engine.kernels import find_kernel
from tracediff.engine.philox import PhiloxGenerator
from tracediff.engine.text_encoder import encode_text
from tracediff.engine.vae import decode
from tracediff.workloads.definitions import data_folder, read_definition
from tracediff.workloads.image_model import ImageModel, build_image_model

FOLDER = data_folder("fixtures") / "image-001"
CONTENT = json.loads((FOLDER / "fixture.json").read_bytes())
KERNELS = ["ordered", "blas", "float64"]

Array = np.ndarray[Any, Any]


@cache
def weights() -> dict[str, Array]:
    """Read a safetensors file by its format: length of the header, JSON header, raw numbers."""
    content = (FOLDER / "weights.safetensors").read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    header.pop("__metadata__", None)
    found = {}
    for name, entry in header.items():
        assert entry["dtype"] == "F32"
        begin, end = (start + offset for offset in entry["data_offsets"])
        numbers = np.frombuffer(content[begin:end], "<f4")
        found[name] = numbers.reshape(entry["shape"]).astype(np.float64)
    return found


def swish(x: Array) -> Array:
    result: Array = x / (1 + np.exp(-np.clip(x, -700, None)))
    return result


def root_mean_square(x: Array, axis: int) -> Array:
    result: Array = np.sqrt(np.mean(x**2, axis=axis, keepdims=True) + 1e-6)
    return result


def softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    result: Array = powers / powers.sum(axis=-1, keepdims=True)
    return result


def encode_by_definition(ids: Sequence[int]) -> Array:
    w = {name.removeprefix("text_encoder."): x for name, x in weights().items()}
    rows = w["embedding"][list(ids)] + w["position"]
    for layer in range(CONTENT["text_encoder"]["layers"]):
        part = {name: w[f"layers.{layer}.{name}"] for name in PARTS}
        normed = rows / root_mean_square(rows, 1) * part["attention_norm"]
        heads = CONTENT["text_encoder"]["heads"]
        q, k, v = (
            np.split(normed @ part[name].T, heads, axis=1) for name in ("query", "key", "value")
        )
        mixed = [softmax(q[h] @ k[h].T / math.sqrt(q[h].shape[1])) @ v[h] for h in range(heads)]
        rows = rows + np.hstack(mixed) @ part["attention_output"].T
        normed = rows / root_mean_square(rows, 1) * part["mlp_norm"]
        rows = rows + swish(normed @ part["up"].T) @ part["down"].T
    result: Array = (rows / root_mean_square(rows, 1) * w["final_norm"]) @ w["projection"].T
    return result[None]


PARTS = (
    *("attention_norm", "query", "key", "value", "attention_output"),
    *("mlp_norm", "up", "down"),
)


def filter_picture(x: Array, name: str) -> Array:
    """Convolve [channels, height, width] by adding shifted pictures."""
    weight, bias = weights()[f"{name}.weight"], weights()[f"{name}.bias"]
    _, height, width = x.shape
    bordered = np.pad(x, ((0, 0), (1, 1), (1, 1)))
    total = np.zeros((len(weight), height, width)) + bias[:, None, None]
    for dy in range(3):
        for dx in range(3):
            shifted = bordered[:, dy : dy + height, dx : dx + width]
            total += np.einsum("oi,iyx->oyx", weight[:, :, dy, dx], shifted)
    return total


def pass_block(x: Array, name: str, shift: Array | None) -> Array:
    w = weights()
    gain = w[f"{name}.first_norm"][:, None, None]
    hidden = filter_picture(swish(x / root_mean_square(x, 0) * gain), f"{name}.first")
    if shift is not None:
        hidden = hidden + shift[:, None, None]
    gain = w[f"{name}.second_norm"][:, None, None]
    normed = hidden / root_mean_square(hidden, 0) * gain
    return x + filter_picture(swish(normed), f"{name}.second")


def double(x: Array) -> Array:
    result: Array = np.kron(x, np.ones((1, 2, 2)))
    return result


def attend(x: Array, condition: Array) -> Array:
    w = {name.removeprefix("denoiser.attention."): value for name, value in weights().items()}
    normed = x / root_mean_square(x, 0) * w["norm"][:, None, None]
    queries = np.einsum("dc,cyx->dyx", w["query"], normed) + w["position"]
    keys, values = condition @ w["key"].T, condition @ w["value"].T  # [words, heads * size]
    size = CONTENT["denoiser"]["head_size"]
    mixed = np.zeros_like(queries)
    for head in range(CONTENT["denoiser"]["heads"]):
        own = slice(head * size, (head + 1) * size)
        scores = np.einsum("dyx,wd->yxw", queries[own], keys[:, own]) / math.sqrt(size)
        mixed[own] = np.einsum("yxw,wd->dyx", softmax(scores), values[:, own])
    return x + np.einsum("cd,dyx->cyx", w["output"], mixed)


def predict_by_definition(latent: Array, timestep: int, condition: Array) -> Array:
    """Return the prediction for one latent [4, height, width]."""
    w = weights()
    features = CONTENT["denoiser"]["time_features"]
    angles = [timestep / 10_000 ** (2 * i / features) for i in range(features // 2)]
    waves = np.array([*map(math.sin, angles), *map(math.cos, angles)])
    time = swish(w["denoiser.time.weight"] @ waves + w["denoiser.time.bias"])
    shift = {
        name: w[f"denoiser.{name}.time_shift"] @ time
        for name in ("block_in", "middle", "block_out")
    }
    hidden = filter_picture(latent, "denoiser.convolution_in")
    hidden = pass_block(hidden, "denoiser.block_in", shift["block_in"])
    channels, height, width = hidden.shape
    coarse = hidden.reshape(channels, height // 4, 4, width // 4, 4).mean(axis=(2, 4))
    coarse = pass_block(coarse, "denoiser.middle", shift["middle"])
    coarse = filter_picture(double(coarse), "denoiser.up.0")
    hidden = hidden + filter_picture(double(coarse), "denoiser.up.1")
    hidden = attend(hidden, condition)
    hidden = pass_block(hidden, "denoiser.block_out", shift["block_out"])
    gate = w["denoiser.gate.weight"] @ time + w["denoiser.gate.bias"]
    return latent + filter_picture(hidden * gate[:, None, None], "denoiser.convolution_out")


def decode_by_definition(scaled: Array) -> Array:
    hidden = filter_picture(scaled, "vae.convolution_in")
    hidden = pass_block(hidden, "vae.block", None)
    for index in range(3):
        hidden = filter_picture(double(hidden), f"vae.up.{index}")
    return filter_picture(swish(filter_picture(hidden, "vae.hidden")), "vae.convolution_out")


@cache
def model(kernel: str) -> ImageModel:
    return build_image_model(read_definition(FOLDER), find_kernel(kernel))


def draw(seed: int, *shape: int) -> Array:
    return PhiloxGenerator(seed).normals(math.prod(shape)).reshape(shape)


def relative(found: Array, expected: Array) -> float:
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


# Relative L2 distance to the oracle: the float32 paths round some hundred times on the way, the
# float64 path agrees but for the last digits.
FARTHEST = {"ordered": 2e-6, "blas": 2e-6, "float64": 1e-13}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    "ids",
    [
        pytest.param([1, 2, 3, 4, 5, 6, 7, 8, 9, 3, 10, 11], id="prompt"),
        pytest.param([0] * 12, id="padding"),
        pytest.param([*range(12, 24)], id="other-words"),
    ],
)
def test_text_encoder(ids: list[int], kernel: str) -> None:
    """The embedding of twelve words."""
    found = encode_text(model(kernel).text_encoder, ids)
    assert found.shape == (1, 12, 768)
    assert relative(found, encode_by_definition(ids)) < FARTHEST[kernel]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("timestep", [999, 500, 30, 0])
def test_denoiser(timestep: int, kernel: str) -> None:
    """The prediction of a batch of two with two conditions, each on its own."""
    path = find_kernel(kernel)
    latent, condition = draw(7, 2, 4, 64, 64), draw(8, 2, 12, 768)
    found = predict(model(kernel).denoiser, path.load(latent), timestep, path.load(condition))
    assert found.dtype == path.dtype
    for image in range(2):
        expected = predict_by_definition(latent[image], timestep, condition[image])
        assert relative(found[image], expected) < FARTHEST[kernel]
        # What the network adds, which at 999 is a hundredth of the whole.
        change = relative(found[image] - latent[image], expected - latent[image])
        assert change < 100 * FARTHEST[kernel]


@pytest.mark.parametrize("kernel", KERNELS)
def test_vae(kernel: str) -> None:
    """The picture of a latent, here a smaller one, eight times as large."""
    path = find_kernel(kernel)
    scaled = draw(9, 1, 4, 16, 24) * np.float32(5.0)
    found = decode(model(kernel).vae, path.load(scaled))
    assert found.shape == (1, 3, 128, 192)
    assert relative(found[0], decode_by_definition(scaled[0])) < FARTHEST[kernel]


def test_gates_make_predictions_consistent() -> None:
    """At every hundredth timestep, the clean latent that a prediction implies keeps its size."""
    bars = model("float64").schedule.alpha_bars()
    latent, condition = draw(7, 4, 64, 64), draw(8, 12, 768)
    sizes = []
    for timestep in range(99, 1000, 100):
        noise, signal = math.sqrt(1 - bars[timestep]), math.sqrt(bars[timestep])
        predicted = predict_by_definition(latent, timestep, condition)
        clean = (latent - noise * predicted) / signal
        sizes.append(float(np.sqrt(np.mean(clean**2))))
    assert max(sizes) < 1.0
    assert max(sizes) - min(sizes) < 0.1
