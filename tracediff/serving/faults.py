"""Faults that the server can be asked for, so that clients can be tested against them.

Knows names, numbers and what each disturbs. Must not know shapes or how a stream is sent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from tracediff.errors import UsageError
from tracediff.suggestions import suggest

LARGEST = 1_000_000


class FaultName(StrEnum):
    """What goes wrong."""

    RATE_LIMIT = "rate-limit"
    SERVER_ERROR = "server-error"
    ERROR_AFTER = "error-after"
    DROP_AFTER = "drop-after"
    SPLIT_UTF8 = "split-utf8"
    DUPLICATE_FINISH = "duplicate-finish"
    MISSING_TERMINATOR = "missing-terminator"
    REFUSAL = "refusal"
    CONTENT_FILTER = "content-filter"


MEANINGS: Mapping[FaultName, str] = MappingProxyType(
    {
        FaultName.RATE_LIMIT: "429 with Retry-After: 1, for the first N requests (all)",
        FaultName.SERVER_ERROR: "500, for the first N requests (all)",
        FaultName.ERROR_AFTER: "an error event after status 200 and N deltas (1)",
        FaultName.DROP_AFTER: "the connection ends after N deltas (1)",
        FaultName.SPLIT_UTF8: "chunks end inside a UTF-8 character",
        FaultName.DUPLICATE_FINISH: "the finish reason is sent twice",
        FaultName.MISSING_TERMINATOR: "the stream ends without [DONE] or message_stop",
        FaultName.REFUSAL: "the model's answer is a refusal",
        FaultName.CONTENT_FILTER: "a content filter stops the answer after N deltas (1)",
    }
)
"""What each does; in brackets the number if none is given."""

COUNTING = (FaultName.RATE_LIMIT, FaultName.SERVER_ERROR)
"""Faults whose number counts requests; that of the others counts deltas."""

NUMBERED = (*COUNTING, FaultName.ERROR_AFTER, FaultName.DROP_AFTER, FaultName.CONTENT_FILTER)


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault by name, and its number where it has one."""

    name: FaultName
    number: int | None = None

    def __str__(self) -> str:
        """NAME or NAME:NUMBER, as `parse_fault` reads it."""
        return self.name if self.number is None else f"{self.name}:{self.number}"


def parse_fault(text: str) -> Fault:
    """Return the fault of `NAME` or `NAME:NUMBER`; raise UsageError for anything else."""
    word, separator, number = text.partition(":")
    names = [str(name) for name in FaultName]
    if word not in names:
        raise UsageError(f"there is no fault {word!r:.60}; {suggest(word, names)}")
    name = FaultName(word)
    if not separator:
        return Fault(name, None if name in COUNTING or name not in NUMBERED else 1)
    is_number = number.isascii() and number.isdecimal() and len(number) <= len(str(LARGEST))
    if name not in NUMBERED or not is_number or not 1 <= int(number) <= LARGEST:
        allowed = f"{name}:N with N from 1 to {LARGEST}" if name in NUMBERED else name
        raise UsageError(f"the fault {text!r:.60} is not allowed; {allowed} is")
    return Fault(name, int(number))


def parse_faults(texts: Iterable[str]) -> tuple[Fault, ...]:
    """Return several faults; raise UsageError where one is given twice."""
    faults = tuple(parse_fault(text) for text in texts)
    twice = [name for name, count in Counter(fault.name for fault in faults).items() if count > 1]
    if twice:
        raise UsageError(f"the fault {twice[0]} is given twice")
    return faults


@dataclass(frozen=True, slots=True)
class Disturbance:
    """The faults of one request; `str` is what its trace records as its injection."""

    faults: tuple[Fault, ...] = ()

    def __str__(self) -> str:
        """The faults with commas between."""
        return ",".join(map(str, self.faults))

    def has(self, name: FaultName) -> bool:
        """Whether the fault is among them."""
        return any(fault.name is name for fault in self.faults)

    def after(self, name: FaultName) -> int | None:
        """Return after how many deltas the fault strikes, None where it does not."""
        return next((fault.number for fault in self.faults if fault.name is name), None)


class FaultPlan:
    """Decides which faults a request meets: those of the server, and those that it asks for."""

    def __init__(self, faults: Sequence[Fault], *, by_header: bool) -> None:
        self._faults = tuple(faults)
        self._by_header = by_header
        self._struck: Counter[FaultName] = Counter()

    def for_request(self, header: str | None) -> Disturbance:
        """Return the next request's faults; raise UsageError for a header that is not allowed."""
        asked: tuple[Fault, ...] = ()
        if header is not None:
            if not self._by_header:
                raise UsageError("faults by header need `tracediff serve --allow-faults`")
            asked = parse_faults(part.strip() for part in header.split(","))
        own = tuple(fault for fault in self._faults if self._strikes(fault))
        return Disturbance((*own, *asked))

    def _strikes(self, fault: Fault) -> bool:
        if fault.name not in COUNTING or fault.number is None:
            return True
        self._struck[fault.name] += 1
        return self._struck[fault.name] <= fault.number
