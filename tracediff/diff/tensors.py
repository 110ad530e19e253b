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
from tracediff.events import TensorRecord, ToleranceRule, Tolerances
from tracediff.events.sketches import RESOLUTION, estimate_distance
from tracediff.events.tolerances import DTYPE_DEFAULTS, EXACT
from tracediff.events.trace import TensorSource

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
        for rules, source in ((self.overriding, "command line"), (self.declared, "declared")):
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
        rule, _ = self.rule_for(name, dtype)
        if rule.mode == "exact":
            return None
        if rule.mode == "rel_l2":
            return rule.rel_l2
        return rule.rel_l2 or DTYPE_DEFAULTS.get(dtype, EXACT).rel_l2 or None

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
        if left.digest == right.digest:
            return self._same_digest(left, right, replace(blank, evidence="digest"))
        values = self._values(left, right)
        if values is not None:
            return self._by_values(left, values, blank)
        if left.stats.get("nonfinite") != right.stats.get("nonfinite"):
            reason = "NaN or infinite elements at other places or of another sign"
            return _differs(replace(blank, evidence="non-finite"), reason)
        if rule.mode == "exact":
            return _differs(replace(blank, evidence="digest"), "the rule is exact, digests differ")
        bound = self.sketch_bound(left.name, left.dtype)
        if left.sketch is not None and right.sketch is not None and bound is not None:
            return self._by_sketch(left, right, bound, blank)
        return _undecidable(
            blank,
            "digests differ and neither values nor sketches of both sides are kept; record both "
            "with --tensors sketch or more",
        )

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
        relative = _relative_distance(left, right)
        if not math.isfinite(relative):
            return _undecidable(
                blank, "the sketches overflow; record both with --tensors values or full"
            )
        if bound < RESOLUTION and relative <= bound + RESOLUTION:
            return _undecidable(
                blank,
                f"sketches resolve a relative L2 distance of {RESOLUTION:.2g}, the rule asks for "
                f"{bound:g}; record both with --tensors values or full",
            )
        difference = replace(
            blank,
            evidence="sketch",
            relative_l2=relative,
            confidence=verdict_confidence(relative, bound),
            elements=left.size,
            reason="" if relative <= bound else f"relative L2 distance above {bound:g}",
        )
        return Judgement(relative <= bound, difference)


def _relative_distance(left: TensorRecord, right: TensorRecord) -> float:
    """Return the estimated L2 distance over the larger norm; infinity where nothing is known."""
    assert left.sketch is not None
    assert right.sketch is not None
    distance = estimate_distance(left.sketch, right.sketch)
    norm = max(float(left.stats["l2"]), float(right.stats["l2"]))
    if norm == 0.0:
        return 0.0 if distance == 0.0 else math.inf
    return distance / norm if math.isfinite(norm) else math.inf


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
