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


def drawn(key: Sequence[int], algorithm: str = "mt19937", **more: Any) -> Trace:
    """A trace with one draw of random numbers."""
    draw = {"generator": "cpu", "algorithm": algorithm, "key": [*key]}
    draw |= {"counter_before": 0, "counter_after": 4, "draws": {"count": 4}, **more}
    return chain(event("e0", state={"n": 0}), event("e1", rng=[draw]))


@pytest.mark.parametrize(
    ("left", "right", "kind"),
    [
        pytest.param(drawn([5, 70]), drawn([6, 71]), "seed", id="seed"),
        pytest.param(drawn([5, 70]), drawn([5, 71]), "rng-counter", id="drawn-from-before"),
        pytest.param(drawn([5, 70]), drawn([5, 70, 1]), "rng-counter", id="set-once"),
        pytest.param(
            drawn([5, 70, 8, 72, 1], transform="replaced"),
            drawn([5, 70, 9, 72, 1], transform="replaced"),
            "seed",
            id="set-to-another-seed",
        ),
        pytest.param(
            drawn([7, 0], "Philox4x32"), drawn([7, 1], "Philox4x32"), "seed", id="high-word"
        ),
    ],
)
def test_state_of_a_generator(left: Trace, right: Trace, kind: str) -> None:
    """Of torch's Mersenne Twister, the key begins with the seed: what follows is the state."""
    found = diff_traces(left, right)
    assert found.cause is not None
    assert found.cause.kind == kind


STATISTICS = {"finite": 4, "min": -1.5, "max": 2.0, "mean": 0.25, "l2": 3.0}


@pytest.mark.parametrize(
    ("digests", "shapes"),
    [
        pytest.param(("crc32:00000001", "crc32:00000002"), ([4], [4]), id="order"),
        pytest.param(("~l1=3.0", "~l1=3.5"), ([4], [2, 2]), id="shape"),
    ],
)
def test_rounded_statistics_show_no_permutation(
    digests: Sequence[str], shapes: Sequence[Sequence[int]]
) -> None:
    """Equal statistics of another tool beside unlike checksums do not say which elements moved."""
    sides = []
    for digest, shape in zip(digests, shapes, strict=True):
        record = {"name": "x", "dtype": "float32", "shape": [*shape], "logical": {}}
        record |= {"digest": digest, "stats": STATISTICS}
        header = {"tolerances": EXACT, "x-weak-digests": True}
        found = event("e1", outputs=[record])
        sides.append(chain(event("e0", state={"n": 0}), found, header=header))
    found = diff_traces(*sides)
    assert found.cause is not None
    assert found.cause.kind in ("numeric-path", "undecidable", "shape")


ENCODED = {"prompt": "a cat", "text_ids": [[1, 5]], "negative_ids": [[0, 0]]}


@pytest.mark.parametrize(
    ("changes", "kind", "text"),
    [
        pytest.param(
            {"text_ids": [[1, 6]]}, "tokenizer", "the same text was tokenized", id="other-ids"
        ),
        pytest.param(
            {"negative_ids": [[0, 6]], "negative_prompt": "dog"},
            *("input-changed", "ids are those of another text: negative_prompt differs"),
            id="a-negative-text",
        ),
        pytest.param(
            {"text_ids": [[1, 6]], "prompt": "a dog"},
            *("input-changed", "prompt differs"),
            id="another-text",
        ),
        pytest.param(
            {"negative_ids": None}, "missing-field", "only left has", id="ids-on-one-side"
        ),
    ],
)
def test_ids_are_held_against_their_text(changes: dict[str, Any], kind: str, text: str) -> None:
    """Other ids are the tokenizer's doing only where the text is the same."""
    state = {key: value for key, value in {**ENCODED, **changes}.items() if value is not None}
    sides = [chain(event("e0"), event("e1", state=held)) for held in (ENCODED, state)]
    found = diff_traces(*sides)
    assert found.cause is not None
    assert found.cause.kind == kind
    assert text in found.cause.explanation


@pytest.mark.parametrize(
    ("rendered", "kind"), [({"text": "a cat"}, "tokenizer"), ({}, "input-changed")]
)
def test_ids_without_a_text(rendered: dict[str, Any], kind: str) -> None:
    """Where no text is recorded, other ids are another input."""
    sides = [
        chain(
            event("e0"),
            event("e1", event_type="context.rendered", choice=rendered),
            event("e2", choice={"input_ids": ids}),
        )
        for ids in ([[1, 2]], [[1, 3]])
    ]
    found = diff_traces(*sides)
    assert found.cause is not None
    assert found.cause.kind == kind
