"""Digests that unequal tensors may share: they never read as equal, and hide nothing after them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from trace_building import chain, event, tensor

from tracediff.comparison import diff_files
from tracediff.diff import DiffOptions, Outcome, diff_traces
from tracediff.events import ToleranceRule, Tolerances, Trace
from tracediff.events.digest import is_proof, shows_difference
from tracediff.storage import write_trace

STATS = {"finite": 3, "min": 0.0, "max": 1.0, "mean": 0.5, "l2": 1.0}


def record(name: str, digest: str, **stats: Any) -> dict[str, Any]:
    return {
        **{"name": name, "dtype": "float32", "shape": [3], "logical": {}},
        **{"digest": digest, "stats": {**STATS, **stats}},
    }


def dump(*outputs: dict[str, Any], choice: int = 1) -> Trace:
    """Return a trace whose events follow one another, each with one output."""
    events = [event(f"e{i}", outputs=[output]) for i, output in enumerate(outputs)]
    return chain(event("r"), *events, event("c", choice={"token": choice}))


@pytest.mark.parametrize(
    ("left", "right", "proof", "differs"),
    [
        pytest.param("b3:1", "b3:1", True, False, id="equal"),
        pytest.param("b3:1", "b3:2", True, True, id="unequal"),
        pytest.param("b3:1", "crc32:1", True, False, id="unlike-algorithms"),
        pytest.param("~none", "~none", False, False, id="nothing-known"),
        pytest.param("~xor64=1", "~xor64=1", False, False, id="equal-weak"),
        pytest.param("~xor64=1", "~xor64=2", False, True, id="unequal-weak"),
        pytest.param("~l1=1.0", "~l1=1.1", False, False, id="sums-depend-on-the-order"),
        pytest.param("~l1=1.0;xor64=1", "~xor64=2", False, True, id="what-both-have"),
        pytest.param("~xor64=1", "~checksum=2", False, False, id="nothing-in-common"),
        pytest.param("~xor64=1", "b3:1", False, False, id="weak-against-strong"),
    ],
)
def test_what_digests_show(left: str, right: str, proof: bool, differs: bool) -> None:
    """Equality needs a strong digest, a difference two of one algorithm."""
    assert is_proof(left) is proof
    assert shows_difference(left, right) is differs
    assert shows_difference(right, left) is differs


def test_equal_weak_digests_are_undecidable() -> None:
    """Two dumps with the same statistics are not called equal; the first such event is named."""
    made = dump(record("a", "~none"), record("b", "~none"))
    found = diff_traces(made, made)
    assert found.outcome is Outcome.DIVERGED
    assert found.coverage.undecidable == 2
    assert found.cause is not None
    assert found.cause.kind == "undecidable"
    assert found.first is not None
    assert found.first.left is not None
    assert found.first.left.event_id == "e0"
    assert found.frontier == (found.first,)


@pytest.mark.parametrize(
    ("right", "field"),
    [
        pytest.param(
            dump(record("a", "~none"), record("b", "~none", max=2.0)),
            "payload.outputs[b]",
            id="statistics",
        ),
        pytest.param(
            dump(record("a", "~none"), record("b", "~xor64=2")), "payload.outputs[b]", id="hash"
        ),
        pytest.param(
            dump(record("a", "~none"), record("b", "~xor64=1"), choice=2),
            "payload.choice.token",
            id="choice",
        ),
    ],
)
def test_what_is_shown_comes_before_what_is_not(right: Trace, field: str) -> None:
    """Events that nothing decides make no victims: the first shown difference is reported."""
    found = diff_traces(dump(record("a", "~none"), record("b", "~xor64=1")), right)
    assert found.outcome is Outcome.DIVERGED
    assert found.first is not None
    assert found.first.difference.field == field
    assert found.downstream.keys() <= {"choice"}


def test_foreign_digests_prove_equality() -> None:
    """Equal checksums of one algorithm are equal tensors; those of two algorithms prove nothing."""
    left = dump(record("a", "crc32:0badcafe"))
    assert diff_traces(left, left).outcome is Outcome.EQUAL
    other = dump(record("a", "md5:0badcafe"))
    assert diff_traces(left, other).coverage.undecidable == 1
    exact = DiffOptions(Tolerances((ToleranceRule("*", "exact"),)))
    assert diff_traces(left, other, exact).coverage.undecidable == 1


def test_values_decide_where_both_sides_have_them() -> None:
    """A weak digest does not get in the way of better evidence."""
    recorded = tensor("a", np.array([0, 0.5, 1], np.float32))
    found = diff_traces(
        dump({**recorded, "digest": "~none"}), dump({**recorded, "digest": "~none"})
    )
    assert found.outcome is Outcome.WITHIN_TOLERANCE


def test_large_files_of_the_same_bytes_are_not_skipped(tmp_path: Path) -> None:
    """Where the root says that digests are weak, equal bytes do not stand for equal tensors."""
    records = [record(f"t{i}", "~none") for i in range(6000)]
    events = [event(f"e{i}", outputs=[one]) for i, one in enumerate(records)]
    made = chain(event("r"), *events, header={"x-weak-digests": True})
    for name in ("a.jsonl", "b.jsonl"):
        write_trace(made, tmp_path / name)
    assert (tmp_path / "a.jsonl").stat().st_size > 1 << 20
    found = diff_files(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert found.outcome is Outcome.DIVERGED
    assert found.coverage.undecidable == len(records)
