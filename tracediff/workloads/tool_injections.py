"""The faults that tool-001 can be run with: what each replaces, and at which point.

Knows names and replacements; everything else of a run with a fault is real.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from tracediff.toolcalls.channel import FaultPoint

Arguments = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Injection:
    """What is replaced in a run.

    `proposal` gets the proposed bytes after generation, `confirmed` the normalised arguments
    after confirmation was requested; `faults` disturb the messages to the service in their order;
    `cancels_after_commit` lets a cancellation arrive when the effect exists.
    """

    proposal: Callable[[bytes], bytes] = lambda content: content
    confirmed: Callable[[Arguments], Arguments] = lambda arguments: arguments
    faults: tuple[FaultPoint | None, ...] = ()
    cancels_after_commit: bool = False


def _add_field(content: bytes) -> bytes:
    return content.removesuffix(b"}") + b',"notify_all":true}'


def _move_by_an_hour(arguments: Arguments) -> Arguments:
    moved = datetime.fromisoformat(arguments["start"]) + timedelta(hours=1)
    return {**arguments, "start": moved.isoformat(timespec="seconds")}


NO_INJECTION = Injection()

INJECTIONS: Mapping[str, Injection] = MappingProxyType(
    {
        "extra-field": Injection(proposal=_add_field),
        "confirmation-mismatch": Injection(confirmed=_move_by_an_hour),
        "timeout-before-commit": Injection(faults=(FaultPoint.BEFORE_COMMIT,)),
        "response-lost-after-commit": Injection(faults=(FaultPoint.REPLY_LOST,)),
        "cancel-after-commit": Injection(cancels_after_commit=True),
    }
)
