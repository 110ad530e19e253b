"""A tensor record that its own numbers contradict is reported, for every element type."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from trace_building import chain, event, tensor

from tracediff import Recorder
from tracediff.contracts import check_trace
from tracediff.contracts.tensor_records import TENSOR_RECORD_RULES
from tracediff.events import Trace
from tracediff.events.element_types import ELEMENT_TYPES
from tracediff.storage import read_trace

Change = Callable[[dict[str, Any]], dict[str, Any]]
DIGEST, STATISTICS = "values-have-their-digest", "statistics-are-of-the-values"
NUMBERS = np.float32([1.5, -2.25, 0.1, 4.2])
QUIET, OTHER_NAN = 0x7FC00000, 0x7FC00001


def holding(record: dict[str, Any]) -> Trace:
    """Return a trace with one tensor."""
    return chain(event("a", outputs=[record]))


def broken(record: dict[str, Any]) -> set[str]:
    """Return the rules that a trace with one tensor breaks."""
    return {violation.rule for violation in check_trace(holding(record)).violations}


def stats_with(**values: Any) -> Change:
    """Return a change of statistics."""
    return lambda record: {**record, "stats": {**record["stats"], **values}}


def values_with(index: int, value: Any) -> Change:
    """Return a change of one value."""

    def change(record: dict[str, Any]) -> dict[str, Any]:
        values = list(record["values"])
        values[index] = value
        return {**record, "values": values}

    return change


def with_keys(**values: Any) -> Change:
    """Return a change of the record's own keys."""
    return lambda record: {**record, **values}


@pytest.mark.parametrize(
    ("change", "rules"),
    [
        pytest.param(with_keys(), set(), id="nothing"),
        pytest.param(with_keys(digest="b3:" + "0" * 32), {DIGEST}, id="digest"),
        pytest.param(with_keys(shape=[2, 2]), {DIGEST}, id="shape"),
        pytest.param(with_keys(dtype="float64"), {DIGEST, STATISTICS}, id="dtype"),
        pytest.param(values_with(0, 1.25), {DIGEST, STATISTICS}, id="value"),
        pytest.param(values_with(0, "x"), {DIGEST}, id="no-number"),
        pytest.param(values_with(0, 1e39), {DIGEST}, id="beyond-the-type"),
        pytest.param(values_with(2, 0.1000000015), set(), id="more-digits-of-the-same-number"),
        pytest.param(stats_with(min=-2.5), {STATISTICS}, id="min"),
        pytest.param(stats_with(max=4.2000003), {STATISTICS}, id="max-by-one-bit"),
        pytest.param(stats_with(mean=0.8876), {STATISTICS}, id="mean"),
        pytest.param(stats_with(l2=5.0), {STATISTICS}, id="norm"),
        pytest.param(stats_with(l2="Infinity"), {STATISTICS}, id="infinite-norm"),
        pytest.param(stats_with(neg_zero=1), {STATISTICS}, id="negative-zero"),
        pytest.param(stats_with(finite=3, nan=1), {STATISTICS}, id="counted-as-nan"),
        pytest.param(with_keys(stats={"finite": 4}), set(), id="no-statistics"),
        pytest.param(with_keys(digest="sha256:00"), set(), id="another-digest"),
        pytest.param(with_keys(dtype="float12"), set(), id="unknown-type"),
        pytest.param(
            with_keys(digest="b3:00"), {DIGEST, "digests-have-their-form"}, id="short-digest"
        ),
        pytest.param(
            with_keys(digest="b3:" + "G" * 32), {DIGEST, "digests-have-their-form"}, id="no-hex"
        ),
        pytest.param(
            stats_with(nonfinite="b3:0"), {"digests-have-their-form"}, id="digest-of-places"
        ),
    ],
)
def test_change_is_reported(change: Change, rules: set[str]) -> None:
    """What the values contradict is reported; what they do not determine is not."""
    assert broken(change(tensor("x", NUMBERS))) == rules


def bits_of(dtype: str) -> np.ndarray[Any, Any]:
    """Return every bit pattern of a small type, or random ones of a large type, in its storage."""
    element = ELEMENT_TYPES[dtype]
    if dtype == "bool":
        return np.array([True, False, True])
    if element.component.itemsize <= 2:
        every = np.arange(2 ** (8 * element.component.itemsize), dtype=np.uint32)
        unsigned = every.astype(f"u{element.component.itemsize}")
        return unsigned.view(element.storage)[:: 1 if unsigned.itemsize == 1 else 7]
    return np.frombuffer(np.random.default_rng(5).bytes(2048), element.storage)


@pytest.mark.parametrize("dtype", ELEMENT_TYPES)
def test_every_element_type_holds(dtype: str) -> None:
    """Numbers of each type, non-finite ones among them, keep their rules; a wrong one does not."""
    record = tensor("x", bits_of(dtype), dtype=dtype, level="values=65536")
    assert broken(record) == set()
    assert broken(stats_with(l2=-1.0)(record)) == {STATISTICS}


@pytest.mark.parametrize("dtype", ELEMENT_TYPES)
def test_every_element_type_has_its_digest(dtype: str) -> None:
    """Finite numbers of each type determine the digest."""
    bits = bits_of(dtype)
    values = tensor("x", bits, dtype=dtype, level="values=65536")["values"]
    width = ELEMENT_TYPES[dtype].components
    finite = [not isinstance(value, str) for value in values]
    rows = np.array(finite).reshape(-1, width).all(axis=1)
    record = tensor("x", bits[rows], dtype=dtype, level="values=65536")
    assert broken(record) == set()
    assert broken({**record, "digest": "b3:" + "0" * 32}) == {DIGEST}


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("float8_e4m3fn", "Infinity"),
        ("int8", 128),
        ("int32", 1.5),
        ("uint64", -1),
        ("bool", 2),
        ("int64", "NaN"),
    ],
)
def test_values_that_are_none_of_the_type(dtype: str, value: Any) -> None:
    """A value that the type cannot hold was never in the tensor."""
    record = tensor("x", np.zeros(1, ELEMENT_TYPES[dtype].storage), dtype=dtype)
    assert DIGEST in broken({**record, "values": [value]})


def test_nan_does_not_say_its_bits() -> None:
    """The name NaN stands for many bit patterns, so the digest is not held against it."""
    for bits in (QUIET, OTHER_NAN):
        record = tensor("x", np.uint32([bits, 0x3F800000]).view(np.float32))
        assert record["values"] == ["NaN", 1.0]
        assert broken(record) == set()
        assert broken(stats_with(max=2.0)(record)) == {STATISTICS}


@pytest.mark.parametrize("number", [1e308, 1e-308, 5e-324, -1e300])
def test_extreme_numbers_keep_their_statistics(number: float) -> None:
    """Squares that overflow or vanish do not make a true record a wrong one."""
    assert broken(tensor("x", np.array([number, number, number / 3]))) == set()


def recorded(folder: Path) -> tuple[Path, Path]:
    """Record one tensor with its file; return the paths of both."""
    path = folder / "full.jsonl"
    with Recorder(path, tensors="full") as recorder:
        recorder.event("loop", "state.updated", outputs={"x": np.arange(100, dtype=np.float32)})
    (file,) = (folder / "full.tensors").iterdir()
    return path, file


def changed_last_bit(content: bytes) -> bytes:
    return content[:-1] + bytes([content[-1] ^ 1])


@pytest.mark.parametrize(
    ("change", "rules"),
    [
        pytest.param(lambda content: content, set(), id="nothing"),
        pytest.param(changed_last_bit, {"files-have-their-digest"}, id="one-bit"),
        pytest.param(lambda content: content[:64], {"files-have-their-digest"}, id="cut"),
    ],
)
def test_file_has_its_digest(
    change: Callable[[bytes], bytes], rules: set[str], tmp_path: Path
) -> None:
    """A stored tensor that was changed after recording is reported."""
    path, file = recorded(tmp_path)
    file.write_bytes(change(file.read_bytes()))
    assert {violation.rule for violation in check_trace(read_trace(path)).violations} == rules


def test_a_trace_without_its_files_is_not_broken(tmp_path: Path) -> None:
    """Files that were left behind say nothing."""
    path, file = recorded(tmp_path)
    file.unlink()
    assert check_trace(read_trace(path)).violations == ()


def test_every_rule_was_broken() -> None:
    """The tests here break every rule there is, so that a new one needs a test."""
    broken_here = {DIGEST, STATISTICS, "digests-have-their-form", "files-have-their-digest"}
    assert broken_here == {rule.name for rule in TENSOR_RECORD_RULES}
