"""What kind of difference two tensors show, from their values or from their sketches alone.

A cause is never a guess: beside each kind stands a pair that nearly looks like it and is not.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from cases.verdicts import PARTED
from mutants.tables import MUTANTS
from trace_building import chain, event, tensor

from tracediff.diff import diff_traces
from tracediff.events import Trace

RANDOM = np.random.default_rng(7)
A = RANDOM.normal(size=(3, 5, 8)).astype(np.float32)
WITH_ZEROS = np.where(np.abs(A) < 0.5, np.float32(0), A)
NEGATIVE_ZEROS = np.where(WITH_ZEROS == 0, -WITH_ZEROS, WITH_ZEROS)
WITH_NAN = np.where(np.arange(8) == 3, np.float32(np.nan), A)
MASKED = np.where(np.arange(8) == 3, np.float32(-np.inf), A)
ROUGH = A * (1 + RANDOM.normal(size=A.shape).astype(np.float32) / 100)
EXACT = [{"match": "*", "mode": "exact"}]

SPEC_KINDS = (
    *("input-changed", "artifact-changed", "tokenizer", "numeric-path", "near-tie", "tie-break"),
    *("processor-order", "stop-rule", "detokenizer", "transport-chunking", "cache-length"),
    *("cache-position", "rng-counter", "rng-algorithm", "seed", "schedule", "guidance-order"),
    *("prediction-type", "constant-factor", "nan-born", "infinity-sign", "sign-of-zero", "dtype"),
    *("shape", "permuted", "layout-only", "missing-event", "extra-event", "reordered"),
    *("schema-rejected", "confirmation-mismatch", "duplicate-commit", "commit-identity"),
    "truncated",
)

# left, right, kind
PAIRS: Mapping[str, tuple[Any, Any, str]] = {
    "factor": (A, A * np.float32(0.18215), "constant-factor"),
    "negative-factor": (A, -A, "constant-factor"),
    "factor-of-masked": (MASKED, MASKED * np.float32(2), "constant-factor"),
    "nearly-a-factor": (A, ROUGH * np.float32(2), "numeric-path"),
    "factor-and-offset": (A, A * np.float32(2) + np.float32(1), "numeric-path"),
    "reversed": (A, A[:, :, ::-1], "permuted"),
    "shuffled": (A, RANDOM.permutation(A.reshape(-1)).reshape(A.shape), "permuted"),
    "nearly-reversed": (A, ROUGH[:, :, ::-1], "numeric-path"),
    "reshaped": (A, A.reshape(15, 8), "layout-only"),
    "transposed": (A, A.transpose(2, 0, 1), "layout-only"),
    "other-numbers-reshaped": (A, ROUGH.reshape(15, 8), "shape"),
    "other-numbers-transposed": (A, ROUGH.transpose(2, 0, 1), "shape"),
    "fewer": (A, A[:2], "shape"),
    "half-precision": (A, A.astype(np.float16), "dtype"),
    "overflow-in-half-precision": (A, WITH_NAN.astype(np.float16), "nan-born"),
    "nan": (A, WITH_NAN, "nan-born"),
    "nan-elsewhere": (WITH_NAN, WITH_NAN[:, :, ::-1], "nan-born"),
    "infinity": (A, np.where(A.max() == A, np.float32(np.inf), A), "infinity-sign"),
    "mask": (A, MASKED, "mask"),
    "zeros-negative": (
        WITH_ZEROS,
        np.where(WITH_ZEROS == 0, -WITH_ZEROS, WITH_ZEROS),
        "sign-of-zero",
    ),
    "zeros-negative-and-more": (WITH_ZEROS, -WITH_ZEROS + np.float32(1), "numeric-path"),
    "noise": (A, ROUGH, "numeric-path"),
}


def one_tensor(array: Any, level: str) -> Trace:
    found = event("e1", outputs=[tensor("x", array, level=level)])
    return chain(event("e0", state={"n": 0}), found, header={"tolerances": EXACT})


@pytest.mark.parametrize("case", PAIRS)
@pytest.mark.parametrize("level", ["values=200", "sketch"])
def test_kind_of_difference(case: str, level: str) -> None:
    """The kind is the same whether values are kept or not, and from either side."""
    left, right, kind = PAIRS[case]
    sides = one_tensor(left, level), one_tensor(right, level)
    for pair in (sides, sides[::-1]):
        found = diff_traces(*pair)
        assert found.cause is not None
        assert found.cause.kind == kind


def test_factor_is_told() -> None:
    """The factor stands in the evidence, also where only sketches are kept."""
    left, right, _ = PAIRS["factor"]
    for level in ("values=200", "sketch"):
        found = diff_traces(one_tensor(left, level), one_tensor(right, level))
        assert found.cause is not None
        assert found.cause.evidence["factor"] == pytest.approx(0.18215, rel=1e-6)


def test_without_evidence_there_is_no_kind() -> None:
    """Digests alone say that something differs, and not what."""
    found = diff_traces(one_tensor(A, "digest"), one_tensor(A * np.float32(2), "digest"))
    assert found.cause is not None
    assert found.cause.kind == "numeric-path"


@pytest.mark.parametrize("kind", SPEC_KINDS)
def test_every_kind_is_shown(kind: str) -> None:
    """Each kind that is promised is the right answer to at least one fault or case."""
    shown: Sequence[str] = [
        *(mutant.cause for _, mutant in MUTANTS),
        *(verdict.cause for verdict in PARTED),
        *(expected for _, _, expected in PAIRS.values()),
    ]
    assert kind in shown
