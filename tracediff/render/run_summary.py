"""What `run` prints: the result, the events, the times, and whether the contract holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from tracediff.contracts import Report
from tracediff.render.contract import contract_text
from tracediff.render.escape import LONGEST_MESSAGE, visible, visible_value
from tracediff.render.rows import LABEL_WIDTH, counted, print_row

SHOWN_ENTRIES = 20


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A finished run; times are milliseconds, by name."""

    fixture: str
    path: str
    headline: str
    facts: Mapping[str, Any]
    times: Mapping[str, float]
    report: Report


def print_run(summary: RunSummary, console: Console, *, quiet: bool = False) -> None:
    """Print one run in a few lines; with `quiet`, the result alone where the contract holds."""
    if quiet and not summary.report.violations:
        console.print(visible(summary.headline), soft_wrap=True)
        return
    rows = [("result", visible(summary.headline))]
    rows += [(key.replace("_", " "), _fact(value)) for key, value in summary.facts.items()]
    rows.append(("events", f"{summary.report.events} in {visible(summary.path, LONGEST_MESSAGE)}"))
    if summary.times:
        times = ", ".join(f"{name} {value:.1f} ms" for name, value in summary.times.items())
        rows.append(("times", times))
    console.print(Text(visible(summary.fixture), "bold"), soft_wrap=True)
    width = max(LABEL_WIDTH, *(len(label) + 1 for label, _ in rows))
    for label, text in rows:
        print_row(console, label, text, width)
    _print_contract(summary.report, console, width)


def _fact(value: Any) -> str:
    if isinstance(value, list) and len(value) > SHOWN_ENTRIES:
        head = visible_value(value[:SHOWN_ENTRIES]).removesuffix("]")
        return f"{head}, …] ({len(value)} entries)"
    return visible(value) if isinstance(value, str) else visible_value(value, LONGEST_MESSAGE)


def _print_contract(report: Report, console: Console, width: int) -> None:
    if not report.violations:
        if not report.applied:
            print_row(console, "contract", contract_text(report), width)
            return
        rules = counted(len(report.applied), "rule")
        print_row(console, "contract", Text.assemble(("holds", "green"), f" ({rules})"), width)
        return
    broken = counted(len(report.violations), "violation")
    print_row(console, "contract", Text(f"broken: {broken}", "bold red"), width)
    for violation in report.violations:
        place = visible(violation.event_id or "whole trace")
        print_row(
            console,
            "",
            f"{place}: {violation.rule}: {visible(violation.reason, LONGEST_MESSAGE)}",
            width,
        )
