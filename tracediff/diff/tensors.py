"""Decides whether two recorded tensors agree: attributes, digests, values, files, sketches.

Knows records, rules and evidence. Must not know events or where files are; values of files come
through a `TensorSource`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tracediff.diff.confidence import verdict_confidence
from tracediff.diff.result import TensorDifference
from tracediff.diff.sketch_verdict import Decision, judge_sketches
from tracediff.diff.statistics_verdict import show_difference
from tracediff.events import TensorRecord, ToleranceRule, Tolerances
from tracediff.events.digest import is_proof, shows_difference
from tracediff.events.tolerances import DTYPE_DEFAULTS, EXACT
from tracediff.events.trace import TensorSource

COMMAND_LINE = "command line"

EPSILONS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}
"""Relative distance of neighbouring numbers, at most."""

INFINITIES = ("Infinity", "-Infinity")

WELL_WITHIN = 0.5
"""Share of a tolerance up to which decimals decide without being rounded to their type."""

DIGESTS_DIFFER = (
    "digests differ and neither values nor sketches of both sides are kept; record both "
    "with --tensors sketch or more"
)
NOTHING_PROVEN = (
    "nothing that was recorded of both sides proves their elements equal or different; record both "
    "with --tensors sketch or more"
)

if TYPE_CHECKING:
    from tracediff.diff.elements import Array, ElementErrors


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a pair of tensors is within tolerance, and everything that was measured."""

    within: bool
    difference: TensorDifference


@dataclass(frozen=True, slots=True)
class _Values:
    """Flat arrays of both sides, and where they come from."""

    left: Array
    right: Array
    evidence: str


@dataclass(frozen=True, slots=True)
class TensorJudge:
    """Judges pairs of tensors by left's declared tolerances, or by overriding ones.

    `overriding` rules (from the command line) come before the declared ones. `nan_equal` says that
    NaN equals NaN at the same place.
    """

    declared: Tolerances
    overriding: Tolerances = Tolerances()
    nan_equal: bool = True
    left_source: TensorSource | None = None
    right_source: TensorSource | None = None

    def rule_for(self, name: str, dtype: str) -> tuple[ToleranceRule, str]:
        """Return the deciding rule and where it comes from."""
        for rules, source in ((self.overriding, COMMAND_LINE), (self.declared, "declared")):
            rule = rules.find(name)
            if rule is not None:
                return rule, f"{source}: {rule.match}"
        if dtype in DTYPE_DEFAULTS:
            return DTYPE_DEFAULTS[dtype], f"default for {dtype}"
        return EXACT, f"default for {dtype}"

    def sketch_bound(self, name: str, dtype: str) -> float | None:
        """Return the relative L2 distance up to which sketches show two tensors to agree.

        None where sketches cannot decide: the rule is exact, or nothing stands in for it.
        """
        rule, source = self.rule_for(name, dtype)
        if rule.mode == "exact":
            return None
        if rule.mode == "rel_l2":
            return rule.rel_l2
        if rule.rel_l2:
            return rule.rel_l2
        if source.startswith(COMMAND_LINE):
            # What the tolerance of each element amounts to for all of them.
            return rule.rtol if rule.mode == "allclose" else rule.ulps * EPSILONS.get(dtype, 0.0)
        return DTYPE_DEFAULTS.get(dtype, EXACT).rel_l2 or None

    def close(self, left: float, right: float) -> bool:
        """Whether two measured numbers outside tensors (values of a `top` list) agree."""
        rule, _ = self.rule_for("top", "float32")
        if rule.mode != "allclose":
            return left == right
        return abs(left - right) <= rule.atol + rule.rtol * max(abs(left), abs(right))

    def judge(self, left: TensorRecord, right: TensorRecord, section: str) -> Judgement:
        """Return the judgement of two records of one name."""
        rule, source = self.rule_for(left.name, left.dtype)
        blank = TensorDifference(
            left.name,
            section,
            "",
            rule,
            source,
            "attributes",
            nan_elements=left.stats.get("nan", 0),
        )
        if left.dtype != right.dtype:
            return _differs(blank, f"dtype {left.dtype} against {right.dtype}")
        if left.shape != right.shape:
            return _differs(blank, f"shape {list(left.shape)} against {list(right.shape)}")
        if left.digest == right.digest and is_proof(left.digest):
            return self._same_digest(left, right, replace(blank, evidence="digest"))
        relative = _plainly_close(left, right, rule)
        if relative is not None:
            found = replace(blank, evidence="values", relative_l2=relative, elements=left.size)
            return Judgement(True, found)
        values = self._values(left, right)
        if values is not None:
            return self._by_values(left, values, blank)
        differ = shows_difference(left.digest, right.digest)
        if differ and left.stats.get("nonfinite") != right.stats.get("nonfinite"):
            reason = "NaN or infinite elements at other places or of another sign"
            return _differs(replace(blank, evidence="non-finite"), reason)
        if differ and rule.mode == "exact":
            return _differs(replace(blank, evidence="digest"), "the rule is exact, digests differ")
        bound = self.sketch_bound(left.name, left.dtype)
        if left.sketch is not None and right.sketch is not None and bound is not None:
            return self._by_sketch(left, right, bound, blank)
        reason = show_difference(
            (left.digest, left.stats),
            (right.digest, right.stats),
            left.shape,
            rule,
            EPSILONS.get(left.dtype, 0.0),
        )
        if reason:
            return _differs(replace(blank, evidence="statistics"), reason)
        return _undecidable(blank, DIGESTS_DIFFER if differ else NOTHING_PROVEN)

    def _same_digest(
        self, left: TensorRecord, right: TensorRecord, blank: TensorDifference
    ) -> Judgement:
        if not self.nan_equal and left.stats.get("nan"):
            return _differs(blank, "NaN on both sides, which counts as different")
        for mine, other, what in (
            (left.values, right.values, "values"),
            (left.sketch, right.sketch, "sketches"),
            (left.stats, right.stats, "statistics"),
        ):
            if mine is not None and other is not None and mine != other:
                return _undecidable(
                    blank,
                    f"the digests agree but the recorded {what} do not: one record was altered; "
                    "record it again",
                )
        return Judgement(True, blank)

    def _values(self, left: TensorRecord, right: TensorRecord) -> _Values | None:
        mine = self._load(left, self.left_source)
        other = self._load(right, self.right_source)
        if mine is None or other is None:
            return None
        kept = left.values is not None and right.values is not None
        return _Values(mine, other, "values" if kept else "files")

    def _load(self, record: TensorRecord, source: TensorSource | None) -> Array | None:
        if record.values is None and (record.file is None or source is None):
            return None
        # numpy loads here and not before: most comparisons end at digests.
        from tracediff.diff.elements import decode_values
        from tracediff.events.element_types import decode_elements

        if record.values is not None:
            return decode_values(record)
        stored = None if source is None else source.load(record)
        return None if stored is None else decode_elements(stored, record.dtype)

    def _by_values(
        self, record: TensorRecord, values: _Values, blank: TensorDifference
    ) -> Judgement:
        from tracediff.diff.elements import compare_elements

        errors = compare_elements(
            values.left,
            values.right,
            record.dtype,
            record.shape,
            blank.rule,
            nan_equal=self.nan_equal,
        )
        found = _with_errors(blank, errors, values.evidence, record.size)
        return Judgement(not errors.reason, found)

    def _by_sketch(
        self, left: TensorRecord, right: TensorRecord, bound: float, blank: TensorDifference
    ) -> Judgement:
        assert left.sketch is not None
        assert right.sketch is not None
        atol = blank.rule.atol if blank.rule.mode == "allclose" else 0.0
        found = judge_sketches(left.sketch, left.stats, right.sketch, right.stats, bound, atol)
        difference = replace(
            blank,
            evidence=found.evidence,
            bound=bound,
            relative_l2=found.relative if math.isfinite(found.relative) else None,
            confidence=verdict_confidence(found.relative, bound),
            elements=left.size,
            reason=found.reason,
        )
        if found.decision is Decision.UNDECIDABLE:
            return _undecidable(difference, found.reason)
        return Judgement(found.decision is Decision.WITHIN, difference)


def _plainly_close(left: TensorRecord, right: TensorRecord, rule: ToleranceRule) -> float | None:
    """Return the relative L2 distance where few values are well within an allclose rule.

    Most tolerated tensors are small: they are done without arrays. Decimals stand for the nearest
    numbers of their type, so what is close to the border is left to the exact comparison.
    """
    if rule.mode != "allclose" or left.values is None or right.values is None:
        return None
    rtol, atol = rule.rtol * WELL_WITHIN, rule.atol * WELL_WITHIN
    mine, other = [], []
    for x, y in zip(left.values, right.values, strict=True):
        if type(x) is float and type(y) is float:
            if abs(x - y) > atol + rtol * max(abs(x), abs(y)):
                return None
            mine.append(x)
            other.append(y)
        elif x != y or x not in INFINITIES:
            return None
    norm = max(math.hypot(*mine), math.hypot(*other))
    return math.dist(mine, other) / norm if norm > 0 else 0.0


def _with_errors(
    blank: TensorDifference, errors: ElementErrors, evidence: str, elements: int
) -> TensorDifference:
    return replace(
        blank,
        reason=errors.reason,
        evidence="non-finite" if errors.kind in ("nan", "infinity") else evidence,
        relative_l2=errors.relative_l2,
        worst_absolute=errors.worst_absolute,
        worst_relative=errors.worst_relative,
        worst_ulp=errors.worst_ulp,
        out_of_tolerance=errors.out_of_tolerance,
        elements=elements,
        first_index=errors.first_index,
    )


def _differs(difference: TensorDifference, reason: str) -> Judgement:
    return Judgement(False, replace(difference, reason=reason))


def _undecidable(difference: TensorDifference, reason: str) -> Judgement:
    found: Any = replace(difference, reason=reason, evidence="none", decidable=False)
    return Judgement(False, found)
