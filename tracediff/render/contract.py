"""Contract reports as text: what is broken, or that everything holds."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from tracediff.contracts import Report
from tracediff.render.escape import LONGEST_MESSAGE, visible
from tracediff.render.rows import counted, print_row

RULE_INDENT = 2


def print_check(report: Report, console: Console, *, verbose: bool = False) -> None:
    """Print one contract report: a line for each violated rule, or one that says it holds.

    With `verbose` every applied rule follows with its statement.
    """
    if not report.violations:
        line = Text.assemble(
            (visible(report.trace, LONGEST_MESSAGE), "bold"),
            f": {counted(report.events, 'event')}, {contract_text(report)}",
        )
        console.print(line, soft_wrap=True)
    for violation in report.violations:
        place = violation.event_id or "whole trace"
        line = Text.assemble(
            (visible(report.trace, LONGEST_MESSAGE), "bold"),
            f": {visible(place)}: ",
            (violation.rule, "bold red"),
            f": {visible(violation.reason, LONGEST_MESSAGE)}",
        )
        console.print(line, soft_wrap=True)
    if verbose:
        _print_rules(report, console)


def contract_text(report: Report) -> str:
    """Return that the contract holds, or that there is none to hold."""
    if not report.applied:
        return f"valid; there are no contract rules for {report.kind} traces"
    return f"the {report.kind} contract holds ({counted(len(report.applied), 'rule')})"


def _print_rules(report: Report, console: Console) -> None:
    broken = {violation.rule for violation in report.violations}
    for rule in report.applied:
        verdict = ("broken", "red") if rule.name in broken else ("holds", "green")
        text = Text.assemble(verdict, " ", (rule.name, "bold"), f": {rule.statement}")
        print_row(console, "", text, RULE_INDENT)
