"""The whole decoder against a second implementation of it, at every tensor that text-001 records.

The second implementation is plain float64 numpy, written from the definition of the architecture:
it recomputes everything from the ids for each step, without cache, heads one by one, rotary
positions as complex numbers. It shares no code with the engine and reads the weights file itself.
"""

import json
import math
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

from tracediff.engine.decoder import Decoder, build_decoder, forward
from tracediff.engine.kernels import find_kernel
from tracediff.workloads.definitions import data_folder, read_definition
from tracediff.workloads.run import run_fixture
from tracediff.workloads.text_model import decoder_config

FOLDER = data_folder("fixtures") / "text-001"
SHAPE = json.loads((FOLDER / "fixture.json").read_bytes())["model"]

# Source: chapter 7.3 A and 7.4 of the fixture's definition.
PROMPT = [1, 2, 7, 3, 4, 8, 9, 10, 11, 12, 5, 6]
ANSWER = [14, 15, 16, 17]

# kernel -> (rtol, atol). The float32 paths round after every operation: they get the default
# float32 rtol of the format (1.3e-6) and less than a third of its atol (1e-5); measured are
# 7.7e-7 (ordered) and 1.3e-6 (blas) absolute. The float64 path rounds once, when it is recorded:
# half a unit in the last place is 2^-24 = 5.96e-8.
TOLERANCES = {"ordered": (1.3e-6, 3e-6), "blas": (1.3e-6, 3e-6), "float64": (6.0e-8, 1e-13)}

Array = np.ndarray[Any, Any]


def read_weights() -> dict[str, Array]:
    """Read a safetensors file by its format: length of the header, JSON header, raw numbers."""
    content = (FOLDER / "weights.safetensors").read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    header.pop("__metadata__", None)
    assert {entry["dtype"] for entry in header.values()} == {"F32"}
    found = {}
    for name, entry in header.items():
        begin, end = (start + offset for offset in entry["data_offsets"])
        numbers = np.frombuffer(content[begin:end], "<f4")
        found[name] = numbers.reshape(entry["shape"]).astype(np.float64)
    return found


def normalise(rows: Array, gain: Array) -> Array:
    root: Array = np.sqrt(np.mean(np.square(rows), axis=1) + SHAPE["norm_epsilon"])
    return rows / root[:, None] * gain


def turn(rows: Array, positions: Array) -> Array:
    """Turn the complex numbers (element i, element i + half) by position / base^(2i / size)."""
    half = SHAPE["head_size"] // 2
    angle = [SHAPE["rotary_base"] ** (-2 * i / SHAPE["head_size"]) for i in range(half)]
    turned = (rows[:, :half] + 1j * rows[:, half:]) * np.exp(1j * np.outer(positions, angle))
    result: Array = np.hstack([turned.real, turned.imag])
    return result


def heads_of(rows: Array, matrix: Array, count: int) -> list[Array]:
    return np.split(np.einsum("pi,oi->po", rows, matrix), count, axis=1)


def run_layer(rows: Array, weights: Mapping[str, Array], layer: int) -> Iterator[tuple[str, Array]]:
    """Yield the layer's results [heads, positions, size] or [positions, width] by name."""
    part = {
        name.removeprefix(f"layers.{layer}."): w
        for name, w in weights.items()
        if name.startswith(f"layers.{layer}.")
    }
    count, positions = len(rows), np.arange(len(rows))
    yield "residual_in", rows
    normed = normalise(rows, part["attention_norm"])
    queries = heads_of(normed, part["query"], SHAPE["query_heads"])
    queries = [turn(head, positions) for head in queries]
    keys = heads_of(normed, part["key"], SHAPE["key_value_heads"])
    keys = [turn(head, positions) for head in keys]
    values = heads_of(normed, part["value"], SHAPE["key_value_heads"])
    yield from (("query", np.array(queries)), ("key", np.array(keys)), ("value", np.array(values)))
    group = SHAPE["query_heads"] // SHAPE["key_value_heads"]
    scores, mixed = np.full((SHAPE["query_heads"], count, count), -np.inf), []
    for head, query in enumerate(queries):
        rows_of_head = []
        for i in range(count):
            score = keys[head // group][: i + 1] @ query[i] / math.sqrt(SHAPE["head_size"])
            scores[head, i, : i + 1] = score
            share = np.exp(score) / np.exp(score).sum()
            rows_of_head.append(share @ values[head // group][: i + 1])
        mixed.append(np.array(rows_of_head))
    yield "score", scores
    middle = rows + np.hstack(mixed) @ part["attention_output"].T
    normed = normalise(middle, part["mlp_norm"])
    gate = normed @ part["gate"].T
    gated = gate / (1 + np.exp(-gate)) * (normed @ part["up"].T)
    yield "residual_out", middle + gated @ part["down"].T


@cache
def run_oracle(length: int) -> dict[str, Array]:
    """Return every result for the first `length` ids, for all positions, in float64."""
    weights = read_weights()
    rows = weights["embedding"][[*PROMPT, *ANSWER][:length]]
    found = {"embedding": rows[None]}
    for layer in range(SHAPE["layers"]):
        for name, result in run_layer(rows, weights, layer):
            found[f"layer.{layer}.{name}"] = result[None]
        rows = found[f"layer.{layer}.residual_out"][0]
    hidden = normalise(rows, weights["final_norm"])
    found["final_hidden"] = hidden[None]
    found["next_logits"] = hidden[-1:] @ weights["unembedding"].T
    return found


def expected_tensor(name: str, length: int, new: int) -> Array:
    """Return what a pass over the last `new` of `length` positions records under `name`."""
    found = run_oracle(length)
    if ".cache." in name:
        return found[name.replace(".cache.", ".")]
    if name == "next_logits":
        return found[name]
    axis = found[name].ndim - 2
    return np.take(found[name], range(length - new, length), axis=axis)


def recorded_passes(kernel: str) -> list[dict[str, Array]]:
    """Return the tensors of prefill and of each decode step, as recorded."""
    trace = run_fixture("text-001", kernel=kernel, tensors="values=4096")
    return [
        {
            # As float32, for the printed form is the shortest one that gives these bits.
            record["name"]: np.array(record["values"], np.float32).reshape(record["shape"])
            for record in event.payload["outputs"]
        }
        for event in trace.events
        if event.event_type in ("prefill.completed", "decode.completed")
    ]


@pytest.mark.parametrize("kernel", TOLERANCES)
def test_every_recorded_tensor_agrees(kernel: str) -> None:
    """All tensors of prefill and of the four decode steps agree with the second implementation."""
    rtol, atol = TOLERANCES[kernel]
    passes = recorded_passes(kernel)
    assert len(passes) == 1 + len(ANSWER)
    for step, tensors in enumerate(passes):
        length, new = len(PROMPT) + step, 1 if step else len(PROMPT)
        computed = {name for name in run_oracle(length) if name in tensors}
        assert computed == set(run_oracle(length))
        assert len(tensors) == len(computed) + 2 * SHAPE["layers"]  # and the caches
        for name, found in tensors.items():
            expected = expected_tensor(name, length, new)
            assert found.shape == expected.shape, name
            np.testing.assert_allclose(
                found, expected, rtol=rtol, atol=atol, err_msg=f"step {step}: {name}"
            )


@cache
def prompt_decoder() -> tuple[Decoder, dict[str, Array]]:
    definition = read_definition(FOLDER)
    weights = definition.weights
    return build_decoder(decoder_config(definition), weights, find_kernel("ordered")), weights


def next_logits(weights: Mapping[str, Array]) -> bytes:
    """Return the bits of the logits after the prompt, from a decoder built from `weights`."""
    decoder = build_decoder(prompt_decoder()[0].config, weights, find_kernel("ordered"))
    return forward(decoder, PROMPT, decoder.empty_caches()).next_logits.tobytes()


# Tokens that the prompt does not contain: nothing reads their embedding before they are chosen.
ABSENT_TOKENS = [0, 13, 14, 15, 16, 17, 18, 19]


def is_read(name: str, index: tuple[int, ...]) -> bool:
    """Return whether the prompt's forward pass reads this weight at all."""
    return name != "embedding" or index[0] not in ABSENT_TOKENS


@pytest.mark.parametrize("name", sorted(read_weights()))
def test_every_weight_moves_the_first_logits(name: str) -> None:
    """Changing any single weight moves e04's logits, but for embeddings of absent tokens."""
    _, weights = prompt_decoder()
    before = next_logits(weights)
    for index in np.ndindex(weights[name].shape):
        changed = weights[name].copy()
        changed[index] += np.float32(0.25)
        moved = next_logits({**weights, name: changed}) != before
        assert moved == is_read(name, index), index


def test_absent_tokens_are_absent() -> None:
    """The list of exceptions is what the prompt leaves over, and nothing else."""
    assert sorted({*ABSENT_TOKENS, *PROMPT}) == list(range(SHAPE["vocabulary_size"]))
    assert not set(ABSENT_TOKENS) & set(PROMPT)


@pytest.mark.parametrize("kernel", TOLERANCES)
@pytest.mark.parametrize("chunks", [(16,), (12, 1, 1, 1, 1), (1,) * 16, (5, 7, 4)])
def test_chunks_of_a_prompt_do_not_matter(kernel: str, chunks: tuple[int, ...]) -> None:
    """However the ids are fed through the caches, the last logits are those of one pass."""
    definition = read_definition(FOLDER)
    decoder = build_decoder(decoder_config(definition), definition.weights, find_kernel(kernel))
    tokens = [*PROMPT, *ANSWER]
    whole = forward(decoder, tokens, decoder.empty_caches())
    caches, start = decoder.empty_caches(), 0
    for count in chunks:
        passed = forward(decoder, tokens[start : start + count], caches)
        caches, start = passed.caches, start + count
    rtol, atol = TOLERANCES[kernel]
    np.testing.assert_allclose(passed.next_logits, whole.next_logits, rtol=rtol, atol=atol)
    for found, expected in zip(caches, whole.caches, strict=True):
        np.testing.assert_array_equal(found.positions, np.arange(16))
        np.testing.assert_allclose(found.key, expected.key, rtol=rtol, atol=atol)
        np.testing.assert_allclose(found.value, expected.value, rtol=rtol, atol=atol)
    if kernel == "ordered":
        assert passed.next_logits.tobytes() == whole.next_logits.tobytes()
