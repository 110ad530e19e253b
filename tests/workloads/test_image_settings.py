"""What overrides do to image-001, and how wrong ones are refused."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from image_runs import (
    SHORT,
    main_line,
    of_type,
    record_of,
    run,
    short_run,
    states,
    tensor_of,
)

from tracediff.errors import TokenizerError, UsageError
from tracediff.events import Trace
from tracediff.workloads.run import run_fixture


@pytest.mark.parametrize(
    ("overrides", "timesteps"),
    [
        pytest.param({"timesteps": [999, 3]}, [999, 3], id="list"),
        pytest.param({"steps": 2}, [999, 499], id="count"),
        pytest.param({"steps": 2, "spacing": "leading"}, [500, 0], id="leading"),
        pytest.param({"steps": 3, "spacing": "linspace"}, [999, 500, 0], id="linspace"),
    ],
)
def test_timesteps(overrides: dict[str, Any], timesteps: list[int]) -> None:
    """A list, or a count with a spacing; every step leads to the next one of the list."""
    trace = run(overrides)
    assert states(trace, "timestep") == timesteps
    assert states(trace, "previous_timestep") == [*timesteps[1:], -1]


@pytest.mark.parametrize(
    ("overrides", "event", "tensor"),
    [
        pytest.param({"prompt": "晴天海边。"}, 0, "conditional_embedding", id="prompt"),
        pytest.param({"negative_prompt": "雨夜"}, 0, "unconditional_embedding", id="negative"),
        pytest.param({"seed": 2}, 1, "latent", id="seed"),
        pytest.param({"guidance_scale": 7.5}, 2, "epsilon_guided", id="guidance"),
        pytest.param({"eta": 0.5}, 2, "latent_out", id="eta"),
        pytest.param({"prediction_type": "v_prediction"}, 2, "predicted_z0", id="type"),
        pytest.param({"vae_scaling_factor": 0.13025}, -3, "latent_scaled", id="factor"),
    ],
)
def test_overrides_change_what_is_computed(
    overrides: dict[str, Any], event: int, tensor: str
) -> None:
    """Each override changes the tensor that it is about, and none before it."""
    base, trace = short_run(), run({**SHORT, **overrides})
    for before in range(event % 6):
        for record in base.events[before].payload.get("outputs", ()):
            same = record_of(trace.events[before], record["name"])
            assert record["digest"] == same["digest"]
    # The last three events have the same places whatever comes before.
    name = tensor.replace("epsilon", "velocity") if "prediction_type" in overrides else tensor
    changed = record_of(trace.events[event], name)
    assert changed["digest"] != record_of(base.events[event], tensor)["digest"]


def test_noise_of_every_step_is_recorded() -> None:
    """With eta above 0 each step draws one latent of noise, behind what was drawn before."""
    trace = run({**SHORT, "eta": 1})
    draws = [event.payload["rng"][0] for event in of_type(trace, "denoise.updated")]
    assert [(d["counter_before"], d["counter_after"]) for d in draws] == [
        (4096, 8192),
        (8192, 12288),
    ]
    assert [d["draws"]["count"] for d in draws] == [16384, 16384]


def test_negative_prompt_takes_away() -> None:
    """What the negative prompt names is weaker in the picture, here the umbrella's red."""
    trace = short_run(tensors="full")
    other = run({**SHORT, "negative_prompt": "红伞"}, tensors="full")
    redness = []
    for found in (trace, other):
        (event,) = of_type(found, "image.encoded")
        pixels = tensor_of(found, event, "pixels_uint8").astype(int)
        redness.append((pixels[0, 0] - pixels[0, 1])[150:220, 220:350].mean())
    assert redness[0] > 100
    assert redness[1] < 0.6 * redness[0]


@cache
def noisy_batch(mode: str) -> Trace:
    return run({**SHORT, "eta": 1, "seed": 0, "batch_size": 2, "generator_mode": mode})


@pytest.mark.parametrize("mode", ["one", "list"])
def test_batch_has_a_lane_for_each_picture(mode: str) -> None:
    """Each picture has its lane; the end joins them all, and returns as many pictures."""
    trace = noisy_batch(mode)
    lanes = [event.payload.get("lane") for event in trace.events]
    assert lanes[0] is None
    assert lanes[-1] is None
    for image in (0, 1):
        types = [
            e.event_type
            for e, lane in zip(trace.events, lanes, strict=True)
            if lane == {"image": image}
        ]
        assert types == [
            "latent.initialized",
            "denoise.updated",
            "denoise.updated",
            "vae.decoded",
            "image.encoded",
        ]
    last = trace.events[-1]
    encoded = [event.event_id for event in of_type(trace, "image.encoded")]
    assert {last.parent_event_id, *last.payload["joins"]} == set(encoded)
    assert last.payload["choice"]["images"] == ["image-0.png", "image-1.png"]


@pytest.mark.parametrize(
    ("mode", "first", "second"),
    [
        # key, counter before: of each picture's first latent, then of its first step
        pytest.param("one", [(0, 0), (0, 4096)], [(0, 8192), (0, 12288)], id="one-generator"),
        pytest.param("list", [(0, 0), (1, 0)], [(0, 4096), (1, 4096)], id="list-of-generators"),
    ],
)
def test_where_a_batch_takes_its_noise(
    mode: str, first: list[tuple[int, int]], second: list[tuple[int, int]]
) -> None:
    """One generator deals out noise by batch and step; a list gives each picture its own."""
    draws = [
        (event.payload["rng"][0]["key"][0], event.payload["rng"][0]["counter_before"])
        for event in noisy_batch(mode).events
        if "rng" in event.payload
    ]
    assert draws[:4] == [*first, *second]


def test_first_picture_of_a_list_is_the_single_one() -> None:
    """With its own generator, a picture does not depend on its neighbours."""
    alone, batch = run({**SHORT, "eta": 1, "seed": 0}), noisy_batch("list")
    digests = []
    for trace in (alone, batch):
        event = next(
            e for e in of_type(trace, "image.encoded") if e.payload["lane"] == {"image": 0}
        )
        digests.append(event.payload["choice"]["png_digest"])
    assert digests[0] == digests[1]


@cache
def preview_run() -> Trace:
    return run({**SHORT, "preview": True}, tensors="full")


def test_preview_replaces_and_changes_nothing() -> None:
    """A preview is a leaf of its step that replaces the one before; the picture is the same."""
    trace, base = preview_run(), short_run()
    frames = of_type(trace, "frame.replaced")
    assert [f.payload["state"] for f in frames] == [
        {"step_id": 0, "replaces": None},
        {"step_id": 1, "replaces": 0},
    ]
    steps = [event.event_id for event in of_type(trace, "denoise.updated")]
    assert [frame.parent_event_id for frame in frames] == steps
    assert {event.parent_event_id for event in trace.events}.isdisjoint(f.event_id for f in frames)
    assert [record_of(frame, "frame_uint8")["shape"] for frame in frames] == [[1, 3, 64, 64]] * 2
    digests = [of_type(found, "image.encoded")[0].payload["choice"] for found in (trace, base)]
    assert digests[0] == digests[1]


def test_preview_resembles_the_picture() -> None:
    """The last preview is a small version of the picture."""
    trace = preview_run()
    frame = tensor_of(trace, of_type(trace, "frame.replaced")[-1], "frame_uint8").astype(float)
    pixels = tensor_of(trace, of_type(trace, "image.encoded")[0], "pixels_uint8").astype(float)
    small = pixels.reshape(1, 3, 64, 8, 64, 8).mean(axis=(3, 5))
    assert np.corrcoef(frame.reshape(-1), small.reshape(-1))[0, 1] > 0.95


DESCENDING = "a JSON list of descending integers from 0 to 999"
REFUSED = [
    pytest.param({"prompt": ""}, "a non-empty string is", id="empty-prompt"),
    pytest.param({"negative_prompt": None}, "a string, of 12 tokens at most is", id="no-negative"),
    pytest.param({"prompt": "上" * 13}, "prompt has 13 tokens; allowed are at most 12", id="long"),
    pytest.param(
        {"negative_prompt": "上" * 13}, "negative_prompt has 13 tokens", id="long-negative"
    ),
    pytest.param({"seed": -1}, "an integer from 0 to 18446744073709551615 is", id="seed"),
    pytest.param({"timesteps": [1000]}, DESCENDING, id="timestep-1000"),
    pytest.param({"timesteps": [-1]}, DESCENDING, id="timestep-negative"),
    pytest.param({"timesteps": [499, 999]}, DESCENDING, id="ascending"),
    pytest.param({"timesteps": [499, 499]}, DESCENDING, id="twice"),
    pytest.param({"timesteps": [499.0]}, DESCENDING, id="float"),
    pytest.param({"timesteps": "999"}, DESCENDING, id="no-list"),
    pytest.param({"steps": 0}, "an integer from 1 to 1000 is", id="no-steps"),
    pytest.param({"steps": 1001}, "an integer from 1 to 1000 is", id="too-many-steps"),
    pytest.param({"spacing": "karras"}, "one of trailing, leading, linspace is", id="spacing"),
    pytest.param(
        {"timesteps": [999], "steps": 2}, "timesteps and steps cannot be set together", id="both"
    ),
    pytest.param(
        {"timesteps": [999], "spacing": "leading"},
        "timesteps and spacing cannot be set together",
        id="list-and-spacing",
    ),
    pytest.param({"eta": -0.1}, "a number from 0 to 1 is", id="eta-negative"),
    pytest.param({"eta": 1.5}, "a number from 0 to 1 is", id="eta-large"),
    pytest.param({"eta": float("nan")}, "a number from 0 to 1 is", id="eta-nan"),
    pytest.param({"guidance_scale": -1}, "a number from 0 to 100 is", id="guidance"),
    pytest.param({"guidance_scale": "5"}, "a number from 0 to 100 is", id="guidance-text"),
    pytest.param({"prediction_type": "sample"}, "one of epsilon, v_prediction is", id="type"),
    pytest.param({"vae_scaling_factor": 0}, "a number from 0.001 to 1000 is", id="factor"),
    pytest.param({"batch_size": 0}, "an integer from 1 to 8 is", id="no-images"),
    pytest.param({"batch_size": 9}, "an integer from 1 to 8 is", id="too-many-images"),
    pytest.param({"generator_mode": "many"}, "one of one, list is", id="mode"),
    pytest.param(
        {"seed": 2**64 - 1, "batch_size": 2, "generator_mode": "list"},
        "an integer from 0 to 18446744073709551614",
        id="no-seed-left",
    ),
    pytest.param({"preview": 1}, "true or false is", id="preview"),
    pytest.param({"sampler": "euler"}, "has no setting 'sampler'", id="unknown"),
]


@pytest.mark.parametrize(("overrides", "message"), REFUSED)
def test_wrong_values_are_refused(overrides: dict[str, Any], message: str) -> None:
    """A wrong value is refused with what is allowed, before anything is computed."""
    with pytest.raises(UsageError) as raised:
        run(overrides)
    assert message in str(raised.value)


def test_unknown_words_are_refused() -> None:
    """Words that the vocabulary does not have are named with their place."""
    with pytest.raises(TokenizerError) as raised:
        run({"prompt": "雨夜火车"})
    assert raised.value.offset == 6


def test_padding_cannot_be_spelled() -> None:
    """The spelling of the padding token in a prompt is no padding token."""
    with pytest.raises(TokenizerError):
        run({"prompt": "<pad>"})


@pytest.mark.parametrize("kernel", ["ordered", "blas", "float64"])
def test_largest_run_works(kernel: str) -> None:
    """Extremes of several settings together still give finite numbers."""
    trace = run(
        {"timesteps": [0], "guidance_scale": 100, "eta": 1, "vae_scaling_factor": 0.001}, kernel
    )
    for event in trace.events:
        for record in event.payload.get("outputs", ()):
            assert "nan" not in record["stats"]
            assert "pos_inf" not in record["stats"]


def test_main_line_has_no_overrides() -> None:
    """The defaults are the fixture's, and the header says that nothing was changed."""
    assert main_line().header["overrides"] == {}
    assert run_fixture("image-001", {"steps": 1}).header["overrides"] == {"steps": 1}
