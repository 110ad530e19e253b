"""Compares two traces whose events stand in the same order, line by line, in constant memory.

Knows lines and events. Must not know files: lines and their parser come from outside. Lines that
are the same bytes are not parsed; of lines that differ in tensor summaries only, the sketches
decide; everything else is parsed and compared as any pair is. Where the two are not in step after
all, nothing is said, and the caller aligns them as graphs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tracediff.diff.collect import Collector
from tracediff.diff.quick_scan import Lines, QuickScan, Scanned, SketchFinder
from tracediff.diff.siblings import lane_key
from tracediff.events import Event

Outline = tuple[Sequence[str], str, Mapping[str, Any]]
"""Ids of all parents, the event's own id, its `ids` section."""


class LineParser(SketchFinder, Protocol):
    """What a walk in step needs to know about lines."""

    def parse(self, line: bytes) -> Event:
        """Return the valid event of a line; raise ValueError for anything else."""

    def outline(self, line: bytes) -> Outline | None:
        """Return parents, id and `ids` section of a line, None if it is odd."""


class OutOfStep(Exception):
    """The two traces do not have the same events in the same order."""


class StepWalk:
    """A walk over pairs of lines; what it finds goes to the collector.

    `is_plain` says that nothing diverged and no id was renamed so far: then pairs that need no
    look can be taken by a scan, also by one that ran elsewhere.
    """

    def __init__(self, collector: Collector, parser: LineParser) -> None:
        self._collector = collector
        self._parser = parser
        self._scan = QuickScan(collector.comparer.judge, parser)
        self._renamed: dict[str, str] = {}
        self._tainted: set[str] = set()
        self._last: tuple[bytes, bytes] | None = None
        self.is_plain = True

    def run(self, lines: Lines) -> None:
        """Compare pairs of lines; raise OutOfStep where they do not belong together."""
        for left, right in lines:
            if left is None or right is None:
                raise OutOfStep
            if self.is_plain and self._scan.take(left, right):
                continue
            if left == right:
                self._follow(left)
            else:
                self._compare(left, right)
                self.is_plain = not self._tainted and not self._renamed
            self._last = left, right
        self._last = self._scan.scanned.last if self.is_plain else self._last
        self._add(self._scan.scanned)
        self._scan = QuickScan(self._collector.comparer.judge, self._parser)

    def add(self, scanned: Scanned) -> None:
        """Take what a scan of the following lines found."""
        self._last = scanned.last or self._last
        self._add(scanned)

    def finish(self) -> None:
        """Raise OutOfStep unless the last pair of lines ends both traces."""
        if self._last is None:
            raise OutOfStep
        for line in self._last:
            if "end" not in self._parse(line).payload:
                raise OutOfStep

    def _add(self, scanned: Scanned) -> None:
        self._collector.identical(scanned.same)
        tally = self._collector.comparer.tally
        known = tally.worst_within.relative_l2 if tally.worst_within else None
        if scanned.worst_pair is None or scanned.worst <= (known or 0.0):
            self._collector.within_tolerance(scanned.within, scanned.sketches)
            return
        # The worst pair is compared in full, so that the report can say where it stands.
        left, right = scanned.worst_pair
        sketches = len(self._parser.sketch_pairs(left, right) or ())
        self._collector.within_tolerance(scanned.within - 1, scanned.sketches - sketches)
        self._compare(left, right)

    def _follow(self, line: bytes) -> None:
        """Take a line that is the same on both sides: only its place and its ids matter."""
        outline = self._parser.outline(line)
        if outline is None:
            raise OutOfStep
        parents, event_id, ids = outline
        if self._renamed and any(parent in self._renamed for parent in parents):
            raise OutOfStep
        if ids and self._collector.comparer.renaming.follow(ids, ids) is not None:
            self._compare(line, line)
            return
        if any(parent in self._tainted for parent in parents):
            self._tainted.add(event_id)
        self._collector.identical(1)

    def _compare(self, left: bytes, right: bytes) -> None:
        mine, other = self._parse(left), self._parse(right)
        if not self._same_place(mine, other):
            raise OutOfStep
        victim = any(parent in self._tainted for parent in mine.parents)
        diverged = self._collector.pair(mine, other, None, victim=victim)
        if diverged or victim:
            self._tainted.add(mine.event_id)
        if mine.event_id != other.event_id:
            self._renamed[mine.event_id] = other.event_id

    def _parse(self, line: bytes) -> Event:
        try:
            return self._parser.parse(line)
        except ValueError as error:
            raise OutOfStep from error

    def _same_place(self, left: Event, right: Event) -> bool:
        """Whether type, step, lane and parents correspond, and both or none end the trace."""
        return (
            (left.component, left.event_type, left.logical_step)
            == (right.component, right.event_type, right.logical_step)
            and lane_key(left) == lane_key(right)
            and [self._renamed.get(parent, parent) for parent in left.parents]
            == list(right.parents)
            and _same_end(left.payload.get("end"), right.payload.get("end"))
        )


def _same_end(left: Any, right: Any) -> bool:
    return bool(left == right)
