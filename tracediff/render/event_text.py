"""One event in full, section by section, in lines that a narrow terminal holds.

Reads events. Must not know how they are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from tracediff.events import Event
from tracediff.events.event import SECTIONS, TENSOR_SECTIONS
from tracediff.render.escape import LONGEST_MESSAGE, visible, visible_value
from tracediff.render.rows import print_indented

SHOWN_VALUES = 8
ENTRY_INDENT = 2
DETAIL_INDENT = 6
STATISTICS = ("min", "max", "mean", "l2")
ODDITIES = ("nan", "pos_inf", "neg_inf", "neg_zero")

Line = tuple[int, str]
"""An indent and what follows it."""


def print_event(event: Event, console: Console) -> None:
    """Print one event with every section."""
    heading = Text.assemble(
        (visible(event.event_id), "bold"),
        f" {visible(event.component)} {visible(event.event_type)}, step {event.logical_step}, ",
        f"parent {visible(event.parent_event_id or 'none (root)')}",
    )
    print_indented(console, heading, 0, DETAIL_INDENT)
    known = [section for section in SECTIONS if section in event.payload]
    private = [key for key in event.payload if key not in SECTIONS]
    for section in (*known, *private):
        console.print(Text(visible(section), "bold"), soft_wrap=True)
        for indent, line in _section_lines(section, event.payload[section]):
            print_indented(console, line, indent, DETAIL_INDENT)


def _section_lines(section: str, content: Any) -> Iterator[Line]:
    if section in TENSOR_SECTIONS:
        for record in content:
            yield from _tensor_lines(record)
    elif section == "rng":
        for draw in content:
            yield from _draw_lines(draw)
    elif isinstance(content, dict):
        for key, value in content.items():
            yield ENTRY_INDENT, f"{visible(key)}: {visible_value(value, LONGEST_MESSAGE)}"
    else:
        for item in content if isinstance(content, list) else [content]:
            yield ENTRY_INDENT, visible_value(item, LONGEST_MESSAGE)


def _tensor_lines(record: Mapping[str, Any]) -> Iterator[Line]:
    """Yield what a tensor is in one line, and below it what it holds."""
    stats = record["stats"]
    name = f"{visible(record['name'])} {visible(record['dtype'])} {record['shape']}"
    yield ENTRY_INDENT, f"{name} {_joined(record['logical'])}".rstrip()
    yield DETAIL_INDENT, visible(record["digest"])
    counts = [key for key in (*STATISTICS, *ODDITIES) if key in stats]
    if counts:
        yield DETAIL_INDENT, " ".join(f"{key} {_number(stats[key])}" for key in counts)
    if "values" in record:
        shown = ", ".join(_number(value) for value in record["values"][:SHOWN_VALUES])
        rest = "" if len(record["values"]) <= SHOWN_VALUES else ", …"
        yield DETAIL_INDENT, f"values {shown}{rest}"
    if "file" in record:
        yield DETAIL_INDENT, f"file {visible(record['file'])}"


def _draw_lines(draw: Mapping[str, Any]) -> Iterator[Line]:
    """Yield one draw from a generator: a line for each key, the first one less indented."""
    for index, (key, value) in enumerate(draw.items()):
        text = _joined(value) if isinstance(value, dict) else visible_value(value)
        yield ENTRY_INDENT if index == 0 else ENTRY_INDENT + 2, f"{visible(key)}: {text}"


def _joined(entries: Mapping[str, Any]) -> str:
    """Return `layer 0, positions [0, 11]`."""
    return ", ".join(f"{visible(key)} {visible_value(value)}" for key, value in entries.items())


def _number(value: Any) -> str:
    if isinstance(value, str):
        return visible(value)  # NaN and the infinities
    return f"{value:.6g}" if isinstance(value, float) else visible_value(value)
