"""One row of a table of faults: how the faulty trace is made, and what a comparison must report."""

from collections.abc import Callable
from dataclasses import dataclass

from tracediff.diff import DiffOptions, TraceDiff
from tracediff.events import Trace


@dataclass(frozen=True, slots=True)
class Mutant:
    """A trace with one fault beside the one without, and where the fault must be found.

    `event` is the id of the first divergent event on the left, or on the right where only right
    has it; `check` the section; `cause` the kind of the cause.
    """

    name: str
    golden: Callable[[], Trace]
    mutant: Callable[[], Trace]
    event: str
    check: str
    cause: str

    @property
    def expected(self) -> tuple[str, str, str]:
        """Event, section and cause that must be reported."""
        return self.event, self.check, self.cause


@dataclass(frozen=True, slots=True)
class Harmless:
    """Two traces that must count as equal; `exactly` where not even a tolerance is needed."""

    name: str
    left: Callable[[], Trace]
    right: Callable[[], Trace]
    exactly: bool = True
    options: DiffOptions = DiffOptions()  # noqa: RUF009 - it is frozen


def found_at(diff: TraceDiff) -> tuple[str, str, str]:
    """Return event, section and cause of the first divergence, or the outcome thrice."""
    if diff.first is None or diff.cause is None:
        return (diff.outcome.value,) * 3
    place = diff.first.left or diff.first.right
    assert place is not None
    return place.event_id, diff.first.check, diff.cause.kind
