"""A rule on one trace, and what breaking it looks like."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tracediff.events import Trace


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule: its name, the event at which it broke (None: the whole trace), and why."""

    rule: str
    event_id: str | None
    reason: str


Finding = tuple[str | None, str]


@dataclass(frozen=True, slots=True)
class Rule:
    """A named rule. `applies` says for which traces; `check` yields (event id, reason) pairs."""

    name: str
    statement: str
    applies: Callable[[Trace], bool]
    check: Callable[[Trace], Iterator[Finding]]
