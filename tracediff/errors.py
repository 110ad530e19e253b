"""The error tree. Every error means "could not say": the command ends with exit status 2.

    TracediffError
    ├── UsageError            the request names something that does not exist or is out of range
    ├── StorageError          a file could not be read or written (missing, a folder, disk full)
    ├── TraceError            a file was read and is not a trace one can rely on
    │   ├── InvalidTrace      well-formed JSON that breaks the format
    │   ├── CorruptTrace      bytes in the middle of the file that are no event
    │   └── IncompleteTrace   the file ends before the execution did
    ├── TokenizerError        text that the vocabulary cannot cover
    └── IllegalState          an operation that the present state does not allow

A divergence is a result and never an exception. Must not import anything of the project.
"""

from __future__ import annotations

from dataclasses import dataclass


class TracediffError(Exception):
    """Base of all errors whose message is written for the user."""


class UsageError(TracediffError):
    """A name, key or value that the user gave and that does not exist or is out of range."""


class StorageError(TracediffError):
    """A file that could not be read or written."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a file something is: every part that is known, the rest None.

    `line` counts from 1, `offset` is the byte offset of the line's start in the decompressed
    file, `event_id` the event's own id, `field` a path such as `payload.outputs[2].digest`.
    """

    path: str
    line: int | None = None
    offset: int | None = None
    event_id: str | None = None
    field: str | None = None

    def __str__(self) -> str:
        """`PATH:LINE (byte OFFSET), event ID, field FIELD`, as far as known."""
        text = self.path if self.line is None else f"{self.path}:{self.line}"
        if self.offset is not None:
            text += f" (byte {self.offset})"
        if self.event_id is not None:
            text += f", event {self.event_id}"
        if self.field is not None:
            text += f", field {self.field}"
        return text


class TraceError(TracediffError):
    """A file that was read and is not a trace one can rely on.

    `outcome` is the word that reports use; `place` says where; `reason` says what is wrong and,
    where there is something to do, what.
    """

    outcome = "invalid"

    def __init__(self, place: Place, reason: str) -> None:
        super().__init__(f"{place}: {reason}")
        self.place = place
        self.reason = reason


class InvalidTrace(TraceError):
    """Well-formed JSON that breaks the format."""

    outcome = "invalid"


class CorruptTrace(TraceError):
    """Bytes in the middle of the file that are no event."""

    outcome = "corrupt"


class IncompleteTrace(TraceError):
    """The file ends before the execution did."""

    outcome = "incomplete"


class TokenizerError(TracediffError):
    """Text that the vocabulary cannot cover; `offset` is its byte offset in UTF-8."""

    def __init__(self, text: str, offset: int, rest: str) -> None:
        super().__init__(
            f"the tokenizer has no piece for {rest[:20]!r} at byte {offset} of {text[:60]!r}"
        )
        self.text = text
        self.offset = offset
        self.rest = rest


class IllegalState(TracediffError):
    """An operation that the present state does not allow; nothing was changed."""
