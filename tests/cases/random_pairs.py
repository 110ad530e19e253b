"""The field cases about random numbers, as pairs of small traces."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from trace_building import chain, event, tensor, trace

from tracediff.engine.philox import PhiloxGenerator
from tracediff.events import Event, Trace

CPU_HEAD = [1.541, -0.2934, -2.1788, 0.5684]
CUDA_HEAD = [-0.9247, -0.4253, -2.6438, 0.1452]


def drawn(
    before: int, count: int, *, key: Sequence[Any] = (0, 0), blocks: int = 1, **fields: Any
) -> dict[str, Any]:
    """Return one draw of the `rng` section."""
    return {
        "generator": "noise",
        "algorithm": "Philox4x32-10",
        "key": list(key),
        "counter_before": before,
        "counter_after": before + blocks,
        "draws": {"count": count},
        **fields,
    }


def noise(name: str, draw: Mapping[str, Any], values: Sequence[float], **sections: Any) -> Event:
    """Return the event of a draw with the first numbers that it gave."""
    return event(
        name,
        None,
        "noise.drawn",
        component="noise_generator",
        rng=[draw],
        outputs=[tensor("head", np.array(values, np.float32))],
        **sections,
    )


def generic(*events: Event) -> Trace:
    return chain(event("start", None, "run.started"), *events)


def sampled(counter: int, u: float, token: int) -> Trace:
    """Return two sampled tokens; the second draw starts at `counter`."""

    def step(number: int, before: int, value: float, chosen: int) -> Event:
        return event(
            f"selected-{number}",
            None,
            "token.selected",
            component="decoder",
            step=number,
            rng=[drawn(before, 1, key=(42, 0), generator="sampling")],
            outputs=[tensor("uniform", np.array([value], np.float32))],
            choice={"token_id": chosen},
        )

    return chain(
        event("request", None, "request.accepted"),
        step(0, 0, 0.8823, 12),
        step(1, counter, u, token),
        kind="text",
    )


F030 = {"left": sampled(1, 0.915, 77), "right": sampled(0, 0.8823, 31)}

F033 = {
    side: generic(
        noise(
            "latents",
            drawn(0, 4, algorithm=algorithm, draws={"count": 4, "shape": [1, 4]}),
            head,
            context={"device": device},
        )
    )
    for side, algorithm, device, head in (
        ("left", "mt19937", "cpu", CPU_HEAD),
        ("right", "Philox4x32-10", "cuda", CUDA_HEAD),
    )
}


def picture_of_a_batch(counters: Sequence[int], batch: int) -> Trace:
    """Return what the first picture of a batch draws: its latent, then noise for each step."""
    root = event("start", None, "run.started", context={"batch_size": batch})
    lane = {"image": 1}
    events = [root]
    for step, counter in enumerate(counters):
        events.append(
            event(
                f"step-{step}",
                events[-1].event_id,
                "denoise.updated" if step else "latent.initialized",
                component="denoiser",
                step=step,
                lane=lane,
                rng=[drawn(counter, 4)],
            )
        )
    return trace(events, kind="image")


F035 = {
    "left": picture_of_a_batch([0, 1, 2], 1),
    "right": picture_of_a_batch([0, 2, 4], 2),
}

LARGER_HEAD = [-1.1258, -1.1524, -0.2506, -0.4339]
F068 = {
    "left": generic(noise("draw", drawn(0, 8, algorithm="mt19937"), CPU_HEAD)),
    "right": generic(noise("draw", drawn(0, 16, algorithm="mt19937"), LARGER_HEAD)),
    "left-of-seven": generic(noise("draw", drawn(0, 7, algorithm="mt19937"), CPU_HEAD)),
    "right-of-fourteen": generic(noise("draw", drawn(0, 14, algorithm="mt19937"), CPU_HEAD)),
}

BORDER, END = 98304, 175104


def chunked(second_seed: int, device: str) -> Trace:
    """Return 175,104 numbers as two pieces; only the second one depends on the device."""
    first = PhiloxGenerator(123).normals(BORDER)
    second = PhiloxGenerator(second_seed).normals(END - BORDER)
    pieces = ((0, first), (BORDER, second))
    chunks = [
        tensor(f"noise.from-{start}", values, level="digest", first_element=start)
        for start, values in pieces
    ]
    draw = drawn(0, 200_000, key=(123, 0), blocks=50_000)
    return chain(
        event("start", None, "run.started"),
        event(
            "draw",
            None,
            "noise.drawn",
            component="noise_generator",
            rng=[draw],
            outputs=chunks,
            context={"device": device},
        ),
        header={"tolerances": [{"match": "noise.*", "mode": "exact"}]},
    )


F070 = {"left": chunked(124, "4090D"), "right": chunked(125, "W7900")}

F074 = {
    side: generic(
        event(
            "raw",
            None,
            "words.drawn",
            component="noise_generator",
            rng=[drawn(counter, 4, algorithm=algorithm)],
            choice={"words": words},
        )
    )
    for side, algorithm, counter, words in (
        # Random123's known answer for key and counter 0.
        ("left", "Philox4x32-10", 0, ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"]),
        # numpy.random.Philox(key=0).random_raw(4): the counter is raised before the first block.
        (
            "right",
            "Philox4x64-10",
            1,
            ["02f4ba6408e4d89b", "3dd62b0b9ca8c5b2", "1c8667a55d902e79", "907d7a052fd5b4dc"],
        ),
    )
}

NEXT_HEAD = [0.1808, -0.5523, 0.9238, -0.735]
F075 = {
    "left": generic(
        noise("draw-0", drawn(0, 4), CUDA_HEAD), noise("draw-1", drawn(1, 4), NEXT_HEAD)
    ),
    "right": generic(
        noise("draw-0", drawn(0, 4), CUDA_HEAD), noise("draw-1", drawn(0, 4), CUDA_HEAD)
    ),
}


def seeded(seed: int, position: int) -> Trace:
    return generic(
        event(
            "seed",
            None,
            "noise.drawn",
            component="noise_generator",
            state={"element": position},
            rng=[drawn(0, 4, key=[seed])],
        )
    )


F085 = {
    "left": seeded(6687881544318117707, 0),
    "right": seeded(6687881544318118000, 0),
    "left-position": seeded(1, 9007199254740993),
    "right-position": seeded(1, 9007199254740992),
}

RANDOM_CASES = {
    "F030": F030,
    "F033": F033,
    "F035": F035,
    "F068": F068,
    "F070": F070,
    "F074": F074,
    "F075": F075,
    "F085": F085,
}
