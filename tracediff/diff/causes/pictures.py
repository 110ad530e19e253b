"""Causes seen in a picture's file."""

from __future__ import annotations

from tracediff.diff.causes.findings import Findings
from tracediff.diff.result import Cause


def container(findings: Findings) -> Cause | None:
    """The pixels agree; the bytes of the file around them differ."""
    if findings.first.check != "choice" or not findings.leaf.startswith("png_"):
        return None
    mine, other = findings.all_records()
    names = [name for name in mine if name.startswith("pixels") and name in other]
    if not names:
        return None
    if all(mine[name]["digest"] == other[name]["digest"] for name in names):
        text = "the pixels agree; only how the file holds them differs"
        return Cause("container", findings.component, text, findings.values)
    return Cause(
        "numeric-path",
        findings.component,
        "the pixels agree within tolerance, not bit for bit, and the file repeats that",
        findings.values,
    )
