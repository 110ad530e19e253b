"""The model side of tool-001: prompts as text and ids, prefill with a reused prefix, greedy loops.

Knows the engine's parts and the fixture's definition. Must not know tool calls' states, a recorder
or files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from tracediff.engine.decoder import Decoder, ForwardPass, forward
from tracediff.engine.json_grammar import JsonGrammar
from tracediff.engine.kernels import Array, record_float32
from tracediff.engine.kv_cache import LayerCache
from tracediff.engine.processors import (
    Processor,
    StepState,
    control_token_mask,
    descending,
    grammar_mask,
)
from tracediff.engine.sampling import choose_greedy
from tracediff.engine.tokenizer import Segment, Tokenizer
from tracediff.workloads.definitions import Definition
from tracediff.workloads.text_model import Vocabulary

TOP = 2
"""How many of the highest processed logits a step lists: the winner and the runner-up."""


class CallEnd(StrEnum):
    """Why the generation of a model call ended."""

    PROPOSAL_COMPLETE = "tool_proposal_complete"
    EOS = "eos"
    MAX_TOKENS = "max_tokens"


@dataclass(frozen=True, slots=True)
class Prompt:
    """What one model call reads: the rendered text and its ids."""

    text: str
    ids: tuple[int, ...]


class ToolText:
    """Tokenizer and templates of a tool fixture, and the grammar of its tool's arguments."""

    def __init__(self, definition: Definition, spec: Mapping[str, Any]) -> None:
        content = definition.content
        tokenizer = content["tokenizer"]
        self._templates = content["template"]
        self._spec = json.dumps(spec, ensure_ascii=False, separators=(",", ":"))
        self.pieces: dict[int, str] = dict(enumerate(tokenizer["pieces"]))
        self.control: list[int] = tokenizer["control_ids"]
        self.eos: int = tokenizer["eos_id"]
        self.masked = [token for token in self.control if token != self.eos]
        self.tokenizer = Tokenizer(self.pieces, self.control)

    def first_prompt(self, settings: Mapping[str, Any]) -> Prompt:
        """Return the instruction, the tool and the user's request.

        Raises TokenizerError where the vocabulary does not cover a text.
        """
        # Of the clock the model reads the date: what "tomorrow" means, and nothing that ticks.
        date = settings["clock"][:10]
        slots = {"date": date, "tool": self._spec, "request": settings["request"]}
        return self._prompt("first", slots)

    def second_prompt(self, first: Prompt, proposal: str, result: str) -> Prompt:
        """Return the first prompt with the model's proposal and the tool's message after it."""
        added = self._prompt("second", {"proposal": proposal, "result": result})
        return Prompt(first.text + added.text, first.ids + added.ids)

    def encode(self, text: str) -> list[int]:
        """Return the ids of ordinary text."""
        return self.tokenizer.encode([Segment(text)])

    def grammar(self, schema: Mapping[str, Any]) -> JsonGrammar:
        """Return the grammar of a tool's arguments over the ordinary pieces."""
        control = frozenset(self.control)
        ordinary = {key: piece for key, piece in self.pieces.items() if key not in control}
        return JsonGrammar(schema, ordinary)

    def _prompt(self, template: str, slots: Mapping[str, str]) -> Prompt:
        segments: list[Segment] = []
        for part in self._templates[template]:
            if "control" in part:
                segments.append(Segment(part["control"], is_control=True))
                continue
            text = part["text"] if "text" in part else slots[part["slot"]]
            if segments and not segments[-1].is_control:
                # Neighbouring texts are one text: the longest piece may lie across their border.
                text = segments.pop().text + text
            segments.append(Segment(text))
        ids = self.tokenizer.encode(segments)
        return Prompt("".join(segment.text for segment in segments), tuple(ids))


@dataclass(frozen=True, slots=True)
class Prefill:
    """A prompt's forward pass: how many of its positions came from a cache, and the rest."""

    prompt: Prompt
    reused: int
    passed: ForwardPass

    @property
    def positions(self) -> list[int]:
        """The positions that were computed."""
        return list(range(self.reused, len(self.prompt.ids)))


@dataclass(frozen=True, slots=True)
class Step:
    """One greedy choice: the token, how many were allowed, the best with their logits."""

    token: int
    allowed: int
    top: tuple[tuple[int, np.float32], ...]


@dataclass(frozen=True, slots=True)
class Generation:
    """What a loop generated; an end token is among the steps and not in the text.

    `raw` and `processed` are float32 [steps, vocabulary]; `caches` holds every position but the
    last token's.
    """

    steps: tuple[Step, ...]
    pieces: tuple[str, ...]
    end: CallEnd
    raw: Array
    processed: Array
    caches: tuple[LayerCache, ...]

    @property
    def text(self) -> str:
        """All pieces, joined."""
        return "".join(self.pieces)


def prefill(decoder: Decoder, prompt: Prompt, earlier: Prefill | None = None) -> Prefill:
    """Run a prompt; the positions that it shares with an earlier prompt come from its caches.

    At least the last position is computed, for it gives the logits.
    """
    shared = 0 if earlier is None else _common_length(earlier.prompt.ids, prompt.ids)
    shared = min(shared, len(prompt.ids) - 1)
    caches = decoder.empty_caches()
    if earlier is not None:
        caches = tuple(_first_positions(cache, shared) for cache in earlier.passed.caches)
    return Prefill(prompt, shared, forward(decoder, prompt.ids[shared:], caches))


def generate_proposal(
    decoder: Decoder, text: Vocabulary, start: Prefill, grammar: JsonGrammar, limit: int
) -> Generation:
    """Choose greedily what the grammar allows until it is complete or the limit is reached."""

    def ended(chosen: tuple[int, ...]) -> CallEnd | None:
        if grammar.is_complete(chosen):
            return CallEnd.PROPOSAL_COMPLETE
        return CallEnd.MAX_TOKENS if len(chosen) >= limit else None

    return _generate(decoder, text, start, grammar_mask(grammar.allowed), ended)


def generate_answer(
    decoder: Decoder,
    text: ToolText,
    start: Prefill,
    limit: int,
    on_piece: Callable[[str], None],
) -> Generation:
    """Choose ordinary tokens greedily until the end token or the limit is reached."""
    mask = control_token_mask(text.masked)

    def ended(chosen: tuple[int, ...]) -> CallEnd | None:
        if chosen[-1] == text.eos:
            return CallEnd.EOS
        on_piece(text.pieces[chosen[-1]])
        return CallEnd.MAX_TOKENS if len(chosen) >= limit else None

    return _generate(decoder, text, start, mask, ended)


def _generate(
    decoder: Decoder,
    text: Vocabulary,
    start: Prefill,
    processor: Processor,
    ended: Callable[[tuple[int, ...]], CallEnd | None],
) -> Generation:
    passed, prompt = start.passed, start.prompt.ids
    chosen: tuple[int, ...] = ()
    steps: list[Step] = []
    raw, processed = [], []
    while True:
        raw.append(record_float32(passed.next_logits)[0])
        processed.append(processor.apply(raw[-1], StepState(prompt, chosen)))
        step = _choose(processed[-1])
        steps.append(step)
        chosen = (*chosen, step.token)
        end = ended(chosen)
        if end is not None:
            break
        passed = forward(decoder, [step.token], passed.caches)
    pieces = tuple(text.pieces[token] for token in chosen if token != text.eos)
    return Generation(tuple(steps), pieces, end, np.stack(raw), np.stack(processed), passed.caches)


def _choose(logits: Array) -> Step:
    """Return the greedy choice from processed logits [vocabulary]."""
    allowed = int(np.count_nonzero(logits > -np.inf))
    best = descending(logits)[: min(TOP, allowed)]
    return Step(
        choose_greedy(logits), allowed, tuple((int(token), logits[token]) for token in best)
    )


def _common_length(left: Sequence[int], right: Sequence[int]) -> int:
    pairs = zip(left, right, strict=False)
    return next((i for i, (x, y) in enumerate(pairs) if x != y), min(len(left), len(right)))


def _first_positions(cache: LayerCache, count: int) -> LayerCache:
    return LayerCache(cache.key[:, :, :count], cache.value[:, :, :count], cache.positions[:count])
