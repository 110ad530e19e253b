"""What a gate finds about one golden: plain data that reports are made from.

Knows no rendering.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tracediff.diff import TraceDiff

MISSING: Final = "(missing)"
"""What a report calls a trace that is not there."""


@dataclass(frozen=True, slots=True)
class Gated:
    """One golden, the new trace it was held against, and what came out.

    `golden` is where the golden is or, where it is missing, would be. `new` is None where there is
    no new trace; `diff` then says why, with an outcome that is never a pass.
    """

    golden: Path
    new: Path | None
    diff: TraceDiff
