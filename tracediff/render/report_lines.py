"""What a report says of one comparison, as labelled lines: the same words in every format.

Reads finished results. Values from traces are escaped and cut; a label that starts with two blanks
tells more about the line before it, and an empty one continues it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tracediff.diff import Coverage, Divergence, Outcome, TensorDifference, TraceDiff
from tracediff.diff.result import DriftProfile, ErrorAt, FieldDifference
from tracediff.render.escape import LONGEST_MESSAGE, visible, visible_pair, visible_value
from tracediff.render.one_line import next_command
from tracediff.render.rows import counted

SHOWN_FRONTIER = 10
SHOWN_TRIGGERS = 8
PLURAL_CHECKS = ("inputs", "outputs", "artifacts", "ids")
NO_DRIFT = 1.001e-7
"""Up to the floor of a profile, what came before does not drift at all."""

WORTH_A_WORD = 30.0
"""A jump that is so many times the median one is no noise: between the engine's kernels it is 3."""

Line: TypeAlias = tuple[str, str]
"""A label and what follows it."""


def verdict_lines(diff: TraceDiff, *, show_all: bool = False) -> list[Line]:
    """Return everything a report says of one comparison; `show_all` lifts the limits of lists."""
    lines: list[Line] = []
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
    lines += _condition_lines(diff, show_all=show_all)
    if not diff.message:
        lines.append(("compared", coverage_text(diff.coverage)))
    lines += [("normalised", visible(text, LONGEST_MESSAGE)) for text in diff.normalisers]
    lines += [("warning", visible(text, LONGEST_MESSAGE)) for text in diff.warnings]
    return lines


def next_lines(diff: TraceDiff) -> list[Line]:
    """Return the command that shows more of what went wrong."""
    command = next_command(diff)
    return [] if command is None else [("next", command)]


def _trigger_lines(diff: TraceDiff, *, show_all: bool) -> list[Line]:
    label = "setting" if diff.first is None else "trigger"
    return _change_lines(label, diff.triggers, show_all=show_all)


def _change_lines(label: str, found: Sequence[FieldDifference], *, show_all: bool) -> list[Line]:
    shown = found if show_all else found[:SHOWN_TRIGGERS]
    lines = [(label, _change_text(difference)) for difference in shown]
    if len(found) > len(shown):
        lines.append(("", f"and {len(found) - len(shown)} more (--all lists them)"))
    return lines


def _condition_lines(diff: TraceDiff, *, show_all: bool) -> list[Line]:
    """Return what accompanies the verdict: conditions, levels, drift, tolerated differences."""
    lines = _change_lines("context", diff.context, show_all=show_all)
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


def _divergence_lines(label: str, divergence: Divergence) -> list[Line]:
    difference = divergence.difference
    if divergence.left is None or divergence.right is None:
        return [(label, f"{place_text(divergence)}: only {only_side(divergence)} has this event")]
    lines = [
        (label, f"{place_text(divergence)}: {differ_text(divergence.check)}"),
        ("  field", visible(difference.field)),
    ]
    if divergence.tensor is None or divergence.tensor.evidence == "attributes":
        left, right = visible_pair(difference.left, difference.right)
        lines += [("  left", left), ("  right", right)]
    if divergence.tensor is not None:
        lines += tensor_lines(divergence.tensor)
    return lines


def differ_text(check: str) -> str:
    """Return `state differs`, `outputs differ`."""
    return f"{check} differ" if check in PLURAL_CHECKS else f"{check} differs"


def only_side(divergence: Divergence) -> str:
    """Return the side that has an event which the other lacks."""
    return "left" if divergence.right is None else "right"


def tensor_lines(tensor: TensorDifference) -> list[Line]:
    """Return what was found of a tensor: reason, rule, evidence, elements, worst errors."""
    lines = [("  tensor", f"{visible(tensor.name)}: {visible(tensor.reason)}")]
    lines.append(("  rule", f"{tensor.rule.describe()} ({visible(tensor.rule_source)})"))
    decided = f"decided by {tensor.evidence}" if tensor.decidable else "undecidable"
    if tensor.relative_l2 is not None and tensor.evidence != "non-finite":
        decided += f", relative L2 distance {tensor.relative_l2:.3g}"
    if tensor.evidence == "sketch" and tensor.bound is not None:
        decided += f" where up to {tensor.bound:.3g} stands in for the rule"
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


def place_text(divergence: Divergence) -> str:
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
        where = f"at {place_text(seen)}"
    if seen.left is None or seen.right is None:
        return f"{where}: only {only_side(seen)} has it"
    values = " -> ".join(visible_pair(seen.difference.left, seen.difference.right, 60))
    return f"{where}: {visible(seen.difference.field.removeprefix('payload.'))} {values}"


def _consequence_lines(diff: TraceDiff, *, show_all: bool) -> list[Line]:
    lines = []
    others = diff.frontier[1:]
    if others:
        lines.append(("origins", f"{len(diff.frontier)} events diverge independently of another"))
        shown = others if show_all else others[:SHOWN_FRONTIER]
        for divergence in shown:
            what = f"{divergence.check} {visible(divergence.difference.field)}"
            lines.append(("", f"{place_text(divergence)}: {what}"))
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
    drifts = f"{visible(point.tensor)} at {visible(point.place.event_id)} drifts {point.drift:.3g}"
    if point.drift / point.jump <= NO_DRIFT:
        return f"largest: {drifts}, where nothing before it drifts"
    return (
        f"largest: {drifts}, {point.jump:.3g} times as far as what came before "
        f"({drift.ratio:.3g} times the median jump)"
    )


def _tolerated_text(diff: TraceDiff) -> str:
    worst, place = diff.worst_within, diff.worst_within_place
    assert worst is not None
    where = "" if place is None else f" at {visible(place.event_id)}"
    text = f"largest: {visible(worst.name)}{where}, relative L2 distance {worst.relative_l2:.3g}"
    if worst.evidence == "sketch" and worst.bound is not None:
        return f"{text}, by sketch: up to {worst.bound:.3g} stands in for {worst.rule.describe()}"
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


def coverage_text(coverage: Coverage) -> str:
    """Return what was compared, and what was not."""
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
