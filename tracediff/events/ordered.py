"""The structure of a trace whose parents come first, checked in a few bytes an event.

Knows the same rules as `structure`; gives up, so that `structure` must decide, where an id seems
to occur twice or a parent has not come yet.
"""

from __future__ import annotations

from typing import Final

from tracediff.events.boundaries import BoundaryRules
from tracediff.events.event import Event

_BUCKETS: Final = 1 << 14
_WIDTH: Final = 8


class NotOrdered(Exception):
    """An id seems to occur twice, or a parent comes later or never."""


class OrderedChecker:
    """Takes the events of one trace in file order; keeps a fingerprint of each id.

    Raises NotOrdered where that does not suffice to decide.
    """

    def __init__(self, name: str = "trace") -> None:
        self._boundaries = BoundaryRules(name)
        self._ids = FingerprintSet()
        self._latest: str | None = None

    def add(
        self, event: Event, content: object, line: int | None = None, offset: int | None = None
    ) -> bool:
        """Take the next event; return False if it is a copy of the root or of the last event.

        Raises InvalidTrace and NotOrdered.
        """
        if not self._boundaries.add(event, content, line, offset):
            return False
        for parent in event.parents:
            # Mostly the event before, which needs no look.
            if parent != self._latest and parent not in self._ids:
                raise NotOrdered
        if not self._ids.add(event.event_id):
            raise NotOrdered
        self._latest = event.event_id
        return True

    def finish(self) -> None:
        """Raise IncompleteTrace unless what was taken is one whole trace.

        Every parent came before its child: none is missing, and there is no cycle.
        """
        self._boundaries.finish(len(self._ids))


class FingerprintSet:
    """A set of strings that keeps 64 bits of each: about 9 bytes a string.

    A string that was added is always found. Of n strings, one that was not added is found all the
    same with a probability of n / 2^64.
    """

    def __init__(self) -> None:
        self._buckets: dict[int, bytearray] = {}
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __contains__(self, text: str) -> bool:
        fingerprint = hash(text)
        bucket = self._buckets.get(fingerprint % _BUCKETS)
        return bucket is not None and _holds(bucket, _pack(fingerprint))

    def add(self, text: str) -> bool:
        """Add `text`; return False if it was found already."""
        fingerprint = hash(text)
        packed = _pack(fingerprint)
        bucket = self._buckets.setdefault(fingerprint % _BUCKETS, bytearray())
        if _holds(bucket, packed):
            return False
        bucket += packed
        self._size += 1
        return True


def _pack(fingerprint: int) -> bytes:
    return fingerprint.to_bytes(_WIDTH, "little", signed=True)


def _holds(bucket: bytearray, packed: bytes) -> bool:
    found = bucket.find(packed)
    while found % _WIDTH and found != -1:
        found = bucket.find(packed, found + 1)
    return found != -1
