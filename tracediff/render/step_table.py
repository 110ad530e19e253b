"""The denoising steps of an image trace as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from tracediff.events import Event, Trace
from tracediff.render.escape import visible, visible_value

STEP = "denoise.updated"
COLUMNS = (10, 10, 10, 12, 12, 12)
HEADINGS = ("event", "timestep", "previous", "latent min", "latent max", "latent l2")


def print_steps(trace: Trace, console: Console) -> None:
    """Print one line for each denoising step: timesteps, and the latent it wrote."""
    steps = [event for event in trace.events if event.event_type == STEP]
    if not steps:
        return
    console.print(Text(_line(HEADINGS), "bold"), soft_wrap=True)
    for event in steps:
        console.print(Text(_line(_cells(event))), soft_wrap=True)


def _cells(event: Event) -> Sequence[str]:
    state = event.payload.get("state", {})
    stats = _latent_stats(event)
    return (
        visible(event.event_id, COLUMNS[0]),
        visible_value(state.get("timestep"), COLUMNS[1]),
        visible_value(state.get("previous_timestep"), COLUMNS[2]),
        *(_number(stats.get(key)) for key in ("min", "max", "l2")),
    )


def _latent_stats(event: Event) -> Mapping[str, Any]:
    for record in event.payload.get("outputs", ()):
        if record["name"] == "latent_out":
            stats: Mapping[str, Any] = record["stats"]
            return stats
    return {}


def _number(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, int | float) else "-"


def _line(cells: Sequence[str]) -> str:
    return "".join(cell.ljust(width) for cell, width in zip(cells, COLUMNS, strict=True)).rstrip()
