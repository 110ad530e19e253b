"""What one tensor record says must fit together."""

from __future__ import annotations

from typing import Any

import pytest

from tracediff.events.consistency import check_tensors
from tracediff.events.event import Event
from tracediff.events.validity import InvalidField


def tensor(**changes: Any) -> dict[str, Any]:
    """Return a consistent record of six float32 numbers, with changes."""
    record = {
        "name": "x",
        "dtype": "float32",
        "shape": [2, 3],
        "logical": {},
        "digest": "b3:00",
        "stats": {"finite": 6},
    }
    return {**record, **changes}


def event(*outputs: dict[str, Any], inputs: list[dict[str, Any]] | None = None) -> Event:
    payload = {"outputs": list(outputs), "inputs": inputs or []}
    return Event("t", "e", None, "loop", "step", 0, payload)


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(tensor(), id="plain"),
        pytest.param(tensor(shape=[], stats={"finite": 1}, values=[4.2]), id="0-d"),
        pytest.param(tensor(shape=[2, 0], stats={"finite": 0}, values=[]), id="empty"),
        pytest.param(tensor(values=[0.0] * 6), id="values"),
        pytest.param(
            tensor(stats={"finite": 3, "nan": 1, "pos_inf": 1, "neg_inf": 1}), id="non-finite"
        ),
        pytest.param(
            tensor(stats={"finite": 6, "neg_zero": 6}), id="negative zeros are among the finite"
        ),
        pytest.param(
            tensor(dtype="complex64", shape=[2], stats={"finite": 3, "nan": 1}, values=[0.0] * 4),
            id="a complex element is two numbers",
        ),
        pytest.param(tensor(file="00.npy"), id="bare file name"),
    ],
)
def test_a_consistent_record_passes(record: dict[str, Any]) -> None:
    """Counts and values that cover the shape once are accepted."""
    check_tensors(event(record))


@pytest.mark.parametrize(
    ("record", "field", "reason"),
    [
        pytest.param(tensor(values=[0.0] * 5), "values", "5 values", id="too few values"),
        pytest.param(tensor(values=[0.0] * 7), "values", "7 values", id="too many values"),
        pytest.param(tensor(stats={"finite": 5}), "stats", "is 5", id="too few counted"),
        pytest.param(tensor(stats={"finite": 6, "nan": 1}), "stats", "is 7", id="too many counted"),
        pytest.param(
            tensor(stats={"finite": 4, "nan": 2, "neg_zero": 5}),
            "stats.neg_zero",
            "more negative zeros",
            id="negative zeros beyond the finite",
        ),
        pytest.param(
            tensor(dtype="complex64", stats={"finite": 6}), "stats", "12 numbers", id="complex"
        ),
        pytest.param(
            tensor(shape=[2**40, 2**40, 0], stats={"finite": 0}),
            "shape",
            "2^63",
            id="absurd shape",
        ),
        pytest.param(tensor(shape=[2**64 - 1] * 100_000), "shape", "2^63", id="endless shape"),
        pytest.param(tensor(file="../a.npy"), "file", "no bare file name", id="path upwards"),
        pytest.param(tensor(file="/a.npy"), "file", "no bare file name", id="absolute path"),
        pytest.param(tensor(file="a\\b.npy"), "file", "no bare file name", id="Windows path"),
        pytest.param(tensor(file=".."), "file", "no bare file name", id="the folder above"),
        pytest.param(tensor(file="a\0.npy"), "file", "no bare file name", id="NUL"),
    ],
)
def test_an_inconsistent_record_is_named(record: dict[str, Any], field: str, reason: str) -> None:
    """The field is named with section and position."""
    with pytest.raises(InvalidField) as refusal:
        check_tensors(event(tensor(name="other"), record))
    assert refusal.value.field == f"payload.outputs[1].{field}"
    assert reason in refusal.value.reason


def test_names_are_unique_within_a_section() -> None:
    """Two tensors of one name cannot be told apart; in two sections they can."""
    check_tensors(event(tensor(), inputs=[tensor()]))
    with pytest.raises(InvalidField, match="a second tensor 'x' in outputs") as refusal:
        check_tensors(event(tensor(), tensor()))
    assert refusal.value.field == "payload.outputs[1].name"
