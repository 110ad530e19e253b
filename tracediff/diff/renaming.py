"""Reads the right trace under the left one's names, as a name map says.

Knows where in an event names stand: component, event type, tensors, keys of `artifacts` and of all
objects in `state`, and the module paths that a recorder may put into the state and the settings.
Must not know rules in detail (`name_map`). The left trace keeps its names, so that its tolerances
go on to fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from tracediff.diff.name_map import KINDS, NameMap, match_names
from tracediff.events import Event, Trace
from tracediff.events.event import TENSOR_SECTIONS

KEYED_SECTIONS = ("artifacts", "state")
MODULES = ("module", "training")
"""Keys of `state` whose value is the path of a module, or a list of such: these are event names."""

DESCRIBED = "modules"
"""Key of `settings` whose value says of modules what they are: its keys are event names too."""

MOST_LISTED = 8
NOUNS = {"event": "event name", "tensor": "tensor name", "key": "key"}


@dataclass(frozen=True, slots=True)
class Renamed:
    """The right trace under the left one's names, and what there is to say about it.

    `normalisers` says what was applied; `warnings` lists names without a counterpart and rules
    that decide nothing because earlier ones do; `unused_rules` are the rules that fit no name of
    the left trace.
    """

    right: Trace
    normalisers: tuple[str, ...]
    warnings: tuple[str, ...]
    unused_rules: tuple[str, ...]


def read_renamed(left: Trace, right: Trace, name_map: NameMap) -> Renamed:
    """Return the right trace with every name that stands for a left one called by that.

    Raises UsageError where two left names would stand for one right name.
    """
    left_names, right_names = names_of(left.events), names_of(right.events)
    matched = match_names(left_names, name_map)
    backwards: dict[str, dict[str, str]] = {}
    counts: list[str] = []
    warnings = [
        f"{name_map.name}: the rule {rule.text!r} decides no name: {taker.text!r} before it takes "
        "what it fits; remove it or put it first"
        for rule, taker in matched.shadowed.items()
    ]
    for kind in KINDS:
        forwards = matched.right[kind]
        present = {forwards[name]: name for name in left_names[kind]}
        backwards[kind] = {
            name: present.get(name, name if name not in forwards else f"right:{name}")
            for name in right_names[kind]
        }
        changed = sum(name != own for name, own in backwards[kind].items() if name in present)
        if changed:
            counts.append(_counted(changed, NOUNS[kind]))
        lone_left = [name for name in left_names[kind] if forwards[name] not in backwards[kind]]
        lone_right = [name for name in right_names[kind] if name not in present]
        warnings += _lone(kind, "left", lone_left) + _lone(kind, "right", lone_right)
    applied = f"{name_map.name}: {', '.join(counts) or 'no name'} of the right trace read as left's"
    events = tuple(_under(event, backwards) for event in right.events)
    return Renamed(
        replace(right, events=events),
        (applied,),
        tuple(warnings),
        tuple(rule.text for rule in matched.unused),
    )


def names_of(events: Sequence[Event]) -> dict[str, list[str]]:
    """Return the names of a trace by kind, each once, in order of appearance."""
    found: dict[str, dict[str, None]] = {kind: {} for kind in KINDS}
    for event in events:
        found["event"].update(dict.fromkeys((*event_names(event), *chain(*listed_modules(event)))))
        found["tensor"].update(dict.fromkeys(tensor["name"] for tensor in tensors_of(event)))
        found["key"].update(dict.fromkeys(keys_of(event)))
    return {kind: list(names) for kind, names in found.items()}


def event_names(event: Event) -> tuple[str, ...]:
    """Return component, event type and, where it is recorded, the module that was called."""
    module = event.payload.get("state", {}).get(MODULES[0])
    own = (event.component, event.event_type)
    return (*own, module) if isinstance(module, str) else own


def listed_modules(event: Event) -> tuple[list[str], ...]:
    """Return the module paths of every list of such in the state, then those of the settings."""
    state = event.payload.get("state", {})
    listed = [state[key] for key in MODULES if isinstance(state.get(key), list)]
    described = event.payload.get("settings", {}).get(DESCRIBED)
    if isinstance(described, Mapping):
        listed.append(list(described))
    return tuple([name for name in found if isinstance(name, str)] for found in listed)


def tensors_of(event: Event) -> Iterator[Mapping[str, Any]]:
    """Yield the tensor records of an event, inputs first."""
    for section in TENSOR_SECTIONS:
        yield from event.payload.get(section, ())


def keys_of(event: Event) -> Iterator[str]:
    """Yield the keys of the sections whose keys are names, and of objects in them."""
    pending = [event.payload.get(section, {}) for section in KEYED_SECTIONS]
    while pending:
        for key, value in pending.pop().items():
            yield key
            if isinstance(value, Mapping):
                pending.append(value)


def _under(event: Event, names: Mapping[str, Mapping[str, str]]) -> Event:
    """Return an event with every name in it replaced."""
    events, tensors, keys = (names[kind] for kind in KINDS)
    payload = dict(event.payload)
    for section in TENSOR_SECTIONS:
        if section in payload:
            payload[section] = [
                {**record, "name": tensors[record["name"]]} for record in payload[section]
            ]
    for section in KEYED_SECTIONS:
        if section in payload:
            found = payload[section]
            named = {key: _named(found[key], events) for key in MODULES if key in found}
            payload[section] = _keyed({**found, **(named if section == "state" else {})}, keys)
    settings = payload.get("settings", {})
    if DESCRIBED in settings:
        payload["settings"] = {**settings, DESCRIBED: _named(settings[DESCRIBED], events)}
    return replace(
        event,
        component=events[event.component],
        event_type=events[event.event_type],
        payload=payload,
    )


def _named(found: Any, names: Mapping[str, str]) -> Any:
    """Return the path of a module, a list of such or an object by such, under the other names."""
    if isinstance(found, Mapping):
        return {names.get(key, key): value for key, value in found.items()}
    if isinstance(found, list):
        return [names.get(item, item) if isinstance(item, str) else item for item in found]
    return names.get(found, found) if isinstance(found, str) else found


def _keyed(found: Any, keys: Mapping[str, str]) -> Any:
    """Return an object with its keys, and those of objects in it, replaced."""
    if not isinstance(found, Mapping):
        return found
    return {keys[key]: _keyed(value, keys) for key, value in found.items()}


def _lone(kind: str, side: str, names: Sequence[str]) -> list[str]:
    if not names:
        return []
    more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    listed = ", ".join(names[:MOST_LISTED])
    return [f"only in the {side} trace: {_counted(len(names), NOUNS[kind])}: {listed}{more}"]


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
