"""Drift: a fault inside every tolerance shows as a jump at the right tensor, noise shows none."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from trace_building import chain, event, tensor

from tracediff.diff import diff_traces
from tracediff.diff.result import DriftProfile
from tracediff.engine import decoder
from tracediff.events import Trace
from tracediff.render.report_lines import WORTH_A_WORD
from tracediff.workloads import text
from tracediff.workloads.run import run_fixture

Patch = pytest.MonkeyPatch


def drift_of(other: Trace) -> DriftProfile:
    """Return the drift of a run against the golden one."""
    found = diff_traces(run_fixture("text-001"), other).drift
    assert found is not None
    return found


def change_weight(patch: Patch, name: str) -> None:
    build = text.build_decoder

    def build_changed(config: Any, weights: Any, kernel: Any) -> Any:
        array = weights[name].copy()
        array.flat[1] += np.float32(1e-4)
        return build(config, {**weights, name: array}, kernel)

    patch.setattr(text, "build_decoder", build_changed)


def change_rotary_base(patch: Patch) -> None:
    angles = decoder.rotary_angles
    patch.setattr(
        decoder, "rotary_angles", lambda positions, size, base: angles(positions, size, base + 1)
    )


def change_epsilon(patch: Patch, norm_of_pass: int) -> None:
    """Change one norm of every forward pass: two a layer, then the final one."""
    norm, calls = decoder.rms_norm, [0]

    def norm_changed(x: Any, gain: Any, epsilon: float, kernel: Any) -> Any:
        calls[0] += 1
        return norm(x, gain, 1e-5 if calls[0] % 5 == norm_of_pass else epsilon, kernel)

    patch.setattr(decoder, "rms_norm", norm_changed)


FAULTS: dict[str, tuple[Callable[[Patch], None], str]] = {
    "rotary-base-1e-4": (change_rotary_base, "layer.0.query"),
    "epsilon-of-layer-0": (lambda patch: change_epsilon(patch, 1), "layer.0.query"),
    "epsilon-of-layer-0-mlp": (lambda patch: change_epsilon(patch, 2), "layer.0.residual_out"),
    "epsilon-of-layer-1": (lambda patch: change_epsilon(patch, 3), "layer.1.query"),
    "one-value-weight": (lambda patch: change_weight(patch, "layers.0.value"), "layer.0.value"),
    "one-query-weight": (lambda patch: change_weight(patch, "layers.1.query"), "layer.1.query"),
    "one-mlp-weight": (lambda patch: change_weight(patch, "layers.1.down"), "layer.1.residual_out"),
    "one-gain": (lambda patch: change_weight(patch, "final_norm"), "final_hidden"),
    "one-unembedding-weight": (lambda patch: change_weight(patch, "unembedding"), "next_logits"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_small_faults_jump(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest jump names the event and the tensor in which the fault first shows."""
    inject, name = FAULTS[fault]
    inject(monkeypatch)
    other = run_fixture("text-001")
    monkeypatch.undo()
    found = drift_of(other)
    assert found.largest is not None
    assert (found.largest.place.event_id, found.largest.tensor) == ("e04", name)
    assert found.ratio > WORTH_A_WORD


@pytest.mark.parametrize("kernel", ["blas", "float64"])
def test_noise_does_not_jump(kernel: str) -> None:
    """Another kernel drifts evenly."""
    found = drift_of(run_fixture("text-001", kernel=kernel))
    assert found.largest is not None
    assert found.ratio < WORTH_A_WORD


def test_equal_traces_do_not_drift() -> None:
    """Nothing is measured where nothing differs."""
    golden = run_fixture("text-001")
    assert diff_traces(golden, replace(golden, name="other")).drift is None


def one(array: Any, level: str) -> Trace:
    return chain(event("a", state={"n": 1}), event("b", outputs=[tensor("x", array, level=level)]))


@pytest.mark.parametrize("level", ["values=1000", "sketch"])
def test_drift_is_the_relative_distance(level: str) -> None:
    """From values exactly, from sketches about."""
    array = np.random.default_rng(0).standard_normal(400)
    other = array + np.random.default_rng(1).standard_normal(400) * 1e-3
    found = diff_traces(one(array, level), one(other, level)).drift
    assert found is not None
    expected = np.linalg.norm(array - other) / max(np.linalg.norm(array), np.linalg.norm(other))
    exact = level != "sketch"
    assert found.points[-1].drift == pytest.approx(expected, rel=1e-12 if exact else 0.35)


def test_what_is_not_kept_does_not_drift() -> None:
    """Digests alone, and tensors of another shape, have no distance."""
    array = np.ones(400)
    for left, right in ((one(array, "digest"), one(array * 2, "digest")),):
        found = diff_traces(left, right).drift
        assert found is not None
        assert found.points == ()
