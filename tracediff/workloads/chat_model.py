"""The model of a fixture behind a chat: turns as control tokens around text, and the vocabulary.

Knows definitions of text and tool fixtures. Must not know requests, runs or the recorder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tracediff.engine.decoder import Decoder, build_decoder
from tracediff.engine.json_grammar import JsonGrammar
from tracediff.engine.kernels import Kernel
from tracediff.engine.tokenizer import Segment, Tokenizer
from tracediff.errors import UsageError
from tracediff.workloads.definitions import Definition, data_folder, read_definition
from tracediff.workloads.text_model import decoder_config

TEMPLATE: Final = "toy-chat-template-v1"
SYSTEM, USER, ASSISTANT, TOOLS, TOOL = "system", "user", "assistant", "tools", "tool"


@dataclass(frozen=True, slots=True)
class Turn:
    """Who speaks (one of the roles above), and what is said."""

    role: str
    text: str


class ChatVocabulary:
    """Tokenizer and chat template of a fixture: it fits `text_model.Vocabulary`."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        tokenizer = content["tokenizer"]
        listed = tokenizer["pieces"]
        numbered = listed.items() if isinstance(listed, Mapping) else enumerate(listed)
        self.pieces = {int(token): piece for token, piece in numbered}
        self.eos: int = tokenizer["eos_id"]
        self.control: list[int] = tokenizer["control_ids"]
        self.masked = [token for token in self.control if token != self.eos]
        self.tokenizer = Tokenizer(self.pieces, self.control)
        self._controls = {self.pieces[token] for token in self.control}
        self._instruction = _fixed_instruction(content["template"])

    def render(self, turns: Sequence[Turn]) -> list[Segment]:
        """Return the segments of a conversation, up to where the model answers.

        A conversation that does not begin with an instruction gets the fixture's. Raises
        UsageError for a role that the vocabulary has no control token for.
        """
        if turns[0].role != SYSTEM and self._instruction:
            turns = [Turn(SYSTEM, self._instruction), *turns]
        segments = [_control("<bos>")]
        for turn in turns:
            segments += self._turn(turn)
        return [*segments, _control(f"<{ASSISTANT}>")]

    def grammar(self, schema: Mapping[str, Any]) -> JsonGrammar:
        """Return the grammar of a schema over the ordinary pieces; raise UsageError without one."""
        control = frozenset(self.control)
        ordinary = {token: piece for token, piece in self.pieces.items() if token not in control}
        return JsonGrammar(schema, ordinary)

    def _turn(self, turn: Turn) -> list[Segment]:
        begin, end = f"<{turn.role}>", f"</{turn.role}>"
        if begin not in self._controls:
            raise UsageError(f"this model's template has no turn {turn.role!r}")
        # text-001 has no token of its own for the end of an answer but the one the model chooses.
        closing = end if end in self._controls else self.pieces[self.eos]
        return [_control(begin), Segment(turn.text), _control(closing)]


@dataclass(frozen=True, slots=True)
class ChatModel:
    """A model that is ready to answer; `window` counts the positions of prompt and answer."""

    name: str
    fixture: str
    definition: Definition
    vocabulary: ChatVocabulary
    decoder: Decoder
    window: int


def load_chat_model(fixture: str, kernel: Kernel) -> ChatModel:
    """Return the model of a text or tool fixture."""
    definition = read_definition(data_folder("fixtures") / fixture)
    content = definition.content
    longest = content["model"].get("longest_prompt")
    return ChatModel(
        name=content["model"]["id"],
        fixture=fixture,
        definition=definition,
        vocabulary=ChatVocabulary(content),
        decoder=build_decoder(decoder_config(definition), definition.weights, kernel),
        window=content["settings"].get("context_window", longest),
    )


def _control(text: str) -> Segment:
    return Segment(text, is_control=True)


def _fixed_instruction(template: Mapping[str, Any]) -> str:
    """Return the instruction of a fixture's template, empty where something is filled into it."""
    parts = template.get("segments") or template["first"]
    controls = [part.get("control") for part in parts]
    inside = parts[controls.index("<system>") + 1 : controls.index("</system>")]
    if any("slot" in part for part in inside):
        return ""
    return "".join(part["text"] for part in inside)
