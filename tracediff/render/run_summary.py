"""What `run` prints: the result, the events, the times, and whether the contract holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from tracediff.contracts import Report
from tracediff.render.escape import visible, visible_value
from tracediff.render.rows import counted, print_row


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A finished run; times are milliseconds, by name."""

    fixture: str
    path: str
    headline: str
    facts: Mapping[str, Any]
    times: Mapping[str, float]
    report: Report


def print_run(summary: RunSummary, console: Console) -> None:
    """Print one run in a few lines."""
    rows = [("result", visible(summary.headline))]
    rows += [(key.replace("_", " "), _fact(value)) for key, value in summary.facts.items()]
    rows.append(("events", f"{summary.report.events} in {visible(summary.path)}"))
    if summary.times:
        times = ", ".join(f"{name} {value:.1f} ms" for name, value in summary.times.items())
        rows.append(("times", times))
    console.print(Text(visible(summary.fixture), "bold"), soft_wrap=True)
    for label, text in rows:
        print_row(console, label, text)
    _print_contract(summary.report, console)


def _fact(value: Any) -> str:
    return visible(value) if isinstance(value, str) else visible_value(value)


def _print_contract(report: Report, console: Console) -> None:
    if not report.violations:
        rules = counted(len(report.applied), "rule")
        print_row(console, "contract", Text.assemble(("holds", "green"), f" ({rules})"))
        return
    broken = counted(len(report.violations), "violation")
    print_row(console, "contract", Text(f"broken: {broken}", "bold red"))
    for violation in report.violations:
        place = visible(violation.event_id or "whole trace")
        print_row(console, "", f"{place}: {violation.rule}: {visible(violation.reason)}")
