"""Cycles in the graph of events and their causes.

Knows ids only. Works without recursion, so that the depth of a trace does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tracediff.events.text import shorten

SHOWN_AT_EACH_END = 6
"""A cycle longer than twice this is printed with its middle left out."""


def find_cycle(parents: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the ids of one cycle, each followed by its parent, or an empty list.

    Linear in events and parents; every parent must be a key. The cycle starts with its earliest
    event in the order of `parents`.
    """
    finished: set[str] = set()
    for start, causes in parents.items():
        # Insertion order is the path; a dict because membership must not cost its length.
        path = {} if start in finished else {start: iter(causes)}
        while path:
            current = next(reversed(path))
            above = next((key for key in path[current] if key not in finished), None)
            if above is None:
                finished.add(current)
                path.popitem()
            elif above in path:
                return _from_earliest(list(path)[list(path).index(above) :], parents)
            else:
                path[above] = iter(parents[above])
    return []


def _from_earliest(cycle: list[str], order: Iterable[str]) -> list[str]:
    members = set(cycle)
    start = cycle.index(next(key for key in order if key in members))
    return cycle[start:] + cycle[:start]


def show_cycle(cycle: list[str]) -> str:
    """Return `a -> b -> a`, the middle of a long cycle left out."""
    names = [shorten(key) for key in [*cycle, cycle[0]]]
    if len(cycle) > 2 * SHOWN_AT_EACH_END:
        names[SHOWN_AT_EACH_END:-SHOWN_AT_EACH_END] = [f"… ({len(cycle)} events in all)"]
    return " -> ".join(names)
