"""Statistics that no tensor has are reported, and so are two tensors under one digest."""

from typing import Any

import numpy as np
import pytest
from trace_building import chain, event, tensor

from tracediff.contracts import check_trace
from tracediff.contracts.tensor_statistics import TENSOR_STATISTICS_RULES
from tracediff.events.element_types import ELEMENT_TYPES

POSSIBLE, ONE = "statistics-are-possible", "one-digest-is-one-tensor"
NUMBERS = np.float32([1.5, -2.25, 0.1, 4.2])


def sketched(array: Any = NUMBERS, dtype: str | None = None, **stats: Any) -> dict[str, Any]:
    """Return the record of a tensor without its numbers, with some statistics replaced."""
    record = tensor("x", array, dtype=dtype, level="sketch")
    record.pop("values", None)
    return {**record, "stats": {**record["stats"], **stats}}


def broken(*records: dict[str, Any]) -> set[tuple[str, str | None]]:
    """Return what a trace breaks whose events a, b, … record one tensor each."""
    events = [event(name, outputs=[r]) for name, r in zip("abc", records, strict=False)]
    return {(found.rule, found.event_id) for found in check_trace(chain(*events)).violations}


@pytest.mark.parametrize(
    ("stats", "holds"),
    [
        pytest.param({}, True, id="nothing"),
        pytest.param({"min": 4.3}, False, id="min-above-max"),
        pytest.param({"mean": 4.3}, False, id="mean-above"),
        pytest.param({"mean": -2.26}, False, id="mean-below"),
        pytest.param({"l2": 4.1}, False, id="norm-below-the-largest"),
        pytest.param({"l2": 8.5}, False, id="norm-above-all-largest"),
        pytest.param({"l2": -1}, False, id="negative-norm"),
        pytest.param({"l2": "Infinity", "mean": "NaN"}, True, id="no-finite-numbers"),
    ],
)
def test_impossible_statistics_are_reported(stats: dict[str, Any], holds: bool) -> None:
    """What no four numbers of these extremes have is reported; what some have is not."""
    assert broken(sketched(**stats)) == (set() if holds else {(POSSIBLE, "a")})


@pytest.mark.parametrize("dtype", ELEMENT_TYPES)
def test_equal_numbers_of_every_type_are_possible(dtype: str) -> None:
    """Where minimum, mean and maximum are one number, its decimal's rounding is no fault."""
    pattern = np.zeros(1, ELEMENT_TYPES[dtype].storage)
    if pattern.dtype.kind == "f":
        pattern[:] = 0.1
    elif dtype != "bool":
        pattern.view(np.uint8)[0] = 0x2D
    assert broken(sketched(np.repeat(pattern, 7), dtype)) == set()


@pytest.mark.parametrize(
    ("change", "holds"),
    [
        pytest.param({}, True, id="nothing"),
        pytest.param({"name": "y", "logical": {"step": 1}}, True, id="another-name"),
        pytest.param({"shape": [2, 2]}, False, id="shape"),
        pytest.param({"dtype": "float64"}, False, id="dtype"),
        pytest.param({"stats": {"finite": 4}}, True, id="fewer-statistics"),
        pytest.param({"stats": sketched(mean=0.8)["stats"]}, False, id="mean"),
        pytest.param({"stats": sketched(l2=6.0)["stats"]}, False, id="norm"),
        pytest.param({"stats": sketched(min=-2.5)["stats"]}, False, id="min"),
        pytest.param({"stats": sketched(neg_zero=1)["stats"]}, False, id="negative-zero"),
    ],
)
def test_one_digest_is_one_tensor(change: dict[str, Any], holds: bool) -> None:
    """A second record of a digest says of the tensor what the first one does."""
    record = sketched()
    assert broken(record, {**record, **change}) == (set() if holds else {(ONE, "b")})


def test_another_digest_may_cover_less() -> None:
    """Only a digest of this format is known to cover type and shape."""
    record = {**sketched(), "digest": "sha256:00"}
    assert broken(record, {**record, "shape": [2, 2]}) == set()


def test_every_rule_was_broken() -> None:
    """The tests here break every rule there is, so that a new one needs a test."""
    assert {POSSIBLE, ONE} == {rule.name for rule in TENSOR_STATISTICS_RULES}
