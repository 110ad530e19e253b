"""Names the cause of the first divergence: one table of small functions, the first that fits wins.

To add a cause, write a function in `causes` and put it into the table where it belongs: the more
specific before the more general.
"""

from __future__ import annotations

from collections.abc import Callable

from tracediff.diff.causes import discrete, numeric, structure
from tracediff.diff.causes.findings import Findings
from tracediff.diff.result import Cause

RECOGNISERS: tuple[Callable[[Findings], Cause | None], ...] = (
    structure.stop_rule,
    structure.lone_event,
    structure.moved_event,
    discrete.artifact_changed,
    discrete.input_changed,
    discrete.known_state,
    discrete.random_numbers,
    discrete.tokenizer,
    numeric.processor,
    numeric.attributes,
    numeric.not_finite,
    numeric.sign_of_zero,
    numeric.constant_factor,
    numeric.permuted,
    numeric.numeric_path,
    numeric.token_flip,
    discrete.emitted_text,
    discrete.commit_identity,
)


def explain(findings: Findings) -> Cause:
    """Return the cause of the first divergence, `unknown` where nothing fits."""
    for recognise in RECOGNISERS:
        cause = recognise(findings)
        if cause is not None:
            return cause
    return Cause("unknown", findings.component, "no known pattern fits the evidence")
