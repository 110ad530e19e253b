"""A finished calibration: on the terminal and as JSON-ready data. Computes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from tracediff.calibration import CalibratedRule, Calibration, ExactDifference
from tracediff.diff.result import Divergence, EventPlace
from tracediff.render.escape import LONGEST_MESSAGE, visible, visible_pair
from tracediff.render.rows import counted, print_indented, print_row

CALIBRATION_FORMAT = "tracediff-calibration/1"
INDENT = 4
MOST_DIFFERENCES = 20
MEANINGS = {
    "digest": "equal",
    "exact": "compared exactly",
    "values": "by values",
    "files": "by files",
    "sketch": "by sketch",
}


def print_calibration(found: Calibration, console: Console) -> None:
    """Print every rule with what it was measured on, then what no rule absorbs."""
    for rule in found.rules:
        line = f"{visible(rule.rule.match)}  {rule.rule.describe()}"
        console.print(Text(line, "bold"), soft_wrap=True)
        print_indented(console, evidence_text(rule), INDENT, INDENT)
    for difference in found.differences[:MOST_DIFFERENCES]:
        print_row(console, "differs", _difference_text(difference))
    if len(found.differences) > MOST_DIFFERENCES:
        rest = counted(len(found.differences) - MOST_DIFFERENCES, "further difference")
        print_row(console, "differs", f"{rest}; --json lists all")
    if found.differences:
        line = (
            "these are no noise, cannot be decided, or share their name with tensors of other "
            "tolerances: no rule absorbs them, nor what follows"
        )
        print_row(console, "", line)
    compared = ", ".join(
        f"{count} {MEANINGS.get(word, word)}" for word, count in sorted(found.tensors.items())
    )
    print_row(console, "measured", f"{len(found.runs)} runs; tensors: {compared or 'none'}")
    rules = counted(len(found.rules), "rule") if found.rules else "no rule is needed"
    print_row(console, "rules", f"{rules}, margin {found.margin:g}")


def evidence_text(rule: CalibratedRule) -> str:
    """Return how much wider a rule is than the one it replaces, and on what that rests."""
    pairs = ", ".join(
        f"{count} {MEANINGS.get(word, word)}" for word, count in rule.evidence.items()
    )
    wider = (
        "keeps the rule without calibration, unlike names of its form"
        if rule.factor == 1.0
        else f"needs {rule.needed:.2g} times the rule without calibration"
    )
    return f"{wider}; {counted(len(rule.names), 'name')}, pairs of tensors: {pairs}"


def calibration_to_json(found: Calibration) -> dict[str, Any]:
    """Return a calibration as JSON-ready data."""
    return {
        "format": CALIBRATION_FORMAT,
        "runs": list(found.runs),
        "margin": found.margin,
        "tensors": dict(sorted(found.tensors.items())),
        "rules": [
            {
                "match": rule.rule.match,
                "mode": rule.rule.mode,
                "rtol": rule.rule.rtol,
                "atol": rule.rule.atol,
                "ulps": rule.rule.ulps,
                "rel_l2": rule.rule.rel_l2,
                "needed": rule.needed,
                "names": list(rule.names),
                "evidence": dict(rule.evidence),
            }
            for rule in found.rules
        ],
        "differences": [_difference_to_json(difference) for difference in found.differences],
    }


def _difference_to_json(found: ExactDifference) -> dict[str, Any]:
    divergence = found.divergence
    place = _place(divergence)
    tensor = divergence.tensor
    return {
        "left": found.left,
        "right": found.right,
        "component": place.component,
        "event_type": place.event_type,
        "logical_step": place.logical_step,
        "lane": None if place.lane is None else dict(place.lane),
        "check": divergence.check,
        "field": divergence.difference.field,
        "reason": "" if tensor is None else tensor.reason,
        "downstream": found.downstream,
    }


def _difference_text(found: ExactDifference) -> str:
    divergence = found.divergence
    place = _place(divergence)
    where = f"{place.component} {place.event_type}, step {place.logical_step}{_lane(place.lane)}"
    if divergence.tensor is not None:
        what = f"{divergence.difference.field}: {divergence.tensor.reason}"
    else:
        left, right = visible_pair(divergence.difference.left, divergence.difference.right)
        what = f"{divergence.difference.field}: {left} -> {right}"
    between = f"{visible(found.left, LONGEST_MESSAGE)} | {visible(found.right, LONGEST_MESSAGE)}"
    return f"{visible(where)}: {visible(what, LONGEST_MESSAGE)} ({between})"


def _place(divergence: Divergence) -> EventPlace:
    place = divergence.left or divergence.right
    assert place is not None
    return place


def _lane(lane: Mapping[str, Any] | None) -> str:
    return "" if lane is None else f", lane {', '.join(f'{k}={v}' for k, v in lane.items())}"
