"""Compares repeated runs with each other and returns the tolerances under which they agree.

Knows traces, the walk of a comparison, and needs. Must not know files. Events that differ exactly,
and all that follows from them, are not measured: a tolerance must not hide another token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from tracediff.calibration.measure import Measured, MeasuringJudge, Need, Needs
from tracediff.calibration.rules import CalibratedRule, make_rules
from tracediff.calibration.tops import level_tops
from tracediff.diff import DiffOptions, diff_traces
from tracediff.diff.align import Alignment, Pair, align
from tracediff.diff.lineage import Lineage
from tracediff.diff.renaming import tensors_of
from tracediff.diff.result import Divergence
from tracediff.diff.sections import PairComparer
from tracediff.diff.structure import structural_difference
from tracediff.diff.tensors import TensorJudge
from tracediff.errors import UsageError
from tracediff.events import Tolerances, Trace
from tracediff.events.tolerances import tolerances_from_json

TOP = "top"
TOP_DTYPE = "float32"


@dataclass(frozen=True, slots=True)
class ExactDifference:
    """Where two runs still part under the rules: not noise, or too little was recorded to say."""

    left: str
    right: str
    divergence: Divergence
    downstream: int


@dataclass(frozen=True, slots=True)
class Calibration:
    """What repeated runs need.

    `rules` in the order in which they are to be tried; `margin` is in them; `differences` is empty
    where the runs agree under the rules; `tensors` counts pairs of tensors by what was measured.
    """

    runs: tuple[str, ...]
    margin: float
    rules: tuple[CalibratedRule, ...]
    differences: tuple[ExactDifference, ...]
    tensors: dict[str, int]


def calibrate(runs: Sequence[Trace], margin: float = 2.0) -> Calibration:
    """Return the tolerances under which all runs agree, measured on each pair of them.

    `margin`, at least 1, multiplies what was measured. Raises UsageError for fewer than two runs
    and for runs of different kinds.
    """
    if len(runs) < 2:
        raise UsageError("calibration compares runs with each other: give two traces or more")
    for run in runs[1:]:
        if run.kind != runs[0].kind:
            raise UsageError(
                f"{runs[0].name} is of kind {runs[0].kind} and {run.name} of kind {run.kind}: "
                "calibrate takes runs of the same work"
            )
    needs: Needs = {}
    for left, right in combinations(runs, 2):
        _measure(left, right, needs)
    rules = make_rules(needs | _unmeasured(runs, needs), margin)
    tensors: dict[str, int] = {}
    for need in needs.values():
        for evidence, count in need.evidence.items():
            tensors[evidence] = tensors.get(evidence, 0) + count
    return Calibration(
        tuple(run.name for run in runs), margin, rules, _differences(runs, rules), tensors
    )


def _unmeasured(runs: Sequence[Trace], needs: Needs) -> Needs:
    """Return the rules of all other tensors of the runs, which a glob must not replace."""
    found: Needs = {}
    for run in runs:
        judge = TensorJudge(tolerances_from_json(run.header.get("tolerances")))
        named = {(record["name"], record["dtype"]) for e in run.events for record in tensors_of(e)}
        for key in sorted((named | {(TOP, TOP_DTYPE)}) - needs.keys()):
            found.setdefault(key, Need(judge.rule_for(*key)[0]))
    return found


def _measure(left: Trace, right: Trace, needs: Needs) -> None:
    declared = tolerances_from_json(left.header.get("tolerances"))
    judge = MeasuringJudge(
        declared, left_source=left.tensors, right_source=right.tensors, needs=needs
    )
    comparer = PairComparer(judge)
    alignment = align(left, right)
    lineage = Lineage(alignment)
    for pair in alignment.pairs:
        diverged = lineage.is_victim(pair) or _differs(pair, alignment, comparer, judge)
        lineage.add(pair, diverged=diverged)


def _differs(
    pair: Pair, alignment: Alignment, comparer: PairComparer, judge: MeasuringJudge
) -> bool:
    """Measure a pair of events; return whether they differ in what no tolerance absorbs."""
    if pair.left < 0 or pair.right < 0:
        return True
    left, right = alignment.left.events[pair.left], alignment.right.events[pair.right]
    rule, _ = judge.rule_for(TOP, TOP_DTYPE)
    needs: list[Measured] = []
    levelled = level_tops(left, right, rule, needs.append)
    structure = structural_difference(pair, alignment)
    differs = comparer.compare(left, levelled, structure).failed is not None
    if not differs:
        for need in needs:
            judge.take(TOP, TOP_DTYPE, need)
    return differs


def _differences(
    runs: Sequence[Trace], rules: Sequence[CalibratedRule]
) -> tuple[ExactDifference, ...]:
    """Return where the runs part under the rules, each origin for the first pair that shows it."""
    options = DiffOptions(Tolerances(tuple(found.rule for found in rules)))
    found: dict[object, ExactDifference] = {}
    for left, right in combinations(runs, 2):
        diff = diff_traces(left, right, options)
        downstream = sum(diff.downstream.values())
        for divergence in diff.frontier:
            place = divergence.left or divergence.right
            assert place is not None
            where = place.component, place.event_type, place.logical_step, str(place.lane)
            key = (*where, divergence.check)
            found.setdefault(key, ExactDifference(left.name, right.name, divergence, downstream))
    return tuple(found.values())
