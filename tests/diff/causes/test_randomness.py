"""When the random generator is to blame, and when what was done with its numbers."""

from typing import Any

import numpy as np
import pytest
from trace_building import chain, event, tensor

from tracediff.diff import diff_traces
from tracediff.events import Trace

A = np.random.default_rng(7).normal(size=(3, 4)).astype(np.float32)
B = np.random.default_rng(8).normal(size=(3, 4)).astype(np.float32)
DRAW = {
    "generator": "cpu",
    "algorithm": "mt19937",
    "key": [5, 70],
    "counter_before": 0,
    "counter_after": 12,
    "draws": {"count": 12},
}
SHAPED = {**DRAW, "draws": {"count": 12, "shape": [1, 3, 4]}, "transform": "normal"}
DROPOUT = {"1": "Dropout(p=0.5)", "2": "Dropout(p=0.5)"}


def made(
    array: Any,
    draw: dict[str, Any],
    name: str,
    event_type: str = "noise.drawn",
    settings: dict[str, str] | None = None,
) -> Trace:
    """Something is loaded, and its part `1` draws and gives `array`."""
    return chain(
        event("r"),
        event("l", event_type="module.loaded", settings={"modules": settings or DROPOUT}),
        event("e", None, event_type, component="1", rng=[draw], outputs=[tensor(name, array)]),
    )


@pytest.mark.parametrize(
    ("right", "left", "kind", "says"),
    [
        pytest.param(
            made(B, SHAPED, "x"), made(A, SHAPED, "x"), "rng-algorithm", "same key", id="its-shape"
        ),
        pytest.param(
            made(B, DRAW, "noise"), made(A, DRAW, "noise"), "rng-algorithm", "same key", id="noise"
        ),
        pytest.param(
            made(B, DRAW, "x"), made(A, DRAW, "x"), "numeric-path", "inputs and state", id="unknown"
        ),
        pytest.param(
            made(B[:2], {**SHAPED, "draws": {"count": 12, "shape": [4, 3]}}, "x"),
            made(A[:2], {**SHAPED, "draws": {"count": 12, "shape": [4, 3]}}, "x"),
            "numeric-path",
            "inputs and state agree",
            id="another-shape",
        ),
        pytest.param(
            made(B, DRAW, "noise.output", "module.called", DROPOUT | {"1": "Dropout(p=0.4)"}),
            made(A, DRAW, "noise.output", "module.called"),
            "numeric-path",
            "the settings of the module do not: Dropout(p=0.5) -> Dropout(p=0.4)",
            id="other-settings-of-a-module",
        ),
        pytest.param(
            made(B, DRAW, "x", "module.called", DROPOUT | {"2": "Dropout(p=0.4)"}),
            made(A, DRAW, "x", "module.called"),
            "numeric-path",
            "look at the weights",
            id="other-settings-of-another-module",
        ),
    ],
)
def test_numbers_that_differ_after_equal_draws(
    left: Trace, right: Trace, kind: str, says: str
) -> None:
    """The generator is named where its numbers are the tensor, a module's settings where not."""
    found = diff_traces(left, right).cause
    assert found is not None
    assert found.kind == kind
    assert says in found.explanation
