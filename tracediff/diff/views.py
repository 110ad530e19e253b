"""Normalisers: ways to look at both traces before they are compared, each asked for by name.

Knows events. A view returns a new trace and leaves the given one as it is; what was applied is
printed with the result, because a view hides differences on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Any

from tracediff.diff.options import DiffOptions
from tracediff.diff.sections import COMPARED
from tracediff.diff.siblings import lane_key, type_key
from tracediff.events import Event, Trace
from tracediff.events.event import TENSOR_SECTIONS

DELTA = "stream.delta"
JOINED = "stream.joined"
FRAME = "sse.event"
"""An event of the transport that carries pieces of text: as many as the text has pieces."""
MESSAGE = "message.assembled"
TRANSPORT: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "response.started": frozenset({"content_type"}),
        "stream.ended": frozenset({"terminator"}),
    }
)
"""Entries of events that say in which form an answer came."""
TENSOR_PREFIX = "tensor:"


@dataclass(frozen=True, slots=True)
class Depth:
    """What lies deeper than a level of image traces: events, entries of choices, artifacts."""

    events: tuple[str, ...] = ()
    choices: frozenset[str] = frozenset()
    artifacts: frozenset[str] = frozenset()


DEEPER_THAN: Mapping[str, Depth] = MappingProxyType(
    {
        "latent": Depth(
            ("vae.decoded", "image.encoded", "response.completed", "frame.replaced"),
            artifacts=frozenset({"vae", "png_encoder"}),
        ),
        "pixel": Depth(
            choices=frozenset({"png_digest", "png_length", "images"}),
            artifacts=frozenset({"png_encoder"}),
        ),
        "bytes": Depth(),
    }
)


def apply_views(trace: Trace, options: DiffOptions) -> Trace:
    """Return the trace as the options look at it."""
    for change in _changes(options):
        trace = replace(trace, events=tuple(change(trace.events)))
    return trace


def describe_views(options: DiffOptions) -> tuple[str, ...]:
    """Return one line for each normaliser that the options apply."""
    lines = [f"view {view}" for view in options.views]
    if options.level is not None:
        lines.append(f"compared at level {options.level}, nothing deeper")
    lines += [f"only {glob} compared" for glob in options.only]
    lines += [f"{glob} skipped" for glob in options.skip]
    return tuple(lines)


def _changes(options: DiffOptions) -> list[Callable[[Sequence[Event]], Iterable[Event]]]:
    changes: list[Callable[[Sequence[Event]], Iterable[Event]]] = []
    if "joined-text" in options.views:
        changes.append(join_text)
    if "unordered-siblings" in options.views:
        changes.append(sort_siblings)
    if options.level is not None:
        depth = DEEPER_THAN[options.level]
        changes.append(lambda events: drop_events(events, lambda e: e.event_type in depth.events))
        changes.append(lambda events: (_without_depth(event, depth) for event in events))
    if options.only or options.skip:
        changes.append(lambda events: _selected(events, options))
    return changes


def join_text(events: Sequence[Event]) -> list[Event]:
    """Replace the text pieces of each lane by one event with the whole text.

    Sequence numbers count pieces, so they are left out everywhere, and so are the events of the
    transport that carried them, the type of its content and what it ends with. The whole texts
    stand before the first message that is made of them.
    """
    texts: dict[Any, list[Any]] = {}
    tokens: dict[Any, list[Any]] = {}
    lanes: dict[Any, Any] = {}
    for event in events:
        if event.event_type == DELTA:
            key = lane_key(event)
            found = event.payload.get("choice", {})
            texts.setdefault(key, []).append(found.get("text", ""))
            if isinstance(found.get("tokens"), list) and event.payload.get("lane"):
                tokens.setdefault(key, []).extend(found["tokens"])
            lanes[key] = event.payload.get("lane")
    kept = [
        _joined_fragments(_without_transport(_without_sequence(event)))
        for event in drop_events(events, lambda e: e.event_type in (DELTA, FRAME))
    ]
    root = next(event for event in kept if event.parent_event_id is None)
    taken = {event.event_id for event in events}
    joined: list[Event] = []
    for number, (key, pieces) in enumerate(texts.items()):
        choice: dict[str, Any] = {
            "text": "".join(piece for piece in pieces if isinstance(piece, str))
        }
        odd = [piece for piece in pieces if not isinstance(piece, str)]
        if odd:
            choice["bytes"] = odd
        if key in tokens:
            choice["tokens"] = tokens[key]
        lane = {} if lanes[key] is None else {"lane": lanes[key]}
        joined.append(
            Event(
                root.trace_id,
                _free_id(f"joined-text-{number}", taken),
                root.event_id,
                "transport",
                JOINED,
                0,
                {**lane, "choice": choice},
            )
        )
    places = (n for n, event in enumerate(kept) if event.event_type == MESSAGE)
    place = next(places, len(kept))
    rest = [_made_of(event, joined) for event in kept[place:]]
    return [*kept[:place], *joined, *rest]


def _made_of(event: Event, joined: Sequence[Event]) -> Event:
    """Return an assembled message as one that comes of the texts, any other event as it is."""
    if event.event_type != MESSAGE or not joined:
        return event
    joins = [*event.payload.get("joins", ()), *(text.event_id for text in joined)]
    return replace(event, payload={**event.payload, "joins": joins})


def sort_siblings(events: Sequence[Event]) -> list[Event]:
    """Put siblings of one type into the order of what they hold, all at the first one's step."""
    groups: dict[Any, list[int]] = {}
    for position, event in enumerate(events):
        groups.setdefault((event.parent_event_id, type_key(event)), []).append(position)
    ordered = list(events)
    for positions in groups.values():
        step = events[positions[0]].logical_step
        members = sorted((events[position] for position in positions), key=_content)
        for position, member in zip(positions, members, strict=True):
            ordered[position] = replace(member, logical_step=step)
    return ordered


def _content(event: Event) -> str:
    return repr([(section, event.payload.get(section)) for section in COMPARED])


def drop_events(events: Sequence[Event], is_dropped: Callable[[Event], bool]) -> list[Event]:
    """Return the events without some of them; their children hang at the nearest kept ancestor.

    The root stays as the place where all others hang, without its sections if it is dropped.
    """
    gone = {e.event_id: e for e in events if e.parent_event_id is not None and is_dropped(e)}
    kept = []
    for event in events:
        if event.event_id in gone:
            continue
        parent = event.parent_event_id
        while parent in gone:
            parent = gone[parent].parent_event_id
        payload = dict(event.payload)
        if event.parent_event_id is None and is_dropped(event):
            payload = {key: payload[key] for key in ("trace", "end") if key in payload}
        if "joins" in payload:
            payload["joins"] = [join for join in payload["joins"] if join not in gone]
        kept.append(replace(event, parent_event_id=parent, payload=payload))
    return kept


def _selected(events: Sequence[Event], options: DiffOptions) -> Iterable[Event]:
    types = [glob for glob in options.only if not glob.startswith(TENSOR_PREFIX)]
    skipped = [glob for glob in options.skip if not glob.startswith(TENSOR_PREFIX)]

    def is_dropped(event: Event) -> bool:
        name = event.event_type
        return _fits(name, skipped) or (bool(types) and not _fits(name, types))

    return (_with_tensors(event, options) for event in drop_events(events, is_dropped))


def _with_tensors(event: Event, options: DiffOptions) -> Event:
    """Return the event with only the tensors that the options look at."""
    only = [g.removeprefix(TENSOR_PREFIX) for g in options.only if g.startswith(TENSOR_PREFIX)]
    skip = [g.removeprefix(TENSOR_PREFIX) for g in options.skip if g.startswith(TENSOR_PREFIX)]
    if not only and not skip:
        return event
    payload = dict(event.payload)
    for section in TENSOR_SECTIONS:
        if section in payload:
            payload[section] = [
                record
                for record in payload[section]
                if not _fits(record["name"], skip) and (not only or _fits(record["name"], only))
            ]
    return replace(event, payload=payload)


def _fits(name: str, globs: Sequence[str]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)


def _without_depth(event: Event, depth: Depth) -> Event:
    shallow = _without_entries(event, "choice", depth.choices)
    return _without_entries(shallow, "artifacts", depth.artifacts)


def _without_sequence(event: Event) -> Event:
    return _without_entries(event, "choice", frozenset({"sequence_no"}))


def _without_transport(event: Event) -> Event:
    return _without_entries(event, "choice", TRANSPORT.get(event.event_type, frozenset()))


def _joined_fragments(event: Event) -> Event:
    """Return an event whose text comes in fragments with the text in one piece."""
    choice = event.payload.get("choice", {})
    fragments = choice.get("fragments")
    if not isinstance(fragments, list) or not all(isinstance(f, dict) for f in fragments):
        return event
    text = "".join(str(fragment.get("text", "")) for fragment in fragments)
    payload = {**event.payload, "choice": {**choice, "fragments": text}}
    return replace(event, payload=payload)


def _without_entries(event: Event, section: str, keys: frozenset[str]) -> Event:
    entries = event.payload.get(section)
    if not entries or not keys & entries.keys():
        return event
    kept = {key: value for key, value in entries.items() if key not in keys}
    return replace(event, payload={**event.payload, section: kept})


def _free_id(wanted: str, taken: set[str]) -> str:
    while wanted in taken:
        wanted += "'"
    taken.add(wanted)
    return wanted
