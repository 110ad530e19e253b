"""A whole trace in memory.

Knows its events and how to reach kept tensor values; must not know where they are stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from tracediff.events.event import Event
    from tracediff.events.tensors import TensorRecord


class TensorSource(Protocol):
    """Where the full values of recorded tensors can be had."""

    def load(self, record: TensorRecord) -> np.ndarray[Any, Any] | None:
        """Return the stored array in the storage type of `record.dtype`, or None."""


@dataclass(frozen=True, slots=True)
class Trace:
    """The events of one execution in file order, structurally valid and complete.

    `name` is what messages call it (usually the path); `warnings` lists oddities of the file that
    did not change its meaning (a BOM, CRLF line ends); `tensors` reaches full values, if any.
    """

    events: tuple[Event, ...]
    name: str = "trace"
    warnings: tuple[str, ...] = ()
    tensors: TensorSource | None = None

    @property
    def root(self) -> Event:
        """The one event without a parent."""
        return next(event for event in self.events if event.parent_event_id is None)

    @property
    def header(self) -> Mapping[str, Any]:
        """The root's `trace` section."""
        header: Mapping[str, Any] = self.root.payload["trace"]
        return header

    @property
    def kind(self) -> str:
        """`text`, `image`, `tool`, `loop`, `stream` or `generic`."""
        return str(self.header["kind"])
