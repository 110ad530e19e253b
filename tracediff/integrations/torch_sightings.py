"""Whether a recording of a module saw anything that a comparison could look at.

Knows what was seen. Must not know how.
"""

from __future__ import annotations

from dataclasses import dataclass

from tracediff.errors import UsageError


@dataclass(slots=True)
class Sightings:
    """What was seen so far: a call, a result that was recorded, and that torch compiled the outer
    module within the block, from where on its calls are not seen.
    """

    call: bool = False
    result: bool = False
    compiling: bool = False

    def check(self, component: str) -> None:
        """Raise UsageError where the trace would be equal to one of whatever else happened."""
        if self.compiling:
            raise UsageError(
                f"{component} was compiled inside the recorded block, where its calls cannot be "
                "seen; compile it before, and record what torch.compile returned"
            )
        if not self.call:
            raise UsageError(
                f"no call of {component} was seen inside the recorded block: call the module "
                "itself there, not .forward(), a copy, or what torch.compile or torch.jit made of "
                "it (record what torch.compile made)"
            )
        if not self.result:
            raise UsageError(
                f"nothing that {component} gave inside the recorded block was recorded, so no "
                "comparison could show anything: its results are empty, or left out by select= or "
                "leave_out="
            )
