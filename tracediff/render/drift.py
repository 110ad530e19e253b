"""The drift of tensors along the walk: a table of the largest jumps, and one line that draws it."""

from __future__ import annotations

import math

from rich.console import Console
from rich.text import Text

from tracediff.diff.result import DriftPoint, DriftProfile
from tracediff.render.escape import visible
from tracediff.render.rows import NARROWEST

BARS = "▁▂▃▄▅▆▇█"
LOWEST_EXPONENT = -8.0
"""Drift of 1e-8 and less draws as the lowest bar, 1 as the highest."""

SHOWN = 12


def print_drift(profile: DriftProfile | None, console: Console) -> None:
    """Print the drift of all tensors as a line, and the largest jumps as a table."""
    if profile is None or not any(point.drift for point in profile.points):
        console.print(Text("no tensor drifts"), soft_wrap=True)
        return
    console.print(Text("drift of each tensor in recorded order, 1e-8 to 1", "bold"), soft_wrap=True)
    bars = _bars(profile.points, max(console.width, NARROWEST))
    console.print(Text(bars), soft_wrap=True)
    console.print(Text("largest jumps", "bold"), soft_wrap=True)
    largest = sorted(profile.points, key=lambda point: -point.jump)[:SHOWN]
    for point in largest:
        line = Text(f"{point.drift:10.3g}  x{point.jump:<10.3g}")
        line.append(f"{visible(point.place.event_id)} {visible(point.tensor)} ({point.section})")
        console.print(line, soft_wrap=True)


def _bars(points: tuple[DriftPoint, ...], width: int) -> str:
    """Return one character a tensor; where there are too many, the largest of each stretch."""
    stretch = -(-len(points) // width)
    groups = [points[i : i + stretch] for i in range(0, len(points), stretch)]
    return "".join(_bar(max(point.drift for point in group)) for group in groups)


def _bar(drift: float) -> str:
    if drift <= 0:
        return " "
    share = (math.log10(drift) - LOWEST_EXPONENT) / -LOWEST_EXPONENT
    return BARS[min(max(int(share * len(BARS)), 0), len(BARS) - 1)]
