"""The three exit statuses, and which outcome gets which."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from tracediff.diff import Outcome


class ExitStatus(IntEnum):
    """0 same, 1 diverged or a rule broken, 2 could not say."""

    SAME = 0
    DIVERGED = 1
    COULD_NOT_SAY = 2


def status_of(outcome: Outcome) -> ExitStatus:
    """Return the exit status of one comparison."""
    if outcome in (Outcome.EQUAL, Outcome.WITHIN_TOLERANCE):
        return ExitStatus.SAME
    return ExitStatus.DIVERGED if outcome is Outcome.DIVERGED else ExitStatus.COULD_NOT_SAY


def worst_status(statuses: Iterable[ExitStatus]) -> ExitStatus:
    """Return the status of several results: 2 outranks 1 outranks 0; of none at all, 2."""
    return max(statuses, default=ExitStatus.COULD_NOT_SAY)
