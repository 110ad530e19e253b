"""A comparison, a divergence and the next command in one printable line each.

Reads finished results. Values from traces are made visible here; what a format escapes beyond
that, it escapes itself.
"""

from __future__ import annotations

import shlex

from tracediff.diff import Divergence, Outcome, TensorDifference, TraceDiff
from tracediff.diff.result import FieldDifference
from tracediff.render.escape import LONGEST_MESSAGE, visible, visible_pair, visible_value

LONGEST_VALUE = 100
TRACE_ENDING = ".jsonl"

_BROKEN_FILE = (Outcome.INVALID, Outcome.INCOMPLETE, Outcome.CORRUPT)
"""Outcomes whose message begins with the name of the file that is no whole trace."""


def describe_diff(diff: TraceDiff) -> str:
    """Return what a comparison found: where it parts and how, or why it could not be made."""
    if diff.first is not None:
        return f"{describe_place(diff.first)}: {describe_divergence(diff.first)}"
    if diff.message:
        return visible(diff.message, LONGEST_MESSAGE)
    if diff.outcome is Outcome.DIVERGED and diff.triggers:
        return f"settings differ, and count: {describe_change(diff.triggers[0])}"
    return diff.outcome.value


def describe_place(divergence: Divergence) -> str:
    """Return which event it is: left's id where both sides have it."""
    place = divergence.left or divergence.right
    assert place is not None
    lane = "" if place.lane is None else f", lane {visible_value(dict(place.lane), 60)}"
    return (
        f"{visible(place.event_id)} {visible(place.component)} {visible(place.event_type)}, "
        f"step {place.logical_step}{lane}"
    )


def describe_divergence(divergence: Divergence) -> str:
    """Return the first failed check of a pair of events, with both values."""
    side = only_side(divergence)
    if side is not None:
        return f"only {side} has this event"
    tensor = divergence.tensor
    if tensor is None or tensor.evidence == "attributes":
        return describe_change(divergence.difference)
    return f"{divergence.check}: {describe_tensor(tensor)}"


def describe_tensor(tensor: TensorDifference) -> str:
    """Return how two tensors differ."""
    text = f"{visible(tensor.name)}: {visible(tensor.reason)}"
    if tensor.out_of_tolerance is not None:
        return f"{text} ({tensor.out_of_tolerance} of {tensor.elements} elements)"
    if tensor.relative_l2 is not None:
        return f"{text} (relative L2 distance {tensor.relative_l2:.3g})"
    return text


def describe_change(difference: FieldDifference) -> str:
    """Return a field and its two values."""
    values = visible_pair(difference.left, difference.right, LONGEST_VALUE)
    return f"{field_name(difference)}: {' -> '.join(values)}"


def field_name(difference: FieldDifference) -> str:
    """Return a field's path without the word that all of them begin with."""
    return visible(difference.field.removeprefix("payload."))


def only_side(divergence: Divergence) -> str | None:
    """Return which side alone has the event, None where both have it."""
    if divergence.left is not None and divergence.right is not None:
        return None
    return "left" if divergence.right is None else "right"


def describe_cause(diff: TraceDiff) -> str:
    """Return the cause's kind and explanation, nothing where no cause is known."""
    if diff.cause is None:
        return ""
    return f"{diff.cause.kind}: {visible(diff.cause.explanation, LONGEST_MESSAGE)}"


def next_command(diff: TraceDiff) -> str | None:
    """Return the command that shows more of a failure, quoted for a shell; None where none does."""
    if diff.first is not None:
        place = diff.first.left or diff.first.right
        assert place is not None
        path = diff.left if diff.first.left is not None else diff.right
        if TRACE_ENDING not in path:
            return None  # a fresh run or standard input, which no command can name
        return f"tracediff show {_path(path)} --event {shlex.quote(visible(place.event_id))}"
    broken = next((name for name in (diff.left, diff.right) if name in diff.message), None)
    if diff.outcome in _BROKEN_FILE and broken is not None:
        return f"tracediff check {_path(broken)}"
    return None


def _path(name: str) -> str:
    shown = visible(name, LONGEST_MESSAGE)
    return shlex.quote(f"./{shown}" if shown.startswith("-") else shown)
