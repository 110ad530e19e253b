"""Compares one pair of corresponding events, check by check, and stops at the first that fails.

Knows the sections and their order. Must not know event types, alignment or causes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tracediff.diff.fields import FieldComparer, without_tops
from tracediff.diff.identifiers import IdRenaming
from tracediff.diff.result import MISSING, Divergence, EventPlace, FieldDifference, TensorDifference
from tracediff.diff.tensors import Judgement, TensorJudge
from tracediff.events import Event
from tracediff.events.digest import shows_difference
from tracediff.events.event import PRIVATE_PREFIX
from tracediff.events.tensors import tensor_from_json

COMPARED = ("artifacts", "state", "ids", "inputs", "rng", "outputs", "choice", "commit")
"""The sections in the order in which a pair is checked; `structure` comes before them."""

VISIBLE = ("choice", "commit")
"""Sections in which a difference is visible from outside: a token, a byte, a side effect."""

RNG_ORDER = (
    "counter_before",
    "algorithm",
    "key",
    "draws",
    "transform",
    "counter_after",
    "generator",
)

Check = Callable[[Event, Event], Divergence | None]


@dataclass(slots=True)
class Tally:
    """What has been compared so far; grows as pairs are compared.

    `evidence` counts pairs of tensors by what decided them; `tolerated` those that are within
    tolerance without being the same; `worst_within` is the one of them with the largest relative
    L2 distance; `nan_tensors` counts those in which NaN met NaN;
    `reordered` counts equal lists of tensors whose order differs, which has no effect.
    """

    evidence: dict[str, int] = field(default_factory=dict)
    tolerated: int = 0
    undecidable: int = 0
    nan_tensors: int = 0
    reordered: int = 0
    worst_within: TensorDifference | None = None
    worst_within_place: EventPlace | None = None

    def count(self, evidence: str, pairs: int = 1) -> None:
        """Count pairs of tensors that were decided by one kind of evidence."""
        self.evidence[evidence] = self.evidence.get(evidence, 0) + pairs

    def add(self, event: Event, judgement: Judgement) -> None:
        """Count one judged pair of tensors of an event of left."""
        found = judgement.difference
        self.count(found.evidence)
        self.tolerated += judgement.within and found.evidence != "digest"
        self.undecidable += not found.decidable
        self.nan_tensors += judgement.within and found.nan_elements > 0
        if not judgement.within or not found.relative_l2:
            return
        if self.worst_within is None or found.relative_l2 > (self.worst_within.relative_l2 or 0):
            self.worst_within, self.worst_within_place = found, place_of(event)


@dataclass(frozen=True, slots=True)
class PairComparison:
    """What comparing one pair found: the first failed check, and the first visible difference.

    `unproven` is the first pair of tensors of which too little was recorded to show anything; what
    comes after it in the event is still compared.
    """

    failed: Divergence | None
    visible: Divergence | None
    unproven: Divergence | None = None


class PairComparer:
    """Compares pairs in walking order; local ids are followed from pair to pair."""

    def __init__(self, judge: TensorJudge) -> None:
        self.tally = Tally()
        self.renaming = IdRenaming()
        self.judge = judge
        self._fields = FieldComparer(judge.close)
        self._unproven: Divergence | None = None
        self._checks: Mapping[str, Check] = {
            "artifacts": self._exact("artifacts"),
            "state": self._exact("state"),
            "ids": self._ids,
            "inputs": self._tensors("inputs"),
            "rng": self._rng,
            "outputs": self._tensors("outputs"),
            "choice": self._exact("choice"),
            "commit": self._exact("commit"),
        }

    @property
    def absorbed(self) -> int:
        """How many measured values outside tensors differed within tolerance."""
        return self._fields.absorbed

    @property
    def tolerated(self) -> int:
        """How many tensors and measured values so far differ within tolerance."""
        return self.tally.tolerated + self.absorbed

    def compare(
        self, left: Event, right: Event, structure: FieldDifference | None
    ) -> PairComparison:
        """Return the comparison of two events; their structural difference is known already."""
        failed: Divergence | None = None
        self._unproven = None
        if structure is not None:
            failed = divergence_at(left, right, "structure", structure)
        for section in COMPARED:
            if failed is not None:
                break
            failed = self._checks[section](left, right)
        if failed is None:
            return PairComparison(None, None, self._unproven)
        return PairComparison(failed, self._visible(left, right))

    def _visible(self, left: Event, right: Event) -> Divergence | None:
        """Return the first difference that is seen from outside: none within a `top` list."""
        for section in VISIBLE:
            mine, other = (event.payload.get(section, MISSING) for event in (left, right))
            if section == "choice":
                mine, other = without_tops(mine) or MISSING, without_tops(other) or MISSING
            difference = self._fields.first(mine, other, f"payload.{section}")
            if difference is not None:
                return divergence_at(left, right, section, difference)
        return None

    def _exact(self, section: str) -> Check:
        def check(left: Event, right: Event) -> Divergence | None:
            mine, other = left.payload.get(section, MISSING), right.payload.get(section, MISSING)
            difference = self._fields.first(
                mine, other, f"payload.{section}", is_choice=section == "choice"
            )
            return None if difference is None else divergence_at(left, right, section, difference)

        return check

    def _ids(self, left: Event, right: Event) -> Divergence | None:
        mine, other = left.payload.get("ids", {}), right.payload.get("ids", {})
        difference = self.renaming.follow(mine, other)
        return None if difference is None else divergence_at(left, right, "ids", difference)

    def _rng(self, left: Event, right: Event) -> Divergence | None:
        mine, other = left.payload.get("rng", MISSING), right.payload.get("rng", MISSING)
        if isinstance(mine, list) and isinstance(other, list):
            mine, other = [_causal(draw) for draw in mine], [_causal(draw) for draw in other]
        difference = self._fields.first(mine, other, "payload.rng")
        return None if difference is None else divergence_at(left, right, "rng", difference)

    def _tensors(self, section: str) -> Check:
        def check(left: Event, right: Event) -> Divergence | None:
            mine, other = left.payload.get(section, MISSING), right.payload.get(section, MISSING)
            if not isinstance(mine, list) or not isinstance(other, list):
                difference = self._fields.first(mine, other, f"payload.{section}")
                return (
                    None
                    if difference is None
                    else divergence_at(left, right, section, _named_only(difference))
                )
            return self._compare_tensors(left, right, section, mine, other)

        return check

    def _compare_tensors(
        self, left: Event, right: Event, section: str, mine: list[Any], other: list[Any]
    ) -> Divergence | None:
        counterparts = {record["name"]: record for record in other}
        for record in mine:
            path = f"payload.{section}[{record['name']}]"
            counterpart = counterparts.pop(record["name"], None)
            if counterpart is None:
                lacking = FieldDifference(path, _shape_text(record), MISSING)
                return divergence_at(left, right, section, lacking)
            where = self._fields.first(record["logical"], counterpart["logical"], f"{path}.logical")
            if where is not None:
                return divergence_at(left, right, section, where)
            found = self._judged(left, section, record, counterpart)
            if found is not None:
                difference = FieldDifference(path, _shape_text(record), _shape_text(counterpart))
                divergence = divergence_at(left, right, section, difference, found)
                if found.decidable or shows_difference(record["digest"], counterpart["digest"]):
                    return divergence
                self._unproven = self._unproven or divergence
        for name, record in counterparts.items():
            surplus = FieldDifference(f"payload.{section}[{name}]", MISSING, _shape_text(record))
            return divergence_at(left, right, section, surplus)
        names = ([record["name"] for record in records] for records in (mine, other))
        self.tally.reordered += next(names) != next(names)
        return None

    def _judged(
        self, event: Event, section: str, record: Any, counterpart: Any
    ) -> TensorDifference | None:
        """Return the difference of two tensors that the tolerance does not allow, if any."""
        judgement = self.judge.judge(
            tensor_from_json(record), tensor_from_json(counterpart), section
        )
        self.tally.add(event, judgement)
        return None if judgement.within else judgement.difference


def place_of(event: Event) -> EventPlace:
    """Return which event something is about."""
    return EventPlace(
        event.event_id,
        event.component,
        event.event_type,
        event.logical_step,
        event.payload.get("lane"),
    )


def divergence_at(
    left: Event,
    right: Event,
    check: str,
    difference: FieldDifference,
    tensor: TensorDifference | None = None,
) -> Divergence:
    """Return the divergence of a pair."""
    return Divergence(place_of(left), place_of(right), check, difference, tensor)


def _causal(draw: Mapping[str, Any]) -> dict[str, Any]:
    """Return a draw without private fields, the others in the order in which they are checked."""
    fields = (*RNG_ORDER, *(key for key in draw if not key.startswith(PRIVATE_PREFIX)))
    return {key: draw[key] for key in dict.fromkeys(fields) if key in draw}


def _shape_text(record: Mapping[str, Any]) -> str:
    return f"{record['dtype']} {list(record['shape'])} {record['digest']}"


def _named_only(difference: FieldDifference) -> FieldDifference:
    """Return the difference with lists of tensor records replaced by their names."""

    def names(value: Any) -> Any:
        return [record["name"] for record in value] if isinstance(value, list) else value

    return FieldDifference(difference.field, names(difference.left), names(difference.right))
