"""Collects what a walk finds and turns it into the verdict.

Knows pairs, origins and victims as it is told them. Must not know how pairs were aligned or where
they came from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from tracediff.diff.fields import FieldComparer
from tracediff.diff.neighbourhood import Neighbourhood
from tracediff.diff.options import DiffOptions
from tracediff.diff.result import (
    MISSING,
    ComparedPair,
    Coverage,
    Divergence,
    FieldDifference,
    Outcome,
    Standing,
    TraceDiff,
)
from tracediff.diff.sections import COMPARED, VISIBLE, PairComparer, place_of
from tracediff.diff.tensors import TensorJudge
from tracediff.diff.views import describe_views
from tracediff.events import Event
from tracediff.events.event import PRIVATE_PREFIX
from tracediff.events.tolerances import tolerances_from_json
from tracediff.events.trace import TensorSource

if TYPE_CHECKING:
    from tracediff.diff.causes.findings import WholeTrace

Watch = Callable[[ComparedPair], None]
"""Is told of every pair that is looked at, in walking order."""


class Side(Protocol):
    """What a verdict needs of one trace beyond its events."""

    @property
    def name(self) -> str:
        """What messages call the trace."""

    @property
    def kind(self) -> str:
        """`text`, `image`, `tool`, `loop` or `generic`."""

    @property
    def header(self) -> Mapping[str, Any]:
        """The root's `trace` section."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Oddities of the file that did not change its meaning."""

    @property
    def tensors(self) -> TensorSource | None:
        """Where full tensors can be had."""


@dataclass(slots=True)
class _Counts:
    matched: int = 0
    only_left: int = 0
    only_right: int = 0
    not_recorded: int = 0
    identical_bytes: int = 0


@dataclass(slots=True)
class _FirstEvents:
    """The first divergence with both whole events."""

    divergence: Divergence
    left: Event | None
    right: Event | None


@dataclass(slots=True)
class Collector:
    """What a walk has found so far; `pair` and `lone` are called in topological order."""

    left: Side
    right: Side
    options: DiffOptions
    watch: Watch | None = None
    comparer: PairComparer = field(init=False)
    _counts: _Counts = field(default_factory=_Counts)
    _first: _FirstEvents | None = None
    _unproven: _FirstEvents | None = None
    _frontier: list[Divergence] = field(default_factory=list)
    _downstream: dict[str, int] = field(default_factory=dict)
    _visible: Divergence | None = None
    _triggers: list[FieldDifference] = field(default_factory=list)
    _context: list[FieldDifference] = field(default_factory=list)
    _apart: list[Event | None] = field(default_factory=lambda: [None, None])
    _near: Neighbourhood = field(default_factory=Neighbourhood)

    def __post_init__(self) -> None:
        declared = tolerances_from_json(self.left.header.get("tolerances"))
        options = self.options
        judge = TensorJudge(
            declared,
            options.tolerances,
            options.nan_equal,
            self.left.tensors,
            self.right.tensors,
        )
        self.comparer = PairComparer(judge)

    def identical(self, events: int, size: int = 0) -> None:
        """Note events that are byte for byte the same; `size` bytes of them were not counted."""
        self._counts.matched += events
        self._counts.identical_bytes += size

    def within_tolerance(self, events: int, tensors: int) -> None:
        """Note pairs of events that differ in `tensors` sketches only, all within tolerance."""
        self._counts.matched += events
        if tensors:
            self.comparer.tally.count("sketch", tensors)

    def pair(
        self, left: Event, right: Event, structure: FieldDifference | None, *, victim: bool
    ) -> bool:
        """Compare two corresponding events; return whether they diverge."""
        self._counts.matched += 1
        if not any(section in left.payload or section in right.payload for section in COMPARED):
            self._counts.not_recorded += 1
        self._collect_conditions(left, right)
        tolerated = self.comparer.tolerated
        comparison = self.comparer.compare(left, right, structure)
        if self._visible is None:
            self._visible = comparison.visible
        if comparison.unproven is not None:
            self._keep_unproven(comparison.unproven, left, right)
            return False
        if comparison.failed is None:
            differs = self.comparer.tolerated > tolerated
            standing = Standing.WITHIN_TOLERANCE if differs else Standing.EQUAL
            self._note(ComparedPair(left, right, standing))
            return False
        self._add(comparison.failed, left, right, victim=victim)
        return True

    def lone(self, left: Event | None, right: Event | None, *, victim: bool) -> None:
        """Note an event that one side lacks, which is a divergence."""
        event = left or right
        assert event is not None
        self._counts.only_left += left is not None
        self._counts.only_right += right is not None
        name = f"{event.component} {event.event_type}"
        divergence = Divergence(
            None if left is None else place_of(left),
            None if right is None else place_of(right),
            "structure",
            FieldDifference(
                "event", MISSING if left is None else name, MISSING if right is None else name
            ),
        )
        if self._visible is None and any(section in event.payload for section in VISIBLE):
            self._visible = divergence
        self._add(divergence, left, right, victim=victim)

    def verdict(self, left: WholeTrace, right: WholeTrace) -> TraceDiff:
        """Return the result of the walk; causes may have to look into the whole traces."""
        if self._first is None and self._unproven is not None:
            self._first = self._unproven
            self._frontier.append(self._unproven.divergence)
        tally, counts = self.comparer.tally, self._counts
        coverage = Coverage(
            counts.matched,
            counts.only_left,
            counts.only_right,
            tally.undecidable,
            counts.not_recorded,
            counts.identical_bytes,
            dict(sorted(tally.evidence.items())),
        )
        outcome = self._outcome(coverage)
        result = TraceDiff(
            outcome,
            self.left.name,
            self.right.name,
            first=None if self._first is None else self._first.divergence,
            frontier=tuple(self._frontier),
            neighbours=self._near.pairs(),
            downstream=self._downstream,
            visible=self._visible,
            triggers=tuple(self._triggers),
            context=tuple(self._context),
            coverage=coverage,
            worst_within=tally.worst_within,
            worst_within_place=tally.worst_within_place,
            normalisers=self._normalisers(),
            warnings=self._warnings(),
            message=_why_nothing(coverage) if outcome is Outcome.NOTHING_COMPARED else "",
        )
        if self._first is None:
            return result
        # Loaded where something diverged: equal traces do not pay for it.
        from tracediff.diff.causes.findings import Findings
        from tracediff.diff.explain import explain

        first = self._first
        apart = self._apart[0], self._apart[1]
        triggers = tuple(self._triggers)
        findings = Findings(first.divergence, first.left, first.right, left, right, triggers, apart)
        return replace(result, cause=explain(findings))

    def _note(self, pair: ComparedPair) -> None:
        self._near.add(pair)
        if self.watch is not None:
            self.watch(pair)

    def _keep_unproven(self, divergence: Divergence, left: Event, right: Event) -> None:
        """Keep the first pair that nothing proves equal: it diverges if nothing else does.

        It makes no victims of what follows, where a difference may well be shown.
        """
        if self._unproven is None:
            self._unproven = _FirstEvents(divergence, left, right)
        if self.watch is not None:
            self.watch(ComparedPair(left, right, Standing.ORIGIN, divergence))

    def _add(
        self, divergence: Divergence, left: Event | None, right: Event | None, *, victim: bool
    ) -> None:
        if divergence.difference.field in ("event", "component", "event_type"):
            self._apart = [self._apart[0] or left, self._apart[1] or right]
        standing = Standing.DOWNSTREAM if victim else Standing.ORIGIN
        self._note(ComparedPair(left, right, standing, divergence))
        if victim:
            section = divergence.check
            self._downstream[section] = self._downstream.get(section, 0) + 1
            return
        self._frontier.append(divergence)
        if self._first is None:
            self._first = _FirstEvents(divergence, left, right)

    def _collect_conditions(self, left: Event, right: Event) -> None:
        """Collect differing settings and conditions, which are never divergences themselves."""
        fields = FieldComparer()
        for section, target in (
            ("trace", self._triggers),
            ("settings", self._triggers),
            ("context", self._context),
        ):
            mine, other = left.payload.get(section, {}), right.payload.get(section, {})
            if section == "trace":
                # Where there are settings, every override stands in them too: once is enough.
                twice = "settings" in left.payload and "settings" in right.payload
                mine, other = (_compared_header(h, overrides=not twice) for h in (mine, other))
            target.extend(fields.each_entry(mine, other, f"payload.{section}"))

    def _outcome(self, coverage: Coverage) -> Outcome:
        if self._frontier or (self.options.strict_settings and self._triggers):
            return Outcome.DIVERGED
        if coverage.matched == coverage.not_recorded and not coverage.identical_bytes:
            return Outcome.NOTHING_COMPARED
        if set(coverage.tensors) - {"digest"} or self.comparer.absorbed:
            return Outcome.WITHIN_TOLERANCE
        return Outcome.EQUAL

    def _warnings(self) -> tuple[str, ...]:
        count = self.comparer.tally.nan_tensors
        nan = (f"NaN counts as equal to NaN at the same place in {count} tensors",) if count else ()
        files = [
            f"{side.name}: {warning}"
            for side in (self.left, self.right)
            for warning in side.warnings
        ]
        return (*files, *nan)

    def _normalisers(self) -> tuple[str, ...]:
        renamed = self.comparer.renaming.renamed
        ids = (f"{renamed} local ids renamed one to one",) if renamed else ()
        count = self.comparer.tally.reordered
        order = (f"{count} lists of equal tensors in another order: no effect",) if count else ()
        return (*describe_views(self.options), *ids, *order)


def _why_nothing(coverage: Coverage) -> str:
    """Return why walking two traces compared nothing."""
    if not coverage.matched:
        return "no event is left to compare"
    return (
        f"the events ({coverage.matched} on each side) hold nothing that is compared: no state, "
        "artifacts, ids, inputs, rng, outputs, choice or commit"
    )


def _compared_header(header: Mapping[str, Any], *, overrides: bool) -> dict[str, Any]:
    return {
        key: value
        for key, value in header.items()
        if not key.startswith(PRIVATE_PREFIX) and (overrides or key != "overrides")
    }
