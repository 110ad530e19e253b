"""The stable rule of every comparison that does not pass, and a sentence for each rule.

Rules are named by kinds of causes, and by outcomes where there is no cause.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tracediff.diff import TraceDiff
from tracediff.diff.causes.kinds import CAUSE_KINDS
from tracediff.diff.result import MISSING
from tracediff.render.pairs import Verdict, verdict_of

COULD_NOT_SAY: Final = "could-not-say"

_OTHER_RULES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "diverged": "The pair does not pass, for a reason that is no single event.",
        "missing-counterpart": "One side has no trace of this name.",
        "settings-differ": "Only settings differ, and they are to count as a divergence.",
        f"{COULD_NOT_SAY}-incomparable": "The traces are of different kinds and cannot be compared "
        "step by step.",
        f"{COULD_NOT_SAY}-nothing-compared": "Nothing was compared, which is no pass.",
        f"{COULD_NOT_SAY}-invalid": "A file breaks the format of a trace.",
        f"{COULD_NOT_SAY}-incomplete": "A file ends before the execution did.",
        f"{COULD_NOT_SAY}-corrupt": "A file holds bytes that are no event.",
        f"{COULD_NOT_SAY}-unreadable": "A file could not be read.",
    }
)

RULE_TEXTS: Final[Mapping[str, str]] = MappingProxyType({**CAUSE_KINDS, **_OTHER_RULES})
"""All rules, each with one sentence that explains it."""


def rule_of(diff: TraceDiff) -> str | None:
    """Return the rule that a comparison breaks, None where it passes."""
    verdict = verdict_of(diff)
    if verdict is Verdict.PASSED:
        return None
    if verdict is Verdict.TROUBLE:
        return f"{COULD_NOT_SAY}-{diff.outcome.value.replace(' ', '-')}"
    if diff.cause is not None:
        return diff.cause.kind if diff.cause.kind in CAUSE_KINDS else "unknown"
    if MISSING in (diff.left, diff.right):
        return "missing-counterpart"
    return "settings-differ" if diff.triggers and not diff.message else "diverged"
