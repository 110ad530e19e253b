"""A comparison and a contract report as text for a terminal, worth reading at 80 columns.

Reads finished results. Values from traces are escaped and never interpreted as markup.
"""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from tracediff.contracts import Report
from tracediff.diff import Coverage, Divergence, Outcome, TensorDifference, TraceDiff
from tracediff.diff.result import ErrorAt
from tracediff.render.escape import visible, visible_value
from tracediff.render.rows import counted, print_row

SHOWN_FRONTIER = 10
SHOWN_TRIGGERS = 8

STYLES = {
    Outcome.EQUAL: "bold green",
    Outcome.WITHIN_TOLERANCE: "bold green",
    Outcome.DIVERGED: "bold red",
}


def print_diff(diff: TraceDiff, console: Console, *, show_all: bool = False) -> None:
    """Print one comparison; `show_all` lists the whole frontier."""
    console.print(_headline(diff), soft_wrap=True)
    for label, text in _diff_lines(diff, show_all=show_all):
        print_row(console, label, text)


def print_check(report: Report, console: Console) -> None:
    """Print one contract report: a line for each violated rule, or one that says it holds."""
    if not report.violations:
        rules = counted(len(report.applied), "rule")
        console.print(
            Text.assemble(
                (visible(report.trace), "bold"),
                f": {report.events} events, the {report.kind} contract holds ({rules})",
            ),
            soft_wrap=True,
        )
    for violation in report.violations:
        place = violation.event_id or "whole trace"
        line = Text.assemble(
            (visible(report.trace), "bold"),
            f": {visible(place)}: ",
            (violation.rule, "bold red"),
            f": {visible(violation.reason)}",
        )
        console.print(line, soft_wrap=True)


def _headline(diff: TraceDiff) -> Text:
    style = STYLES.get(diff.outcome, "bold yellow")
    line = Text.assemble((diff.outcome.value.upper(), style), "  ")
    line.append(f"{visible(diff.left)} | {visible(diff.right)}")
    return line


def _diff_lines(diff: TraceDiff, *, show_all: bool) -> list[tuple[str, str]]:
    lines: list[tuple[str, str]] = []
    if diff.message:
        lines.append(("reason", visible(diff.message)))
    if diff.first is not None:
        lines += _divergence_lines("first", diff.first)
    if diff.cause is not None:
        lines.append(("cause", f"{diff.cause.kind}: {visible(diff.cause.explanation)}"))
    triggers = diff.triggers[: None if show_all else SHOWN_TRIGGERS]
    for trigger in triggers:
        name = visible(trigger.field.removeprefix("payload."))
        change = f"{visible_value(trigger.left, 60)} -> {visible_value(trigger.right, 60)}"
        lines.append(("setting" if diff.first is None else "trigger", f"{name}: {change}"))
    if len(diff.triggers) > len(triggers):
        lines.append(("", f"and {len(diff.triggers) - len(triggers)} more (--all lists them)"))
    if diff.visible is not None:
        lines.append(("visible", _visible_text(diff)))
    lines += _consequence_lines(diff, show_all=show_all)
    for difference in diff.context:
        lines.append(
            (
                "context",
                f"{visible(difference.field)}: {visible_value(difference.left, 60)} -> "
                f"{visible_value(difference.right, 60)}",
            )
        )
    if diff.worst_within is not None:
        lines.append(("tolerated", _tolerated_text(diff)))
    if diff.outcome not in (Outcome.INCOMPARABLE,):
        lines.append(("compared", _coverage_text(diff.coverage)))
    lines += [("normalised", visible(text)) for text in diff.normalisers]
    lines += [("warning", visible(text)) for text in diff.warnings]
    if diff.first is not None and (place := diff.first.left or diff.first.right) is not None:
        side = diff.left if diff.first.left is not None else diff.right
        lines.append(("next", f"tracediff show {visible(side)} --event {visible(place.event_id)}"))
    return lines


def _divergence_lines(label: str, divergence: Divergence) -> list[tuple[str, str]]:
    difference = divergence.difference
    if divergence.left is None or divergence.right is None:
        return [
            (label, f"{_places_text(divergence)}: only {_only_side(divergence)} has this event")
        ]
    lines = [
        (label, f"{_places_text(divergence)}: {divergence.check} differ"),
        ("  field", visible(difference.field)),
    ]
    if divergence.tensor is None or divergence.tensor.evidence == "attributes":
        lines.append(("  left", visible_value(difference.left)))
        lines.append(("  right", visible_value(difference.right)))
    if divergence.tensor is not None:
        lines += _tensor_lines(divergence.tensor)
    return lines


def _only_side(divergence: Divergence) -> str:
    return "left" if divergence.right is None else "right"


def _tensor_lines(tensor: TensorDifference) -> list[tuple[str, str]]:
    lines = [("  tensor", f"{visible(tensor.name)}: {visible(tensor.reason)}")]
    lines.append(("  rule", f"{tensor.rule.describe()} ({visible(tensor.rule_source)})"))
    decided = f"decided by {tensor.evidence}"
    if tensor.relative_l2 is not None:
        decided += f", relative L2 distance {tensor.relative_l2:.3g}"
    if tensor.confidence is not None:
        decided += f", confidence {tensor.confidence:.4%}"
    lines.append(("  evidence", decided))
    if tensor.out_of_tolerance is not None and tensor.first_index is not None:
        lines.append(
            (
                "  elements",
                f"{tensor.out_of_tolerance} of {tensor.elements} out of tolerance, "
                f"the first at {list(tensor.first_index)}",
            )
        )
    worst = (
        ("absolute", tensor.worst_absolute),
        ("relative", tensor.worst_relative),
        ("ULP", tensor.worst_ulp),
    )
    lines += [
        ("  worst", f"{name} {_error_text(error)}")
        for name, error in worst
        if error and error.error
    ]
    return lines


def _error_text(error: ErrorAt) -> str:
    return f"{error.error:.6g} at {list(error.index)}: {error.left!r} against {error.right!r}"


def _places_text(divergence: Divergence) -> str:
    """Return which event it is; the right side's id too where it is another one."""
    place = divergence.left or divergence.right
    assert place is not None
    name = visible(place.event_id)
    if divergence.left is not None and divergence.right is not None:
        other = visible(divergence.right.event_id)
        name = name if other == name else f"{name} (right: {other})"
    lane = "" if place.lane is None else f", lane {visible_value(dict(place.lane), 60)}"
    return (
        f"{name} {visible(place.component)} {visible(place.event_type)}, "
        f"step {place.logical_step}{lane}"
    )


def _visible_text(diff: TraceDiff) -> str:
    seen = diff.visible
    assert seen is not None
    if diff.first is not None and (seen.left, seen.right) == (diff.first.left, diff.first.right):
        where = "at the same event"
    else:
        where = f"at {_places_text(seen)}"
    if seen.left is None or seen.right is None:
        return f"{where}: only {_only_side(seen)} has it"
    values = (
        f"{visible_value(seen.difference.left, 60)} -> {visible_value(seen.difference.right, 60)}"
    )
    return f"{where}: {visible(seen.difference.field.removeprefix('payload.'))} {values}"


def _consequence_lines(diff: TraceDiff, *, show_all: bool) -> list[tuple[str, str]]:
    lines = []
    others = diff.frontier[1:]
    if others:
        lines.append(("origins", f"{len(diff.frontier)} events diverge independently of another"))
        shown = others if show_all else others[:SHOWN_FRONTIER]
        for divergence in shown:
            what = f"{divergence.check} {visible(divergence.difference.field)}"
            lines.append(("", f"{_places_text(divergence)}: {what}"))
        if len(shown) < len(others):
            lines.append(("", f"and {len(others) - len(shown)} more (--all lists them)"))
    if diff.downstream:
        counts = ", ".join(f"{count} in {check}" for check, count in diff.downstream.items())
        total = sum(diff.downstream.values())
        lines.append(("downstream", f"{counted(total, 'event')} after it diverge too ({counts})"))
    return lines


def _tolerated_text(diff: TraceDiff) -> str:
    worst, place = diff.worst_within, diff.worst_within_place
    assert worst is not None
    where = "" if place is None else f" at {visible(place.event_id)}"
    text = f"largest: {visible(worst.name)}{where}, relative L2 distance {worst.relative_l2:.3g}"
    return f"{text}, by {worst.evidence} under {worst.rule.describe()}"


def _coverage_text(coverage: Coverage) -> str:
    parts = [f"{counted(coverage.matched, 'event')} matched"]
    for count, name in (
        (coverage.only_left, "only left"),
        (coverage.only_right, "only right"),
        (coverage.undecidable, "undecidable"),
        (coverage.not_recorded, "with nothing recorded to compare"),
    ):
        if count:
            parts.append(f"{count} {name}")
    if coverage.tensors:
        counts = ", ".join(f"{count} by {how}" for how, count in coverage.tensors.items())
        parts.append(f"tensors: {counts}")
    return "; ".join(parts)
