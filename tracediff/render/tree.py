"""One trace as a tree of events with shapes and choices.

Reads events. Must not know how they are compared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from rich.console import Console
from rich.text import Text

from tracediff.events import Event, Trace
from tracediff.events.event import TENSOR_SECTIONS
from tracediff.render.escape import visible, visible_value
from tracediff.render.rows import counted


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
    parts += [counted(draw["draws"]["count"], "random number") for draw in draws]
    tensors = [record for section in TENSOR_SECTIONS for record in event.payload.get(section, ())]
    if tensors:
        last = tensors[-1]
        parts.append(
            f"{counted(len(tensors), 'tensor')}, last {visible(last['name'])} {last['shape']}"
        )
    return ", ".join(parts or _entries(event, "state"))


def _entries(event: Event, section: str) -> list[str]:
    entries = event.payload.get(section, {})
    return [f"{visible(key)}={visible_value(value, 40)}" for key, value in entries.items()]
