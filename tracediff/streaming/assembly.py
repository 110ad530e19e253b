"""The answer as it is put together: parts, finish, usage, and what its stream does wrong.

Knows the common form that the three APIs are translated into. Must not know their words, bytes or
a recorder: whoever wants to see the deltas gives a function.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tracediff.streaming.finish import Finish
from tracediff.streaming.parts import OTHER, TOOL_CALL, Part, PartKey
from tracediff.streaming.payload import spell_json

Tokens = Sequence[Any]
"""The tokens of a delta with their log-probabilities, as an event's choice lists them."""

LARGEST_INDEX: Final = 1 << 31
MOST_VIOLATIONS: Final = 100
"""Of more, only the first are kept: a stream that repeats one fault repeats it for long."""


@dataclass(frozen=True, slots=True)
class Delta:
    """One piece of a part: its number among the part's pieces, and the tokens it came with.

    `name` is what its tool call is called so far.
    """

    part: Part
    number: int
    text: str
    tokens: Tokens | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Ending:
    """How one answer ended, in the API's own word and in the common one."""

    own: str
    finish: Finish
    stop_sequence: str | None = None

    @property
    def settles_itself(self) -> bool:
        """Whether the answer itself says that a stop sequence ended it."""
        return self.finish is Finish.STOP and self.stop_sequence is not None


@dataclass(frozen=True, slots=True)
class Failure:
    """An error that the server told instead of an answer, or in the middle of one."""

    type: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class StreamViolation:
    """A rule of its API that a stream breaks: the rule's name, and the event that broke it."""

    name: str
    event: int


class Assembly:
    """Everything known of one answer so far; dialects tell it what comes.

    `event` is the number of the event that is being read, from 1; `on_delta` and `on_identified`
    (with model and id of the response) are called as things come, in order. `secret` is left out
    of every text. `lacks_start` says that the stream does not begin as its API begins one.
    """

    def __init__(
        self,
        on_delta: Callable[[Delta], None] | None = None,
        on_identified: Callable[[str, str], None] | None = None,
        *,
        secret: str = "",
    ) -> None:
        self.event = 0
        self.secret = secret
        self.lacks_start = False
        self.parts: dict[tuple[int, str, int], Part] = {}
        self.roles: dict[int, str] = {}
        self.endings: dict[int, Ending] = {}
        self.usage: dict[str, int] = {}
        self.usage_details: dict[str, Any] = {}
        self.failure: Failure | None = None
        self.terminator: str | None = None
        self.response_id = ""
        self.model = ""
        self.conditions: dict[str, Any] = {}
        self.violations: list[StreamViolation] = []
        self.recognised = 0
        self._on_delta = on_delta
        self._on_identified = on_identified
        self._identified = False
        self._next: dict[tuple[int, str], int] = {}
        self._unread: Any = None

    @property
    def unread(self) -> str:
        """The digest of the bytes that stand for nothing in the answer, "" where all are read."""
        return "" if self._unread is None else f"sha256:{self._unread.hexdigest()}"

    def leave_unread(self, content: bytes) -> None:
        """Note bytes that reading leaves out or replaces, to be compared all the same."""
        if self._unread is None:
            self._unread = hashlib.sha256()
        self._unread.update(b"%d:%d:" % (self.event, len(content)) + content)

    @property
    def choices(self) -> tuple[int, ...]:
        """The numbers of the answers of which anything is known, in order."""
        return tuple(
            sorted({*self.roles, *self.endings, *(part.key.choice for part in self.parts.values())})
        )

    @property
    def is_finished(self) -> bool:
        """Whether every answer has its finish reason, and there is one."""
        return bool(self.endings) and all(choice in self.endings for choice in self.choices)

    def part(self, choice: int, kind: str, number: int) -> Part:
        """Return a part, an empty one where nothing of it came yet."""
        key = PartKey(choice, kind, number)
        found = self.parts.get(key)
        if found is None:
            found = self.parts[key] = Part(key, self.secret)
            self._next[choice, kind] = max(number + 1, self.next_number(choice, kind))
        return found

    def add(
        self, choice: int, kind: str, number: int, text: str, tokens: Tokens | None = None
    ) -> None:
        """Append to a part; an empty piece changes nothing."""
        if text:
            part = self.parts.get((choice, kind, number)) or self.part(choice, kind, number)
            self.grow(part, text, tokens)

    def grow(self, part: Part, text: str, tokens: Tokens | None = None) -> None:
        """Append a piece that is not empty to a part."""
        if self.endings and part.key.choice in self.endings:
            self.violate("delta-after-finish")
        piece = part.grow(text)
        if piece and self._on_delta is not None:
            self._on_delta(Delta(part, part.deltas - 1, piece, tokens, part.name))

    def keep(self, choice: int, word: str, value: Any, number: int = 0) -> None:
        """Keep what is not understood as JSON text, so that it is compared all the same.

        It is no piece of the answer, and may stand behind its end.
        """
        part = self.part(choice, other_kind(word), number)
        piece = part.grow(spell_json(value))
        if piece and self._on_delta is not None:
            self._on_delta(Delta(part, part.deltas - 1, piece))

    def flush(self) -> None:
        """Hand out what parts hold back; nothing more comes."""
        for part in self.parts.values():
            held = part.flush()
            if held and self._on_delta is not None:
                self._on_delta(Delta(part, part.deltas - 1, held, None, part.name))

    def name_call(self, choice: int, number: int, name: str, call_id: str) -> None:
        """Note name and id of a tool call; a name that comes in pieces is put together."""
        part = self.part(choice, TOOL_CALL, number)
        if name and name != part.name:
            part.name = (part.name + name).replace(self.secret or "\0", "***")
        if call_id and not part.call_id:
            part.call_id = call_id
        elif call_id and call_id != part.call_id:
            self.violate("tool-call-id-changes")

    def next_number(self, choice: int, kind: str) -> int:
        """Return the first number that no part of this kind has."""
        return self._next.get((choice, kind), 0)

    def identify(self, response_id: Any, model: Any) -> None:
        """Note the id and model that an event names; they stay the same to the end."""
        if self._identified and model == self.model and response_id == self.response_id:
            return
        if isinstance(model, str) and model and model != self.model:
            if self.model:
                self.violate("model-changes")
            self.model = self.model or model
        if isinstance(response_id, str) and response_id and response_id != self.response_id:
            if self.response_id:
                self.violate("id-changes")
            self.response_id = self.response_id or response_id
        if not self._identified and (self.model or self.response_id):
            self._identified = True
            if self._on_identified is not None:
                self._on_identified(self.model, self.response_id)

    def finish(
        self, choice: int, own: str, words: Mapping[str, Finish], stop_sequence: Any = None
    ) -> None:
        """Note why an answer ended; of several reasons the last one counts, as for the SDKs."""
        ending = Ending(
            own,
            words.get(own, Finish.OTHER),
            stop_sequence if isinstance(stop_sequence, str) else None,
        )
        before = self.endings.get(choice)
        if before is not None:
            self.violate("duplicate-finish" if before.own == own else "conflicting-finish")
        if ending.finish is Finish.OTHER:
            self.violate("unknown-finish")
        self.endings[choice] = ending

    def count(self, usage: Mapping[str, Any], names: Mapping[str, str]) -> None:
        """Note usage: `names` maps the API's names to the common ones, the rest is detail.

        What is told several times grows or stays, and the last word counts.
        """
        for own, value in usage.items():
            name = names.get(own)
            if name is None:
                self.usage_details[own] = value
            elif type(value) is int:
                if value < self.usage.get(name, 0):
                    self.violate("usage-decreases")
                self.usage[name] = value
            elif value is not None:
                self.violate("usage-is-no-number")
                self.keep(0, own, value)

    def fail(self, error: Any) -> None:
        """Note an error that the server tells; the stream ends with it."""
        self.note_failure(error)
        self.end("error")

    def note_failure(self, error: Any) -> None:
        """Note an error that the server tells."""
        found = error if isinstance(error, dict) else {"message": error}

        def word(key: str) -> str:
            value = found.get(key)
            return str(value) if isinstance(value, str | int) else ""

        self.failure = Failure(word("type"), word("code"), word("message"))

    def end(self, terminator: str) -> None:
        """Note the event with which the stream says that it is over."""
        if self.terminator is None:
            self.terminator = terminator
        elif self.terminator != "error":
            self.violate("event-after-end")

    def violate(self, name: str) -> None:
        """Note a rule that the present event breaks; once for each event."""
        found = StreamViolation(name, self.event)
        if len(self.violations) < MOST_VIOLATIONS and found not in self.violations[-8:]:
            self.violations.append(found)


def other_kind(word: Any) -> str:
    """Return the kind of a part that is kept without being understood: `other WORD`."""
    return f"{OTHER} {ascii(str(word))[1:-1][:80]}"


def index_of(value: Any, default: int) -> int:
    """Return an index that a server sent, `default` where that is none."""
    return value if type(value) is int and 0 <= value < LARGEST_INDEX else default
