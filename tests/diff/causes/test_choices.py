"""Which logits processor is to blame where the raw logits agree and the processed ones do not."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from trace_building import chain, event, tensor

from tracediff.diff import diff_traces
from tracediff.events import Trace

RAW = np.array([0.5, -1.25, 2.0, 0.75], dtype=np.float32)
Step = tuple[str, float]


def selection(steps: Sequence[Step]) -> Trace:
    """A selection whose processors each multiply the logits by a number."""
    logits, outputs = RAW, []
    for name, factor in steps:
        logits = logits * np.float32(factor)
        outputs.append(tensor(f"logits.{name}", logits))
    sections: dict[str, Any] = {"outputs": outputs} if outputs else {}
    return chain(
        event("r"),
        event("s", inputs=[tensor("next_logits", RAW)], **sections, choice={"token_id": 2}),
    )


ROWS = {
    "the-only-one": ([], [("penalty", 2)], "penalty", "only right runs penalty"),
    "two-of-none": ([], [("a", 2), ("b", 3)], "a", "only right runs a, b"),
    "before-a-shared-one": ([("k", 1)], [("t", 2), ("k", 1)], "t", "only right runs t"),
    "after-a-shared-one": ([("k", 2)], [("k", 2), ("h", 3)], "h", "only right runs h"),
    "changes-nothing": (
        [("k", 2)],
        [("k", 2), ("h", 1)],
        "h",
        "only right runs h, which changes nothing here",
    ),
    "none-changes-anything": ([], [("a", 1), ("b", 1)], "a", "only right runs a, b, which changes"),
    "idle-and-not": ([], [("a", 1), ("b", 2)], "b", "only right runs b"),
    "idle-before-a-shared-one": ([("k", 2)], [("t", 1), ("k", 3)], "k", "they differ after k"),
    "idle-before-the-lone-one": (
        [("k", 1)],
        [("t", 1), ("u", 2), ("k", 1)],
        "u",
        "only right runs u",
    ),
    "after-the-first-difference": (
        [("k", 2)],
        [("k", 3), ("h", 3)],
        "k",
        "they differ after k",
    ),
    "one-on-each-side": (
        [("a", 2), ("k", 1)],
        [("b", 3), ("k", 1)],
        "a",
        "only left runs a",
    ),
    "both-run-it": ([("k", 2)], [("k", 3)], "k", "they differ after k"),
}


@pytest.mark.parametrize("case", ROWS)
def test_processor_to_blame(case: str) -> None:
    """The one that runs on one side only and changed something comes before what it is handed to.

    The same from either side, but for their names.
    """
    left, right, name, says = ROWS[case]
    found = diff_traces(selection(left), selection(right)).cause
    assert found is not None
    assert (found.kind, found.component) == ("processor", name)
    assert says in found.explanation
    other = diff_traces(selection(right), selection(left)).cause
    assert other is not None
    assert other.kind == "processor"
