"""What a comparison returns: plain data that reports are made from.

Knows no rendering; every number that a report prints is computed before it gets here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tracediff.events import Event, ToleranceRule


class Outcome(StrEnum):
    """The exact word for what a comparison found."""

    EQUAL = "equal"
    WITHIN_TOLERANCE = "equal within tolerance"
    DIVERGED = "diverged"
    INCOMPARABLE = "incomparable"
    NOTHING_COMPARED = "nothing compared"
    INVALID = "invalid"
    INCOMPLETE = "incomplete"
    CORRUPT = "corrupt"
    UNREADABLE = "unreadable"


class Missing(StrEnum):
    """Stands for a value that one side does not have."""

    MISSING = "(missing)"


MISSING = Missing.MISSING


@dataclass(frozen=True, slots=True)
class EventPlace:
    """Which event of one side something is about."""

    event_id: str
    component: str
    event_type: str
    logical_step: int
    lane: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """One field that differs; `field` is a path such as `payload.choice.token_id`.

    A side without the field has `MISSING` as its value.
    """

    field: str
    left: Any
    right: Any


@dataclass(frozen=True, slots=True)
class ErrorAt:
    """The largest error of one measure and where it is: the multi-index in C order."""

    error: float
    index: tuple[int, ...]
    left: float
    right: float


@dataclass(frozen=True, slots=True)
class TensorDifference:
    """How two tensors of one name differ, and which rule and evidence decided.

    `evidence` is `attributes`, `non-finite`, `values`, `files`, `sketch`, `statistics`, `digest`
    or `none`; with sketches `bound` is the relative L2 distance that stands in for the rule.
    With values or files: the worst absolute, relative and ULP errors, how many elements are out of
    tolerance and the first of them in C order. `relative_l2` is exact with values, estimated with
    sketches (then `confidence` says how sure the verdict is). `nan_elements` counts left's NaN.
    """

    name: str
    section: str
    reason: str
    rule: ToleranceRule
    rule_source: str
    evidence: str
    decidable: bool = True
    nan_elements: int = 0
    relative_l2: float | None = None
    bound: float | None = None
    confidence: float | None = None
    worst_absolute: ErrorAt | None = None
    worst_relative: ErrorAt | None = None
    worst_ulp: ErrorAt | None = None
    out_of_tolerance: int | None = None
    elements: int | None = None
    first_index: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first failed check of one pair of events, or an event that one side lacks.

    `check` names the section that failed: `structure`, `artifacts`, `state`, `ids`, `inputs`,
    `rng`, `outputs`, `choice` or `commit`.
    """

    left: EventPlace | None
    right: EventPlace | None
    check: str
    difference: FieldDifference
    tensor: TensorDifference | None = None


class Standing(StrEnum):
    """What became of two corresponding events, or of one that a side lacks."""

    EQUAL = "equal"
    WITHIN_TOLERANCE = "within tolerance"
    ORIGIN = "origin"
    DOWNSTREAM = "downstream"


@dataclass(frozen=True, slots=True)
class ComparedPair:
    """Two corresponding events (None for a side that lacks one) and what comparing them found."""

    left: Event | None
    right: Event | None
    standing: Standing
    divergence: Divergence | None = None


@dataclass(frozen=True, slots=True)
class Cause:
    """Why the first divergence happened, as far as the evidence goes.

    `kind` is a stable word; `component` the part of the system that is to blame; `evidence` the
    facts that led there, in order; `explanation` one sentence for people.
    """

    kind: str
    component: str
    explanation: str
    evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Coverage:
    """What was compared.

    `identical_bytes` are bytes at the files' starts that are the same and were not parsed, their
    events not counted in `matched`; `tensors` counts pairs of tensors by the evidence that decided
    them.
    """

    matched: int = 0
    only_left: int = 0
    only_right: int = 0
    undecidable: int = 0
    not_recorded: int = 0
    identical_bytes: int = 0
    tensors: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DriftPoint:
    """How far one tensor drifted, and how much farther than everything before it (`jump`)."""

    place: EventPlace
    section: str
    tensor: str
    drift: float
    jump: float


@dataclass(frozen=True, slots=True)
class DriftProfile:
    """The drift of all tensors along the walk, and the largest jump.

    `ratio` is the largest jump over the median jump of the tensors that drift at all.
    """

    points: tuple[DriftPoint, ...] = ()
    largest: DriftPoint | None = None
    ratio: float = 0.0


@dataclass(frozen=True, slots=True)
class TraceDiff:
    """The result of comparing two traces.

    `first` is the first divergence in topological order, `frontier` all divergences without a
    divergent ancestor (`first` among them), `downstream` counts the others by section.
    `neighbours` are the pairs around the first divergence that were looked at, in walking order,
    and `line` is the line of left's file where it is (or of the event before it, where left lacks
    it), counted from 1; None where no file is known. `triggers` are differing settings, `context`
    differing conditions; neither is a divergence. `visible` is the first event whose choice or
    commit differs, in a choice outside its `top` lists. `normalisers` names everything that was
    applied before comparing; `warnings` are for people. `drift` is measured unless everything is
    equal or the traces are too large to be held in memory. `levels` gives the outcome of image
    traces at each level of comparison where they are not the same at all of them. `unused_rules`
    are globs of the options (tolerances, only, skip) that fit nothing in either trace.
    """

    outcome: Outcome
    left: str
    right: str
    first: Divergence | None = None
    cause: Cause | None = None
    frontier: tuple[Divergence, ...] = ()
    neighbours: tuple[ComparedPair, ...] = ()
    line: int | None = None
    downstream: Mapping[str, int] = field(default_factory=dict)
    visible: Divergence | None = None
    triggers: tuple[FieldDifference, ...] = ()
    context: tuple[FieldDifference, ...] = ()
    coverage: Coverage = Coverage()
    worst_within: TensorDifference | None = None
    worst_within_place: EventPlace | None = None
    drift: DriftProfile | None = None
    levels: Mapping[str, Outcome] = field(default_factory=dict)
    normalisers: tuple[str, ...] = ()
    unused_rules: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    message: str = ""
