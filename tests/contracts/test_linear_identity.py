"""Linear identities between recorded tensors: what is still rounding, and what is not."""

from typing import Any

import numpy as np
import pytest
from trace_building import chain, event, tensor

from tracediff.contracts.linear_identity import Term, measure
from tracediff.engine.philox import PhiloxGenerator
from tracediff.events import Trace

EMPTY = chain(event("e00"))
SIZE = 16384


def draw(seed: int, dtype: type = np.float32) -> np.ndarray[Any, Any]:
    return PhiloxGenerator(seed).normals(SIZE).astype(dtype)


def guided(scale: float, *, stepwise: bool = False) -> list[np.ndarray[Any, Any]]:
    """Return negative, positive and their guided combination, rounded once or at every step."""
    negative = draw(1)
    positive = negative + np.float32(0.05) * draw(2)
    if stepwise:
        return [negative, positive, negative + np.float32(scale) * (positive - negative)]
    exact = negative + scale * (positive.astype(np.float64) - negative)
    return [negative, positive, exact.astype(np.float32)]


def residual(arrays: list[np.ndarray[Any, Any]], constants: list[float], level: str) -> Any:
    records = [tensor(str(i), array, level=level) for i, array in enumerate(arrays)]
    terms = [Term(c, record) for c, record in zip(constants, records, strict=True)]
    return measure(EMPTY, terms)


LEVELS = [
    pytest.param("sketch", "sketches", id="sketch"),
    pytest.param(f"values={SIZE}", "values", id="values"),
]


@pytest.mark.parametrize(("level", "evidence"), LEVELS)
@pytest.mark.parametrize("scale", [0.0, 1.0, 1.5, 5.0, 30.0])
@pytest.mark.parametrize("stepwise", [False, True])
def test_true_identities_hold(scale: float, stepwise: bool, level: str, evidence: str) -> None:
    """The true constants leave nothing but rounding, with room to spare."""
    found = residual(guided(scale, stepwise=stepwise), [1 - scale, scale, -1.0], level)
    assert found.evidence == evidence
    assert found.is_zero
    if evidence == "sketches":
        assert found.left < found.allowed / 2


@pytest.mark.parametrize(("level", "evidence"), LEVELS)
@pytest.mark.parametrize("scale", [4.999, 5.001, 4.0, -5.0])
def test_other_constants_do_not(scale: float, level: str, evidence: str) -> None:
    """A scale that is off by a five-thousandth is told from the true one."""
    found = residual(guided(scale), [1 - 5.0, 5.0, -1.0], level)
    assert found.evidence == evidence
    assert not found.is_zero
    assert "off by" in found.describe()


@pytest.mark.parametrize(
    ("level", "error"),
    [
        pytest.param(f"values={SIZE}", 1e-15, id="values"),
        # A sketch is float32 whatever the tensor is.
        pytest.param("sketch", 1e-6, id="sketch"),
    ],
)
def test_float64_is_held_to_its_own_rounding(level: str, error: float) -> None:
    """Between float64 tensors an error counts as soon as it is larger than the evidence's own."""
    x = draw(3, np.float64)
    assert residual([x, 3.0 * x], [3.0, -1.0], level).is_zero
    assert not residual([x, 3.0 * x * (1 + error)], [3.0, -1.0], level).is_zero


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param({"shape": [2, SIZE // 2]}, "another shape", id="shape"),
        pytest.param({"dtype": "int32"}, "no float type", id="dtype"),
        pytest.param({"stats": {"nan": 1}}, "NaN", id="nan"),
        pytest.param({"stats": {"pos_inf": 1}}, "infinity", id="infinity"),
        pytest.param({"sketch": None}, "neither values nor sketch", id="digest-only"),
    ],
)
def test_what_cannot_be_told(change: dict[str, Any], reason: str) -> None:
    """Where the records cannot tell there is no residual, rather than a wrong one."""
    record = tensor("x", draw(1), level="sketch")
    other = {key: value for key, value in {**record, **change}.items() if value is not None}
    assert measure(EMPTY, [Term(1.0, record), Term(-1.0, other)]) is None, reason


def test_empty_tensors_satisfy_everything() -> None:
    """An identity between tensors without elements holds."""
    record = tensor("x", np.zeros(0, np.float32))
    found = measure(EMPTY, [Term(1.0, record), Term(1.0, record)])
    assert found is not None
    assert found.is_zero


def test_infinite_sketches_cannot_tell() -> None:
    """A sketch whose numbers left float32 says nothing."""
    record = tensor("x", draw(1, np.float64) * 1e300, level="sketch")
    assert "Infinity" in record["sketch"] or "-Infinity" in record["sketch"]
    assert measure(EMPTY, [Term(1.0, record), Term(-1.0, record)]) is None


def test_missing_files_leave_the_sketches(tmp_path: Any) -> None:
    """Where a record names a file that is not there, its sketch decides."""
    records = [
        {**tensor(str(i), array, level="sketch"), "file": f"{i:032x}.npy"}
        for i, array in enumerate(guided(5.0))
    ]
    trace = Trace(EMPTY.events, tensors=Nowhere())
    terms = [Term(c, record) for c, record in zip((-4.0, 5.0, -1.0), records, strict=True)]
    found = measure(trace, terms)
    assert found is not None
    assert (found.evidence, found.is_zero) == ("sketches", True)


class Nowhere:
    def load(self, record: Any) -> None:
        return None
