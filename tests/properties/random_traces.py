"""Strategies for small random traces, and for one change of one compared field."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from trace_building import event, tensor, trace, with_payload

from tracediff.events import Event, Trace

TYPES = ("x", "y", "z")

scalars = st.one_of(
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.none(),
    st.text(max_size=4),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=4,
)
objects = st.dictionaries(
    st.sampled_from(("n", "text", "token_id", "position")), values, max_size=3
)
names = st.dictionaries(st.sampled_from(("model", "tool")), st.text(max_size=3), max_size=2)
ids = st.dictionaries(st.sampled_from(("call", "request")), st.sampled_from("abcd"), max_size=2)
numbers = st.one_of(
    st.floats(-1e3, 1e3, width=32), st.sampled_from([0.0, -0.0, np.nan, np.inf, -np.inf])
)


@st.composite
def tensors(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw up to two tensor records with different names, with values, a sketch or a digest."""
    found = []
    for name in draw(st.lists(st.sampled_from(("u", "v")), max_size=2, unique=True)):
        array = np.array(draw(st.lists(numbers, min_size=1, max_size=4)), np.float32)
        level = draw(st.sampled_from(("values", "sketch", "digest")))
        found.append(tensor(name, array, level=level))
    return found


@st.composite
def draws(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw up to one draw of a generator."""
    before, count = draw(st.integers(0, 3)), draw(st.integers(0, 4))
    ledger = {
        "generator": "g",
        "algorithm": draw(st.sampled_from(("Philox4x32-10", "mt19937"))),
        "key": [draw(st.integers(0, 3)), 0],
        "counter_before": before,
        "counter_after": before + count,
        "draws": {"count": count},
    }
    return [ledger] if draw(st.booleans()) else []


SECTIONS: dict[str, st.SearchStrategy[Any]] = {
    "artifacts": names,
    "state": objects,
    "ids": ids,
    "inputs": tensors(),
    "rng": draws(),
    "outputs": tensors(),
    "choice": objects,
    "commit": objects,
    "settings": objects,
    "context": objects,
    "note": values,
}


@st.composite
def payloads(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the sections of one event; most have few."""
    chosen = draw(st.lists(st.sampled_from(sorted(SECTIONS)), max_size=4, unique=True))
    return {name: draw(SECTIONS[name]) for name in SECTIONS if name in chosen}


WORDS = (
    *("token_id", "top", "kept", "steps", "allowed", "text", "sequence_no", "stop_sequence"),
    *("finish_reason", "output_tokens_selected", "input_ids", "position_ids", "png_digest"),
    *("arguments", "invocation_digest", "confirmed_digest", "request_digest", "status", "reason"),
    *("idempotency_key", "guidance_order", "alpha_bar", "prompt", "start"),
)
"""Keys that causes read."""

EVENT_TYPES = (
    *("token.selected", "stream.delta", "stream.joined", "schema.rejected", "external.committed"),
    *("invocation.started", "confirmation.approved", "denoise.updated", "generation.draining"),
)
odd_values = st.one_of(
    values,
    st.lists(st.lists(scalars, max_size=3), max_size=3),
    st.lists(st.dictionaries(st.sampled_from(WORDS), scalars, max_size=3), max_size=3),
    st.sampled_from(["2026-06-03T14:00:00", "2026-06-03T14:00:00Z", "length", "committed"]),
)


@st.composite
def odd_traces(draw: st.DrawFn) -> Trace:
    """Draw a trace whose events use the known words for values of any form."""
    objects = st.dictionaries(st.sampled_from(WORDS), odd_values, max_size=4)
    events = [event("e0", state={"root": True})]
    for number in range(1, draw(st.integers(2, 6))):
        sections = draw(st.sets(st.sampled_from(("state", "choice", "commit")), max_size=3))
        events.append(
            event(
                f"e{number}",
                draw(st.sampled_from([found.event_id for found in events])),
                draw(st.sampled_from(EVENT_TYPES)),
                component=draw(st.sampled_from(("transport", "decoder"))),
                step=draw(st.integers(0, 1)),
                outputs=draw(tensors()),
                **{name: draw(objects) for name in sorted(sections)},
            )
        )
    return trace(events)


@st.composite
def traces(draw: st.DrawFn, largest: int = 7) -> Trace:
    """Draw a trace: a random tree with joins, few types, steps that repeat, some lanes."""
    events = [event("e0", state={"root": True})]
    for number in range(1, draw(st.integers(2, largest))):
        earlier = [found.event_id for found in events]
        parent = draw(st.sampled_from(earlier))
        payload = draw(payloads())
        if draw(st.integers(0, 9)) == 0:
            payload["lane"] = {"image": draw(st.integers(0, 1))}
        others = [name for name in earlier if name != parent]
        if others and draw(st.integers(0, 9)) == 0:
            payload["joins"] = [draw(st.sampled_from(others))]
        kind, step = draw(st.sampled_from(TYPES)), draw(st.integers(0, 2))
        events.append(Event("trace-test", f"e{number}", parent, "loop", kind, step, dict(payload)))
    return trace(events)


def renamed(found: Trace) -> Trace:
    """Return the trace with all event ids spelled otherwise."""
    spelled: dict[str | None, str | None] = {None: None}
    spelled |= {e.event_id: f"renamed-{n}" for n, e in enumerate(reversed(found.events))}

    def rename(one: Event) -> Event:
        joins = one.payload.get("joins")
        if joins:
            one = with_payload(one, joins=[spelled[join] for join in joins])
        return replace(
            one,
            event_id=str(spelled[one.event_id]),
            parent_event_id=spelled[one.parent_event_id],
        )

    return replace(found, events=tuple(rename(one) for one in found.events))


def reordered(found: Trace, order: list[int]) -> Trace:
    """Return the trace with its events in another file order; `end` stays with the last line."""
    events = [with_payload(found.events[i], end=None) for i in order]
    events[-1] = with_payload(events[-1], end={"events": len(events)})
    return replace(found, events=tuple(events))


def other_value(value: Any) -> Any:
    """Return a value of the same kind that is another one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 2 + 1.0
    if isinstance(value, str):
        return f"{value}!"
    return ["changed", value]


def _last_entry(section: str) -> Callable[[Any], tuple[Any, str]]:
    """Return the change of the last entry of an object."""

    def change(held: Any) -> tuple[Any, str]:
        key = list(held)[-1]
        return {**held, key: other_value(held[key])}, f"payload.{section}.{key}"

    return change


def _last_draw(held: Any) -> tuple[Any, str]:
    counter = held[-1]["counter_before"] + 7
    return [*held[:-1], {**held[-1], "counter_before": counter}], "payload.rng[0].counter_before"


def _last_tensor(section: str) -> Callable[[Any], tuple[Any, str]]:
    def change(held: Any) -> tuple[Any, str]:
        record = tensor(held[-1]["name"], np.array([1e6, -1e6, 1e6], np.float64))
        return [*held[:-1], record], f"payload.{section}[{held[-1]['name']}]"

    return change


CHANGES: dict[str, Callable[[Any], tuple[Any, str]]] = {
    **{name: _last_entry(name) for name in ("artifacts", "state", "choice", "commit")},
    "rng": _last_draw,
    **{name: _last_tensor(name) for name in ("inputs", "outputs")},
}
"""How to change one compared value of a section, and the path of the field that differs then."""


def changeable(found: Trace) -> list[tuple[int, str]]:
    """Return which sections of which events hold something to change."""
    return [
        (number, section)
        for number, one in enumerate(found.events)
        for section in CHANGES
        if one.payload.get(section)
    ]


def with_one_change(found: Trace, place: tuple[int, str]) -> tuple[Trace, str]:
    """Return the trace with one value of one section changed, and the path of that value."""
    number, section = place
    one = found.events[number]
    held, field = CHANGES[section](one.payload[section])
    events = list(found.events)
    events[number] = with_payload(one, **{section: held})
    return replace(found, events=tuple(events)), field
