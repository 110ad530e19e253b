"""Whether two recorded tensors agree: attributes, NaN, infinities, rules, evidence."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from trace_building import tensor

from tracediff.diff.tensors import Judgement, TensorJudge
from tracediff.events import TensorRecord, ToleranceRule, Tolerances
from tracediff.events.tensors import tensor_from_json

NAN, INF = float("nan"), float("inf")
LARGE = np.random.default_rng(5).standard_normal((40, 30)).astype(np.float32)


NOISE = np.random.default_rng(6).standard_normal((40, 30)).astype(np.float32)
NOISE[np.abs(LARGE) > 2.5] = 0  # the extremes stay where they are
FLAT = np.random.default_rng(7).standard_normal(4096).astype(np.float32)
SHUFFLED = np.concatenate([FLAT[:2048][::-1], FLAT[2048:]])
MASK = np.where(np.arange(4096) < 2048, 0, -1e9).astype(np.float32)


def f32(*values: float) -> Any:
    return np.array(values, np.float32)


def rule(mode: str, **numbers: Any) -> Tolerances:
    return Tolerances((ToleranceRule("*", mode, **numbers),))


@dataclass(frozen=True)
class Case:
    """Two arrays, how they are recorded and judged, and the verdict."""

    left: Any
    right: Any
    within: bool
    evidence: str
    level: str = "values=64"
    rules: Tolerances = Tolerances()
    nan_equal: bool = True
    dtype: str | None = None


CASES = {
    "same": Case(f32(1, 2), f32(1, 2), True, "digest"),
    "noise": Case(f32(1, 2), f32(1, 2.000001), True, "values"),
    "beyond": Case(f32(1, 2), f32(1, 2.001), False, "values"),
    "small-numbers-use-atol": Case(f32(0), f32(9e-6), True, "values"),
    "dtype": Case(f32(1), np.array([1.0]), False, "attributes"),
    "shape": Case(f32(1, 2), f32(1, 2).reshape(1, 2), False, "attributes"),
    "nan-same-place": Case(f32(NAN, 1), f32(NAN, 1.0000001), True, "values"),
    "nan-differs-by-option": Case(f32(NAN, 1), f32(NAN, 1), False, "digest", nan_equal=False),
    "nan-born": Case(f32(1, 1), f32(NAN, 1), False, "non-finite"),
    "infinity-sign": Case(f32(INF, 1), f32(-INF, 1), False, "non-finite"),
    "infinity-against-largest": Case(f32(INF), f32(3.4e38), False, "non-finite"),
    "infinity-sign-by-sketch": Case(
        np.append(LARGE, np.float32(INF)),
        np.append(LARGE, np.float32(-INF)),
        False,
        "non-finite",
        level="sketch",
    ),
    "signed-zero-close": Case(f32(0.0), f32(-0.0), True, "values"),
    "signed-zero-exact": Case(f32(0.0), f32(-0.0), False, "values", rules=rule("exact")),
    "integers-are-exact": Case(np.array([2**53, 1]), np.array([2**53 + 1, 1]), False, "values"),
    "large-integers-by-digest": Case(
        np.arange(100), np.arange(100) + (np.arange(100) == 99), False, "digest", level="sketch"
    ),
    "bools-are-exact": Case(np.array([True, False]), np.array([True, True]), False, "values"),
    "ulp-within": Case(
        f32(1), np.nextafter(f32(1), f32(2)), True, "values", rules=rule("ulp", ulps=1)
    ),
    "ulp-beyond": Case(f32(1), f32(1.0000005), False, "values", rules=rule("ulp", ulps=2)),
    "ulp-across-zero": Case(f32(1e-45), f32(-1e-45), True, "values", rules=rule("ulp", ulps=2)),
    "rel-l2-within": Case(
        f32(3, 4), f32(3, 4.004), True, "values", rules=rule("rel_l2", rel_l2=1e-3)
    ),
    "rel-l2-beyond": Case(
        f32(3, 4), f32(3, 4.1), False, "values", rules=rule("rel_l2", rel_l2=1e-3)
    ),
    "sketch-within": Case(LARGE, LARGE * np.float32(1 + 1e-6), True, "sketch", level="sketch"),
    "sketch-beyond": Case(LARGE, LARGE + NOISE * f32(1e-3), False, "sketch", level="sketch"),
    "largest-element-differs": Case(
        LARGE, LARGE * np.float32(1 + 1e-3), False, "statistics", level="sketch"
    ),
    "flip-beside-a-mask": Case(MASK + FLAT, MASK - FLAT, False, "statistics", level="sketch"),
    "hidden-beside-a-mask": Case(MASK + FLAT, MASK + SHUFFLED, False, "none", level="sketch"),
    "hidden-beside-one-element": Case(
        np.append(np.abs(FLAT), np.float32(1e9)),
        np.append(np.abs(FLAT[::-1]), np.float32(1e9)),
        False,
        "none",
        level="sketch",
    ),
    "too-near-the-bound": Case(LARGE, LARGE + NOISE * f32(1e-5), False, "none", level="sketch"),
    "all-below-atol": Case(
        LARGE * f32(1e-7), NOISE * f32(1e-7), True, "statistics", level="sketch"
    ),
    "stand-in-for-an-option": Case(
        LARGE,
        LARGE + NOISE * f32(1e-3),
        True,
        "sketch",
        level="sketch",
        rules=rule("allclose", rtol=1e-2, atol=0.0),
    ),
    "stand-in-for-ulps": Case(
        LARGE,
        LARGE + NOISE * f32(1e-6),
        False,
        "sketch",
        level="sketch",
        rules=rule("ulp", ulps=2),
    ),
    "rel-l2-zero-is-strict": Case(
        LARGE,
        LARGE + NOISE * f32(1e-6),
        False,
        "sketch",
        level="sketch",
        rules=rule("rel_l2"),
    ),
    "digests-cannot-decide": Case(
        LARGE, LARGE * np.float32(1 + 1e-6), False, "none", level="digest"
    ),
    "exact-by-digest": Case(
        LARGE, LARGE * np.float32(1 + 1e-6), False, "digest", level="sketch", rules=rule("exact")
    ),
    "empty": Case(np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32), True, "digest"),
    "zero-dimensional": Case(np.float32(1.0), np.float32(1.0000001), True, "values"),
    "complex": Case(np.array([1 + 2j]), np.array([1 + 2.1j]), False, "values"),
    "bfloat16-rounding": Case(
        np.array([0x3F80], np.uint16),
        np.array([0x3F81], np.uint16),
        True,
        "values",
        dtype="bfloat16",
    ),
    "bfloat16-beyond": Case(
        np.array([0x3F80], np.uint16),
        np.array([0x3F90], np.uint16),
        False,
        "values",
        dtype="bfloat16",
    ),
}


def record(array: Any, case: Case) -> TensorRecord:
    return tensor_from_json(tensor("x", array, level=case.level, dtype=case.dtype))


def judge(left: TensorRecord, right: TensorRecord, case: Case) -> Judgement:
    return TensorJudge(Tolerances(), case.rules, case.nan_equal).judge(left, right, "outputs")


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("swapped", [False, True], ids=["as-is", "swapped"])
def test_judgement(name: str, *, swapped: bool) -> None:
    """The verdict and what decided it, from either side."""
    case = CASES[name]
    sides = [record(case.left, case), record(case.right, case)]
    if swapped:
        sides.reverse()
    found = judge(sides[0], sides[1], case)
    assert (found.within, found.difference.evidence) == (case.within, case.evidence)
    assert bool(found.difference.reason) != found.within
    assert found.difference.decidable == (case.evidence != "none")


def test_errors_are_measured() -> None:
    """Worst errors come with their places, and the first element out of tolerance is named."""
    left = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], np.float32)
    right = left.copy()
    right[0, 2] = 3.5
    right[1, 0] = 4.25
    found = judge(record(left, CASES["same"]), record(right, CASES["same"]), CASES["same"])
    difference = found.difference
    assert difference.first_index == (0, 2)
    assert difference.out_of_tolerance == 2
    assert difference.elements == 6
    assert difference.worst_absolute is not None
    assert difference.worst_absolute.error == 0.5
    assert difference.worst_absolute.index == (0, 2)
    assert difference.worst_ulp is not None
    assert difference.worst_ulp.error == 2**21


ALTERED: Mapping[str, Mapping[str, Any]] = {
    "values": {"values": (1.0, 9.0)},
    "statistics": {"stats": {"finite": 2, "min": 1.0, "max": 9.0, "mean": 5.0, "l2": 9.1}},
}


@pytest.mark.parametrize("what", ALTERED)
def test_altered_record_is_never_equal(what: str) -> None:
    """Equal digests beside other values or statistics mean that somebody edited a record."""
    left = record(f32(1, 2), CASES["same"])
    fields = {name: getattr(left, name) for name in TensorRecord.__dataclass_fields__}
    right = TensorRecord(**{**fields, **ALTERED[what]})
    found = judge(left, right, CASES["same"])
    assert not found.within
    assert not found.difference.decidable
    assert what in found.difference.reason


def test_rules_by_glob_and_source() -> None:
    """The first fitting rule decides, options before declarations before the default table."""
    declared = Tolerances(
        (ToleranceRule("layer.*", "exact"), ToleranceRule("*", "rel_l2", rel_l2=1e-3))
    )
    option = Tolerances((ToleranceRule("layer.1.*", "ulp", ulps=4),))
    judges = TensorJudge(declared, option)
    assert judges.rule_for("layer.1.key", "float32")[0].mode == "ulp"
    assert judges.rule_for("layer.0.key", "float32") == (declared.rules[0], "declared: layer.*")
    assert judges.rule_for("logits", "float32")[0].mode == "rel_l2"
    plain = TensorJudge(Tolerances())
    assert plain.rule_for("logits", "bfloat16")[1] == "default for bfloat16"
    assert plain.rule_for("ids", "int64")[0].mode == "exact"
