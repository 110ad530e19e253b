"""NaN in a trace that nothing declares: in tensors, and in the numbers of state, choice and commit.

Knows where the format has numbers. Must not know what is done about a NaN.

In JSON a NaN is the string "NaN", which a text may be too. So a `top` value, which is a number by
definition, is one; and any other is one unless its field holds another text elsewhere in the
trace, which shows that the field is for texts. Identifiers, settings, conditions and notes are
not examined: the first are texts, the others are not compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final

from tracediff.events import Event, Trace
from tracediff.events.event import TENSOR_SECTIONS
from tracediff.workloads.fixtures import WORKLOADS

FREE_SECTIONS: Final = ("state", "choice", "commit")
"""Compared sections that hold any JSON, numbers among it."""

NAN: Final = "NaN"
_NON_FINITE: Final = (NAN, "Infinity", "-Infinity")
_RANKED: Final = "top"

_Field = tuple[str, str, str]
"""Component and event type, and a path such as `choice.score`, the same for all items of a list."""


def find_undeclared_nan(trace: Trace, declared: Sequence[str]) -> str | None:
    """Return a sentence about the first NaN in a trace that neither fixture nor glob declares.

    `declared` are globs of the tensors, and of fields such as `choice.score`, in which NaN is
    meant; None where all is well.
    """
    fixture = str(trace.header.get("fixture"))
    known = WORKLOADS[fixture].nan_tensors if fixture in WORKLOADS else ()
    globs = (*known, *declared)
    for event in trace.events:
        for name, count in _nan_counts(event):
            if not _fits_any(name, globs):
                return _sentence(f"tensor {name}", event, f"{count} NaN", name)
    texts: frozenset[_Field] | None = None
    for event in trace.events:
        for name, value, ranked in _scalars(event):
            if value != NAN or _fits_any(name, globs):
                continue
            if texts is None:
                texts = _text_fields(trace)
            if ranked or _field(event, name) not in texts:
                return _sentence(f"field {name}", event, "NaN", name)
    return None


def unused_nan_globs(traces: Iterable[Trace], declared: Sequence[str]) -> tuple[str, ...]:
    """Return the globs that fit no tensor and no field with a number in any of the traces."""
    left = list(declared)
    for trace in traces:
        if not left:
            break
        names = {name for event in trace.events for name in _names(event)}
        left = [glob for glob in left if not any(fnmatchcase(name, glob) for name in names)]
    return tuple(left)


def _sentence(what: str, event: Event, held: str, name: str) -> str:
    return (
        f"{what} of event {event.event_id} holds {held}, which nothing declares; if it is meant, "
        f"--allow-nan {name} says so"
    )


def _fits_any(name: str, globs: Iterable[str]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)


def _nan_counts(event: Event) -> Iterator[tuple[str, int]]:
    """Yield the tensors of an event that hold NaN, with how many."""
    for section in TENSOR_SECTIONS:
        for record in event.payload.get(section, ()):
            count = max(record["stats"].get("nan", 0), list(record.get("values", ())).count(NAN))
            if count:
                yield record["name"], count


def _names(event: Event) -> Iterator[str]:
    for section in TENSOR_SECTIONS:
        yield from (record["name"] for record in event.payload.get(section, ()))
    for name, value, _ in _scalars(event):
        if _may_be_number(value):
            yield name


def _may_be_number(value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number or value in _NON_FINITE


def _scalars(event: Event) -> Iterator[tuple[str, Any, bool]]:
    """Yield path and value of all that is no object and no list, and whether it ranks a `top`."""
    for section in FREE_SECTIONS:
        # A stack and no recursion: a trace may nest deeper than the interpreter does.
        waiting: list[tuple[str, Any, bool]] = [(section, event.payload.get(section, {}), False)]
        while waiting:
            path, value, ranked = waiting.pop()
            if isinstance(value, Mapping):
                items = list(value.items())
                waiting += [(f"{path}.{key}", item, False) for key, item in reversed(items)]
            elif isinstance(value, list) and path.rpartition(".")[2] == _RANKED:
                waiting += [(path, *_rank(item)) for item in reversed(value)]
            elif isinstance(value, list):
                waiting += [(path, item, ranked) for item in reversed(value)]
            else:
                yield path, value, ranked


def _rank(item: object) -> tuple[Any, bool]:
    """Return the value of a `[id, value]` pair; what is no such pair stays as it is."""
    return (item[1], True) if isinstance(item, list) and len(item) == 2 else (item, False)


def _text_fields(trace: Trace) -> frozenset[_Field]:
    """Return the fields that hold a text which no number is written as."""
    return frozenset(
        _field(event, name)
        for event in trace.events
        for name, value, _ in _scalars(event)
        if isinstance(value, str) and value not in _NON_FINITE
    )


def _field(event: Event, name: str) -> _Field:
    return event.component, event.event_type, name
