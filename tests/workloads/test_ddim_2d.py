"""ddim-2d: the numbers of its definition, its events, and its overrides."""

from functools import cache
from typing import Any

import pytest

from tracediff.errors import UsageError
from tracediff.events import Trace
from tracediff.workloads.run import RunRequest, record_fixture, run_fixture


@cache
def main_line(kernel: str = "ordered") -> Trace:
    return run_fixture("ddim-2d", kernel=kernel)


def values(trace: Trace, event: int, name: str) -> list[float]:
    records = trace.events[event].payload["outputs"]
    found: list[float] = next(record["values"] for record in records if record["name"] == name)
    return found


@pytest.mark.parametrize(
    ("event", "name", "expected"),
    [
        # Source: section 7.8 of the fixture's definition.
        pytest.param(1, "predicted_z0", ["1.653590", "-1.826795"], id="clean-of-step-2"),
        pytest.param(1, "latent_out", ["1.442872", "-1.521436"], id="z-1"),
        pytest.param(2, "predicted_z0", ["1.728590", "-1.751795"], id="clean-of-step-1"),
        pytest.param(2, "latent_out", ["1.728590", "-1.751795"], id="z-0"),
    ],
)
def test_numbers(event: int, name: str, expected: list[str]) -> None:
    """Every vector, to the digits that the definition gives."""
    assert [f"{x:.6f}" for x in values(main_line(), event, name)] == expected


def test_events() -> None:
    """Start, two steps, end; everything in float64, nothing drawn."""
    trace = main_line()
    assert [event.event_type for event in trace.events] == [
        "latent.initialized",
        "denoise.updated",
        "denoise.updated",
        "response.completed",
    ]
    for event in trace.events:
        for section in ("inputs", "outputs"):
            for record in event.payload.get(section, ()):
                assert (record["dtype"], record["shape"]) == ("float64", [2])
        for draw in event.payload.get("rng", ()):
            assert draw["draws"] == {"count": 0}


@pytest.mark.parametrize("kernel", ["blas", "float64"])
def test_kernels_do_not_differ(kernel: str) -> None:
    """Only exact operations are used, so every numeric path gives the same bits."""
    for left, right in zip(main_line().events, main_line(kernel).events, strict=True):
        assert left.payload.get("outputs") == right.payload.get("outputs")


class Discard:
    """A sink that keeps nothing."""

    def write(self, event: Any, *, at: int | None = None) -> None: ...

    def write_tensor(self, digest: str, array: Any) -> str:
        return digest

    def finish(self) -> None: ...

    def abandon(self) -> None: ...


def test_result() -> None:
    """The run returns the final latent."""
    result = record_fixture(RunRequest("ddim-2d"), Discard())
    assert result.headline == "1.728590, -1.751795"
    assert result.attachments == {}


def test_overrides() -> None:
    """Other numbers, and another count of steps."""
    overrides = {"alpha_bars": [1, 0.5], "latent": [2, 0], "epsilons": [[0, 0]]}
    trace = run_fixture("ddim-2d", overrides)
    assert len(trace.events) == 3
    assert values(trace, 1, "latent_out") == pytest.approx([2 / 0.5**0.5, 0.0], rel=1e-15)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        pytest.param({"latent": [1]}, "a JSON list of two numbers is", id="one-number"),
        pytest.param({"latent": [1, True]}, "a JSON list of two numbers is", id="bool"),
        pytest.param({"latent": [1, 1e7]}, "a JSON list of two numbers is", id="large"),
        pytest.param({"alpha_bars": [0.9, 0.5, 0.2]}, "that starts with 1 is", id="no-one"),
        pytest.param({"alpha_bars": [1, 0.5, 0.5]}, "descending numbers above 0", id="equal"),
        pytest.param({"alpha_bars": [1, 0.5, 0]}, "descending numbers above 0", id="zero"),
        pytest.param({"alpha_bars": [1]}, "2 to 101 descending numbers", id="no-step"),
        pytest.param({"epsilons": [[1, 2], [3]]}, "a JSON list of pairs", id="no-pair"),
        pytest.param({"epsilons": [[1, 2]]}, "allowed here are 2", id="too-few"),
        pytest.param({"eta": 0.5}, "has no setting 'eta'", id="unknown"),
    ],
)
def test_wrong_values_are_refused(overrides: dict[str, Any], message: str) -> None:
    """A wrong value is refused with what is allowed."""
    with pytest.raises(UsageError) as raised:
        run_fixture("ddim-2d", overrides)
    assert message in str(raised.value)
