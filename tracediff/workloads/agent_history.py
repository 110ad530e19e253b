"""What an agent remembers: the request, and what it asked and was told; compacted when it is full.

Knows turns and the vocabulary. Must not know the model or when a loop stops.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tracediff.workloads.chat_model import ASSISTANT, SYSTEM, TOOL, USER, ChatVocabulary, Turn
from tracediff.workloads.tool_model import Prompt


@dataclass(frozen=True, slots=True)
class Round:
    """One call of the tool: what the model wrote, which option it asked about, what it was told."""

    call: str
    option: str
    result: str


@dataclass(frozen=True, slots=True)
class History:
    """A conversation that grows by rounds.

    `learnt` holds, by option, the status of the rounds that were dropped: what is left of them.
    """

    instruction: str
    request: str
    rounds: tuple[Round, ...] = ()
    learnt: Mapping[str, str] | None = None

    def add(self, found: Round) -> History:
        """Return the history with one round more."""
        return replace(self, rounds=(*self.rounds, found))

    def prompt(self, vocabulary: ChatVocabulary) -> Prompt:
        """Return what the model reads; raise TokenizerError for what has no tokens."""
        segments = vocabulary.render(self._turns())
        ids = vocabulary.tokenizer.encode(segments)
        return Prompt("".join(segment.text for segment in segments), tuple(ids))

    def compact(self) -> History:
        """Return the history without its oldest round, of which the status stays."""
        oldest, *rest = self.rounds
        status = json.loads(oldest.result)["status"]
        learnt = {**(self.learnt or {}), oldest.option: status}
        return replace(self, rounds=tuple(rest), learnt=learnt)

    def _turns(self) -> list[Turn]:
        turns = [Turn(SYSTEM, self.instruction), Turn(USER, self.request)]
        if self.learnt:
            turns.append(Turn(TOOL, spell(self.learnt)))
        for found in self.rounds:
            turns += [Turn(ASSISTANT, found.call), Turn(TOOL, found.result)]
        return turns


def spell(value: Mapping[str, str]) -> str:
    """Return compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
