"""Public reports on diffusion, each as a pair of small traces, and what tracediff must say.

Each case is reduced to the events in which it shows; numbers are placeholders unless a source
stands beside them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from trace_building import chain, event, tensor

from tracediff.contracts import check_trace
from tracediff.diff import Outcome, diff_traces
from tracediff.engine.philox import PhiloxGenerator, philox4x32
from tracediff.events import Event, Trace

LINSPACE = [999 - 111 * index for index in range(10)]
LEADING = [900 - 100 * index for index in range(10)]
TRAILING = [999 - 100 * index for index in range(10)]


def image(*events: Event) -> Trace:
    return chain(*events, kind="image")


def draw(before: int, after: int, count: int, **fields: Any) -> dict[str, Any]:
    """Return a draw of the generator `noise`."""
    return {
        "generator": "noise",
        "algorithm": "Philox4x32-10",
        "key": [0, 0],
        "counter_before": before,
        "counter_after": after,
        "draws": {"count": count},
        **fields,
    }


def drawn(values: list[float], **fields: Any) -> Event:
    """Return an event that draws a first latent."""
    ledger = {**draw(0, -(-len(values) // 4), len(values)), **fields}
    latent = tensor("latent", np.array([values], np.float32))
    return event("d01", event_type="latent.initialized", rng=[ledger], outputs=[latent])


def step(index: int, timesteps: list[int], previous: int, latent: float) -> Event:
    """Return a denoising step that leads to `previous`."""
    return event(
        f"d{index + 2:02d}",
        event_type="denoise.updated",
        step=index + 1,
        state={"timestep": timesteps[index], "previous_timestep": previous},
        outputs=[tensor("latent_out", np.array([latent]))],
    )


def scheduled(timesteps: list[int], spacing: str, *steps: Event) -> Trace:
    first = event(
        "d01",
        event_type="latent.initialized",
        settings={"spacing": spacing},
        state={"timesteps": timesteps},
    )
    return image(first, *steps)


def stochastic(chunks: list[int]) -> Trace:
    """Return the steps of one picture, each with the counter of the noise that it was dealt."""
    steps = [
        event(
            f"d{index + 2:02d}",
            event_type="denoise.updated",
            step=index,
            lane={"image": 1},
            rng=[draw(counter, counter + 1, 4)],
        )
        for index, counter in enumerate(chunks)
    ]
    return image(event("d00", event_type="condition.encoded", choice={"batch": "any"}), *steps)


def conditioned(pooled: list[str]) -> Trace:
    return image(
        event(
            "d00",
            event_type="condition.encoded",
            state={
                "embedding_order": ["negative", "positive"],
                "pooled": {"guidance_order": pooled},
            },
        ),
        event(
            "d02",
            event_type="denoise.updated",
            outputs=[
                tensor("epsilon_guided", np.array([1.6 if pooled[0] == "negative" else -1.2]))
            ],
        ),
    )


def decoded(latent_in: list[float]) -> Trace:
    latent = np.array([0.18215, -0.3643, 0.0911], np.float32)
    return image(
        event("d05", event_type="denoise.updated", outputs=[tensor("latent_out", latent)]),
        event(
            "d06",
            event_type="vae.decoded",
            inputs=[tensor("latent", latent)],
            outputs=[tensor("latent_scaled", np.array(latent_in, np.float32))],
        ),
    )


def decoded_as(dtype: str, pixel: float) -> Trace:
    return image(
        event("d05", event_type="denoise.updated", settings={"vae_dtype": dtype}),
        event("d06", event_type="vae.decoded", outputs=[tensor("pixels", np.array([pixel, 0.5]))]),
    )


def encoded(digest: str) -> Trace:
    pixels = np.arange(192, dtype=np.uint8).reshape(8, 8, 3)
    return image(
        event(
            "d07",
            event_type="image.encoded",
            outputs=[tensor("pixels_uint8", pixels)],
            choice={"png_digest": digest},
        )
    )


def filled(boundary: int) -> Trace:
    """Return a draw whose elements from a boundary on come from other counters."""
    values = PhiloxGenerator(123).normals(1024)
    values[boundary:] = PhiloxGenerator(123, counter=10**6).normals(1024 - boundary)
    latent = tensor("latent", values, level="values=1024")
    return image(
        event("d01", event_type="latent.initialized", rng=[draw(0, 256, 1024)], outputs=[latent])
    )


def repeated(second: int) -> Trace:
    """Return two draws of four numbers, the second from a counter."""
    heads = [PhiloxGenerator(0, counter).normals(4) for counter in (0, second)]
    return image(
        *(
            event(f"d{index:02d}", rng=[draw(counter, counter + 1, 4)], outputs=[tensor("x", head)])
            for index, (counter, head) in enumerate(zip((0, second), heads, strict=True))
        )
    )


@dataclass(frozen=True, slots=True)
class Case:
    """A pair, and the event, section, field and cause that must be reported first."""

    name: str
    left: Trace
    right: Trace
    event: str
    check: str
    field: str
    cause: str


MERSENNE = {"algorithm": "mt19937", "key": [0]}

CASES = [
    Case(
        "F033-generator-of-another-device",
        # Source of the heads: the report, torch's CPU and CUDA generators with seed 0.
        image(drawn([1.541, -0.2934, -2.1788, 0.5684], **MERSENNE)),
        image(drawn([-0.9247, -0.4253, -2.6438, 0.1452])),
        *("d01", "rng", "rng[0].algorithm", "rng-algorithm"),
    ),
    Case(
        "F035-noise-dealt-out-by-batch-size",
        stochastic([0, 1, 2, 3]),
        stochastic([0, 2, 4, 6]),
        *("d03", "rng", "rng[0].counter_before", "rng-counter"),
    ),
    Case(
        "F037-linspace-by-stride",
        # Source of the latents: the update with the scaled-linear schedule, x = 1, epsilon = 0.5.
        scheduled(LINSPACE, "linspace", step(0, LINSPACE, 888, 1.4248844)),
        scheduled(LINSPACE, "linspace", step(0, LINSPACE, 899, 1.3742867)),
        *("d02", "state", "state.previous_timestep", "schedule"),
    ),
    Case(
        "F040-first-timestep",
        scheduled(LEADING, "leading", step(0, LEADING, 800, 1.0)),
        scheduled(TRAILING, "trailing", step(0, TRAILING, 899, 1.0)),
        *("d01", "state", "state.timesteps[0]", "schedule"),
    ),
    Case(
        "F040-off-by-one",
        scheduled([981, 961], "leading"),
        scheduled([980, 960], "leading"),
        *("d01", "state", "state.timesteps[0]", "schedule"),
    ),
    Case(
        "F043-pooled-embeddings-swapped",
        conditioned(["negative", "positive"]),
        conditioned(["positive", "negative"]),
        *("d00", "state", "state.pooled.guidance_order[0]", "guidance-order"),
    ),
    Case(
        "F045-scaling-factor-not-undone",
        decoded([1.0, -2.0, 0.0911 / 0.18215]),
        decoded([0.18215, -0.3643, 0.0911]),
        *("d06", "outputs", "outputs[latent_scaled]", "constant-factor"),
    ),
    Case(
        "F046-decoder-overflows-in-half-precision",
        decoded_as("float32", 0.5),
        decoded_as("float16", float("nan")),
        *("d06", "outputs", "outputs[pixels]", "nan-born"),
    ),
    Case(
        "F068-another-count-of-numbers",
        # Source of the heads: the report, torch's CPU generator with seed 0 and 8 or 16 numbers.
        image(drawn([1.541, -0.2934, -2.1788, 0.5684, 0.0, 0.0, 0.0, 0.0], **MERSENNE)),
        image(drawn([-1.1258, -1.1524, -0.2506, -0.4339, *[0.0] * 12], **MERSENNE)),
        *("d01", "rng", "rng[0].draws.count", "rng-counter"),
    ),
    Case(
        "F074-two-generators-called-philox",
        image(drawn([0.1, 0.2, 0.3, 0.4])),
        image(drawn([0.5, 0.6, 0.7, 0.8], algorithm="Philox4x64-10")),
        *("d01", "rng", "rng[0].algorithm", "rng-algorithm"),
    ),
    Case(
        "F075-second-draw-repeats-the-first",
        repeated(1),
        repeated(0),
        *("d01", "rng", "rng[0].counter_before", "rng-counter"),
    ),
]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_case(case: Case) -> None:
    """The first divergence is where the report's cause is, not at a setting before it."""
    result = diff_traces(case.left, case.right)
    assert result.outcome is Outcome.DIVERGED
    assert result.first is not None
    assert result.cause is not None
    place = result.first.left
    assert place is not None
    found = (place.event_id, result.first.check, result.first.difference.field, result.cause.kind)
    assert found == (case.event, case.check, f"payload.{case.field}", case.cause)


def test_f035_first_latents_are_equal() -> None:
    """Of the picture in the larger batch, only what comes from the second chunk on differs."""
    result = diff_traces(stochastic([0, 1, 2, 3]), stochastic([0, 2, 4, 6]))
    assert len(result.frontier) == 1
    assert result.downstream == {"rng": 2}


def test_f037_shows_in_one_trace() -> None:
    """A step that does not lead to the next timestep is found without a second trace."""
    steps = [step(i, LINSPACE, LINSPACE[i + 1] if i < 9 else -1, 1.0) for i in range(10)]
    finish = event("d12", choice={"status": "FINISHED"})
    assert check_trace(scheduled(LINSPACE, "linspace", *steps, finish)).violations == ()
    steps[0] = step(0, LINSPACE, 899, 1.0)
    (violation,) = check_trace(scheduled(LINSPACE, "linspace", *steps, finish)).violations
    assert (violation.rule, violation.event_id) == ("previous-is-the-next", "d02")


def test_f040_spacing_is_the_trigger() -> None:
    """The setting stands beside the divergence and is not it."""
    result = diff_traces(
        scheduled(LEADING, "leading", step(0, LEADING, 800, 1.0)),
        scheduled(TRAILING, "trailing", step(0, TRAILING, 899, 1.0)),
    )
    assert [trigger.field for trigger in result.triggers] == ["payload.settings.spacing"]


def test_f045_factor_is_named() -> None:
    """The constant ratio of all elements is the factor."""
    result = diff_traces(
        decoded([1.0, -2.0, 0.0911 / 0.18215]), decoded([0.18215, -0.3643, 0.0911])
    )
    assert result.cause is not None
    assert result.cause.evidence["factor"] == pytest.approx(0.18215, rel=1e-6)


def test_f046_two_failures_are_the_same_failure() -> None:
    """NaN at the same place on both sides is equal; in one trace it breaks the contract."""
    broken = decoded_as("float16", float("nan"))
    assert diff_traces(broken, broken).outcome is Outcome.EQUAL
    rules = {violation.rule for violation in check_trace(broken).violations}
    assert "numbers-are-finite" in rules


def test_f050_pixels_agree_where_bytes_do_not() -> None:
    """Only the file differs: the pixels were compared and agree."""
    result = diff_traces(encoded("b3:a0"), encoded("b3:b1"))
    assert [(d.check, d.difference.field) for d in result.frontier] == [
        ("choice", "payload.choice.png_digest")
    ]
    assert result.coverage.tensors == {"digest": 1}


def test_f070_first_element_is_named() -> None:
    """Where the counters of one draw part within a tensor, the index is given."""
    result = diff_traces(filled(1024), filled(640))
    assert result.first is not None
    assert result.first.tensor is not None
    assert result.first.tensor.first_index == (640,)


def test_f074_known_answer() -> None:
    """This project's generator is the one with 32-bit words: its published first block."""
    # Source: Random123's kat_vectors, philox4x32-10 with counter and key 0.
    block = philox4x32(np.zeros(4, np.uint32), np.zeros(2, np.uint32))
    assert [f"{word:08x}" for word in block] == ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"]


def test_f075_shows_in_one_trace() -> None:
    """Two draws from one counter are found without a second trace."""
    rules = [violation.rule for violation in check_trace(repeated(0)).violations]
    assert "rng-counters-do-not-overlap" in rules
    assert "rng-counters-do-not-overlap" not in [
        violation.rule for violation in check_trace(repeated(1)).violations
    ]
