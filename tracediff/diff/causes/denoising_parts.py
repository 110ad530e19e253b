"""Causes seen in a denoising step of which only one side has a part.

Knows the names that a diffusion trace uses. A part that is missing says what was done: a step
without a negative half is not guided, and a clipped clean latent has another name than one that is
as the formula gives it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracediff.diff.causes.findings import Findings, Record
from tracediff.diff.result import MISSING, Cause

_CLEAN: Final = ("predicted_z0", "clipped_z0")
_CLIPPING_SETTINGS: Final = frozenset({"clip_sample", "thresholding"})


def lost_guidance(findings: Findings) -> Cause | None:
    """In this step only one side gave the network the two conditions that were encoded."""
    difference = findings.first.difference
    if findings.first.check != "state" or findings.leaf != "guidance_order":
        return None
    if MISSING not in (difference.left, difference.right):
        return None
    side, other = ("left", "right") if difference.right is MISSING else ("right", "left")
    guided = [_has_halves(records) for records in findings.all_records()]
    if all(guided):
        text = f"in this step the network on the {other} got conditions that were not encoded"
        return Cause("input-changed", findings.component, text, findings.values)
    if not any(guided):
        return None
    text = f"in this step only {side} is guided: {other} has no negative half"
    return Cause("guidance-scale", findings.component, text, findings.values)


def clipped(findings: Findings) -> Cause | None:
    """Only one side clips the predicted clean latent, by `clip_sample` or `thresholding`."""
    difference = findings.first.difference
    name = findings.tensor_name
    if findings.first.check != "outputs" or name not in _CLEAN:
        return None
    if MISSING not in (difference.left, difference.right):
        return None
    mine, other = (
        [name for name in _CLEAN if name in records] for records in findings.all_records()
    )
    if len(mine) != 1 or len(other) != 1 or mine == other:
        return None
    side = "left" if mine == ["clipped_z0"] else "right"
    evidence = {
        trigger.field: {"left": trigger.left, "right": trigger.right}
        for trigger in findings.triggers
        if trigger.field.rpartition(".")[2] in _CLIPPING_SETTINGS
    }
    text = f"only {side} clips the predicted clean latent"
    return Cause("clipping", findings.component, text, {**findings.values, **evidence})


def _has_halves(records: Mapping[str, Record]) -> bool:
    return any(name.endswith("_negative") for name in records)
