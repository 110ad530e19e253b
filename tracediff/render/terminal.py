"""A comparison and a contract report as text for a terminal, worth reading at 80 columns.

Reads finished results. Values from traces are escaped and never interpreted as markup.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from tracediff.diff import Coverage, Divergence, Outcome, TensorDifference, TraceDiff
from tracediff.diff.result import DriftProfile, ErrorAt, FieldDifference
from tracediff.render.escape import LONGEST_MESSAGE, visible, visible_pair, visible_value
from tracediff.render.neighbours import print_neighbours
from tracediff.render.rows import counted, print_row

if TYPE_CHECKING:
    from tracediff.diff.panels import TensorPanel

TRACE_ENDING = ".jsonl"
SHOWN_FRONTIER = 10
SHOWN_TRIGGERS = 8
PLURAL_CHECKS = ("inputs", "outputs", "artifacts", "ids")
WORTH_A_WORD = 30.0
"""A jump that is so many times the median one is no noise: between the engine's kernels it is 3."""

STYLES = {
    Outcome.EQUAL: "bold green",
    Outcome.WITHIN_TOLERANCE: "bold green",
    Outcome.DIVERGED: "bold red",
}


def print_diffs(
    diffs: Sequence[TraceDiff],
    console: Console,
    *,
    show_all: bool = False,
    panel: TensorPanel | None = None,
) -> None:
    """Print comparisons one after the other; of several, the equal ones in one line each.

    `panel` is the first divergent tensor of a single comparison.
    """
    if len(diffs) == 1:
        print_diff(diffs[0], console, show_all=show_all, panel=panel)
        return
    for diff in diffs:
        if diff.outcome in (Outcome.EQUAL, Outcome.WITHIN_TOLERANCE):
            console.print(_headline(diff), soft_wrap=True)
        else:
            print_diff(diff, console, show_all=show_all)
    counts = Counter(diff.outcome.value for diff in diffs)
    summary = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    console.print(Text(f"{len(diffs)} pairs: {summary}", "bold"), soft_wrap=True)


def print_diff(
    diff: TraceDiff,
    console: Console,
    *,
    show_all: bool = False,
    panel: TensorPanel | None = None,
) -> None:
    """Print one comparison; `show_all` lists the whole frontier, `panel` is what is drawn."""
    console.print(_headline(diff), soft_wrap=True)
    for label, text in _diff_lines(diff, show_all=show_all):
        print_row(console, label, text)
    if diff.neighbours:
        print_neighbours(diff.neighbours, console)
    if panel is not None:
        # Loaded where there is something to draw.
        from tracediff.render.thumbnails import print_thumbnails

        print_thumbnails(panel, console)
    if diff.neighbours:
        console.print()
    for label, text in _next_lines(diff):
        print_row(console, label, text)


def _headline(diff: TraceDiff) -> Text:
    style = STYLES.get(diff.outcome, "bold yellow")
    line = Text.assemble((diff.outcome.value.upper(), style), "  ")
    line.append(f"{visible(diff.left, LONGEST_MESSAGE)} | {visible(diff.right, LONGEST_MESSAGE)}")
    return line


def _diff_lines(diff: TraceDiff, *, show_all: bool) -> list[tuple[str, str]]:
    lines: list[tuple[str, str]] = []
    if diff.message:
        lines.append(("reason", visible(diff.message, LONGEST_MESSAGE)))
    if _counts_settings(diff):
        lines.append(("reason", "settings differ, and --strict-settings counts them"))
    if diff.first is not None:
        lines += _divergence_lines("first", diff.first)
    if diff.cause is not None:
        explanation = visible(diff.cause.explanation, LONGEST_MESSAGE)
        lines.append(("cause", f"{diff.cause.kind}: {explanation}"))
    lines += _trigger_lines(diff, show_all=show_all)
    if diff.visible is not None:
        lines.append(("visible", _visible_text(diff)))
    lines += _consequence_lines(diff, show_all=show_all)
    lines += _condition_lines(diff)
    if not diff.message:
        lines.append(("compared", _coverage_text(diff.coverage)))
    lines += [("normalised", visible(text, LONGEST_MESSAGE)) for text in diff.normalisers]
    lines += [("warning", visible(text, LONGEST_MESSAGE)) for text in diff.warnings]
    return lines


def _next_lines(diff: TraceDiff) -> list[tuple[str, str]]:
    """Return the command that shows the first divergent event."""
    if diff.first is None or (place := diff.first.left or diff.first.right) is None:
        return []
    side = diff.left if diff.first.left is not None else diff.right
    if TRACE_ENDING not in side:
        return []  # a fresh run or standard input, which no command can name
    shown = visible(side, LONGEST_MESSAGE)
    return [("next", f"tracediff show {shown} --event {visible(place.event_id)}")]


def _trigger_lines(diff: TraceDiff, *, show_all: bool) -> list[tuple[str, str]]:
    label = "setting" if diff.first is None else "trigger"
    shown = diff.triggers if show_all else diff.triggers[:SHOWN_TRIGGERS]
    lines = [(label, _change_text(trigger)) for trigger in shown]
    if len(diff.triggers) > len(shown):
        lines.append(("", f"and {len(diff.triggers) - len(shown)} more (--all lists them)"))
    return lines


def _condition_lines(diff: TraceDiff) -> list[tuple[str, str]]:
    """Return what accompanies the verdict: conditions, levels, drift, tolerated differences."""
    lines = [("context", _change_text(difference)) for difference in diff.context[:SHOWN_TRIGGERS]]
    if diff.levels:
        found = "; ".join(f"{level}: {outcome}" for level, outcome in diff.levels.items())
        lines.append(("levels", found))
    if diff.drift is not None and diff.drift.ratio > WORTH_A_WORD:
        lines.append(("jump", _jump_text(diff.drift)))
    if diff.worst_within is not None:
        lines.append(("tolerated", _tolerated_text(diff)))
    elif diff.outcome is Outcome.WITHIN_TOLERANCE:
        lines.append(("tolerated", _unmeasured_text(diff.coverage)))
    return lines


def _change_text(difference: FieldDifference) -> str:
    name = visible(difference.field.removeprefix("payload."))
    return f"{name}: {' -> '.join(visible_pair(difference.left, difference.right, 60))}"


def _divergence_lines(label: str, divergence: Divergence) -> list[tuple[str, str]]:
    difference = divergence.difference
    if divergence.left is None or divergence.right is None:
        return [
            (label, f"{_places_text(divergence)}: only {_only_side(divergence)} has this event")
        ]
    lines = [
        (label, f"{_places_text(divergence)}: {_differ_text(divergence.check)}"),
        ("  field", visible(difference.field)),
    ]
    if divergence.tensor is None or divergence.tensor.evidence == "attributes":
        left, right = visible_pair(difference.left, difference.right)
        lines += [("  left", left), ("  right", right)]
    if divergence.tensor is not None:
        lines += _tensor_lines(divergence.tensor)
    return lines


def _differ_text(check: str) -> str:
    return f"{check} differ" if check in PLURAL_CHECKS else f"{check} differs"


def _only_side(divergence: Divergence) -> str:
    return "left" if divergence.right is None else "right"


def _tensor_lines(tensor: TensorDifference) -> list[tuple[str, str]]:
    lines = [("  tensor", f"{visible(tensor.name)}: {visible(tensor.reason)}")]
    lines.append(("  rule", f"{tensor.rule.describe()} ({visible(tensor.rule_source)})"))
    decided = f"decided by {tensor.evidence}" if tensor.decidable else "undecidable"
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
    values = " -> ".join(visible_pair(seen.difference.left, seen.difference.right, 60))
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
        verb = "diverges" if total == 1 else "diverge"
        lines.append(("downstream", f"{counted(total, 'event')} after it {verb} too ({counts})"))
    return lines


def _jump_text(drift: DriftProfile) -> str:
    point = drift.largest
    assert point is not None
    return (
        f"largest: {visible(point.tensor)} at {visible(point.place.event_id)} drifts "
        f"{point.drift:.3g}, {point.jump:.3g} times as far as what came before "
        f"({drift.ratio:.3g} times the median jump)"
    )


def _tolerated_text(diff: TraceDiff) -> str:
    worst, place = diff.worst_within, diff.worst_within_place
    assert worst is not None
    where = "" if place is None else f" at {visible(place.event_id)}"
    text = f"largest: {visible(worst.name)}{where}, relative L2 distance {worst.relative_l2:.3g}"
    return f"{text}, by {worst.evidence} under {worst.rule.describe()}"


def _unmeasured_text(coverage: Coverage) -> str:
    """Return what was tolerated where no distance of a tensor is above 0."""
    if set(coverage.tensors) - {"digest"}:
        return "tensors with other bytes and no distance, such as -0.0 against 0.0"
    return "differing values in lists called `top`, all close enough"


def _counts_settings(diff: TraceDiff) -> bool:
    """Whether nothing but settings makes the traces diverge."""
    found = diff.first is not None or bool(diff.message)
    return diff.outcome is Outcome.DIVERGED and not found


def _coverage_text(coverage: Coverage) -> str:
    parts = []
    if coverage.identical_bytes:
        parts.append(f"{coverage.identical_bytes} bytes the same and not validated (check does)")
    if coverage.matched or not parts:
        parts.append(f"{counted(coverage.matched, 'event')} matched")
    for count, name in (
        (coverage.only_left, "only left"),
        (coverage.only_right, "only right"),
        (coverage.undecidable - coverage.tensors.get("none", 0), "undecidable"),
        (coverage.not_recorded, "with nothing recorded to compare"),
    ):
        if count:
            parts.append(f"{count} {name}")
    if coverage.tensors:
        counts = ", ".join(_count_text(how, count) for how, count in coverage.tensors.items())
        parts.append(f"tensors: {counts}")
    return "; ".join(parts)


def _count_text(evidence: str, count: int) -> str:
    return f"{count} undecidable" if evidence == "none" else f"{count} by {evidence}"
