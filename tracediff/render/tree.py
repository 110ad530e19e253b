"""One trace as a tree of events with shapes and choices, and one event in full.

Reads events. Must not know how they are compared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from tracediff.events import Event, Trace
from tracediff.events.event import SECTIONS, TENSOR_SECTIONS
from tracediff.render.escape import visible, visible_value

SHOWN_VALUES = 8


def print_tree(trace: Trace, console: Console) -> None:
    """Print all events: indented where a trace branches, with what each one holds."""
    children: dict[str | None, list[Event]] = defaultdict(list)
    for event in trace.events:
        children[event.parent_event_id].append(event)
    for event, depth in _walk(children):
        line = Text("  " * depth)
        line.append(visible(event.event_id), "bold")
        line.append(f" {visible(event.component)} ", "cyan")
        line.append(visible(event.event_type))
        if event.logical_step:
            line.append(f" step {event.logical_step}", "dim")
        summary = _summary(event)
        if summary:
            line.append(f"  {summary}", "green")
        line.truncate(console.width, overflow="ellipsis")
        console.print(line, soft_wrap=True)


def print_event(event: Event, console: Console) -> None:
    """Print one event with every section."""
    console.print(
        Text.assemble(
            (visible(event.event_id), "bold"),
            f" {visible(event.component)} {visible(event.event_type)}, step {event.logical_step}, ",
            f"parent {visible(event.parent_event_id or 'none (root)')}",
        ),
        soft_wrap=True,
    )
    known = [section for section in SECTIONS if section in event.payload]
    private = [key for key in event.payload if key not in SECTIONS]
    for section in (*known, *private):
        console.print(Text(visible(section), "bold"), soft_wrap=True)
        for line in _section_lines(section, event.payload[section]):
            console.print(Text(f"  {line}"), soft_wrap=True)


def _walk(children: Mapping[str | None, list[Event]]) -> Iterator[tuple[Event, int]]:
    """Yield events depth first; a chain keeps its depth, only branches are indented."""
    stack = [(event, 0) for event in reversed(children[None])]
    while stack:
        event, depth = stack.pop()
        yield event, depth
        below = children.get(event.event_id, [])
        # The last child continues its parent's line, so that a long chain stays at the margin.
        branches = [(child, depth + 1) for child in below[:-1]]
        stack.extend([*((child, depth) for child in below[-1:]), *reversed(branches)])


def _summary(event: Event) -> str:
    """Return what an event decided, drew and computed, and otherwise what it saw."""
    parts = [*_entries(event, "choice"), *_entries(event, "commit")]
    draws = event.payload.get("rng", ())
    parts += [f"{draw['draws']['count']} random numbers" for draw in draws]
    tensors = [record for section in TENSOR_SECTIONS for record in event.payload.get(section, ())]
    if tensors:
        last = tensors[-1]
        parts.append(f"{len(tensors)} tensors, last {visible(last['name'])} {last['shape']}")
    return ", ".join(parts or _entries(event, "state"))


def _entries(event: Event, section: str) -> list[str]:
    entries = event.payload.get(section, {})
    return [f"{visible(key)}={visible_value(value, 40)}" for key, value in entries.items()]


def _section_lines(section: str, content: Any) -> list[str]:
    if section in TENSOR_SECTIONS:
        return [_tensor_line(record) for record in content]
    if isinstance(content, dict):
        return [f"{visible(key)}: {visible_value(value)}" for key, value in content.items()]
    if isinstance(content, list):
        return [visible_value(item) for item in content]
    return [visible_value(content)]


def _tensor_line(record: Mapping[str, Any]) -> str:
    stats = record["stats"]
    text = f"{visible(record['name'])} {visible(record['dtype'])} {record['shape']}"
    if record["logical"]:
        text += f" {visible_value(dict(record['logical']), 60)}"
    text += f" {visible(record['digest'])}"
    if "min" in stats:
        text += f" min {stats['min']} max {stats['max']} mean {stats['mean']} l2 {stats['l2']}"
    odd = {key: stats[key] for key in ("nan", "pos_inf", "neg_inf", "neg_zero") if key in stats}
    if odd:
        text += f" {visible_value(odd, 80)}"
    if "values" in record:
        shown = ", ".join(str(value) for value in record["values"][:SHOWN_VALUES])
        rest = "" if len(record["values"]) <= SHOWN_VALUES else ", …"
        text += f" values {shown}{rest}"
    return text
