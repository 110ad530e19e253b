"""A text run, step by step: prefill, selections, decodes and what is returned of them.

Knows the engine's parts for text and the recorder. Must not know files, fixtures' prompts or the
command line. The order of the events is the workload's; the numbers are the engine's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from tracediff.engine.decoder import Decoder, forward
from tracediff.engine.kernels import Array, record_float32
from tracediff.engine.philox import PhiloxGenerator
from tracediff.engine.processors import Processor, StepState, descending
from tracediff.engine.sampling import choose_greedy, choose_sampled
from tracediff.engine.stopping import (
    ANTHROPIC_WORDS,
    CUT_SHORT,
    OPENAI_WORDS,
    FinishReason,
    StopMatcher,
)
from tracediff.recording.recordable import Draw, Tensor
from tracediff.recording.recorder import Recorder
from tracediff.workloads.definitions import Definition
from tracediff.workloads.shape_ledger import last_positions, shape_ledger
from tracediff.workloads.text_model import Vocabulary

TOP = 3
"""How many of the highest processed logits a selection lists."""


@dataclass(frozen=True, slots=True)
class TextResult:
    """What a run returned."""

    text: str
    finish_reason: FinishReason
    selected: tuple[int, ...]


class TextRun:
    """The state of one run: what is cached, what was chosen, what was returned.

    `prefill`, then `step` until it gives a reason, `complete` with it, `release`. `is_whole` tells
    of chosen ids whether they are a tool call that needs no end token.
    """

    def __init__(
        self,
        definition: Definition,
        vocabulary: Vocabulary,
        decoder: Decoder,
        settings: Mapping[str, Any],
        processors: Sequence[Processor],
        recorder: Recorder,
        on_text: Callable[[str], None] = lambda text: None,
        is_whole: Callable[[tuple[int, ...]], bool] = lambda chosen: False,
    ) -> None:
        self._definition = definition
        self._vocabulary = vocabulary
        self._decoder = decoder
        self._settings = settings
        self._processors = processors
        self._recorder = recorder
        self._on_text = on_text
        self._is_whole = is_whole
        self._prompt: tuple[int, ...] = ()
        self._chosen: tuple[int, ...] = ()
        self._caches = decoder.empty_caches()
        self._logits: Array = np.zeros(0, np.float32)
        self._returned: list[str] = []
        self._matcher = StopMatcher(settings["stop_sequences"])
        self._generator = PhiloxGenerator(settings["seed"])
        self._last = ""

    @property
    def chosen(self) -> tuple[int, ...]:
        """The ids chosen so far."""
        return self._chosen

    @property
    def stop_sequence(self) -> str | None:
        """The stop sequence that was found."""
        return self._matcher.matched

    @property
    def logits(self) -> Array:
        """The raw logits [vocabulary] that the last choice was made from."""
        return self._logits

    @property
    def _cache_length(self) -> int:
        return self._caches[0].length

    def prefill(self, prompt: Sequence[int]) -> None:
        """Record the prompt's forward pass."""
        self._prompt = tuple(prompt)
        self._recorder.event(
            "scheduler", "prefill.started", state={"slot": 0, "logical_length": len(prompt)}
        )
        self._last = self._forward("prefill.completed", list(prompt), step=0, parent=None)

    def step(self) -> FinishReason | None:
        """Record one selection, and before it the decode of the last; return why it was the end."""
        if self._chosen:
            self._decode(self._chosen[-1])
        step = len(self._chosen) + 1
        self._last = self._select(step)
        token = self._chosen[-1]
        if token == self._vocabulary.eos:
            return FinishReason.EOS
        self._emit(self._matcher.push(self._vocabulary.pieces[token]), step, self._last)
        return self._limit_reached()

    def complete(self, reason: FinishReason) -> TextResult:
        """Record the end of the generation and of the response; return the result."""
        step = len(self._chosen)
        draining = self._recorder.event(
            "decoder",
            "generation.draining",
            logical_step=step,
            parent=self._last,
            choice={"finish_reason": reason, "stop_sequence": self._matcher.matched},
        )
        held = self._matcher.flush()
        self._emit("" if reason in CUT_SHORT else held, step, draining)
        returned = "".join(self._returned)
        self._recorder.event(
            "transport",
            "response.completed",
            logical_step=step,
            parent=draining,
            choice={
                "status": "FINISHED",
                "text": returned,
                "sequence_no": len(self._returned),
                "output_tokens_selected": len(self._chosen),
                "output_tokens_returned": self._count_returned(len(returned)),
                "finish_reason": reason,
                "finish_reason_openai": OPENAI_WORDS[reason],
                "finish_reason_anthropic": ANTHROPIC_WORDS[reason],
            },
        )
        return TextResult(returned, reason, self._chosen)

    def release(self) -> None:
        """Record what the caches held at the end."""
        self._recorder.event(
            "scheduler",
            "resources.released",
            logical_step=len(self._chosen),
            state={"cache_final_length": self._cache_length},
        )

    def _decode(self, token: int) -> None:
        step = len(self._chosen)
        started = self._recorder.event(
            "scheduler",
            "decode.started",
            logical_step=step,
            parent=self._last,
            state={"token_id": token, "position": self._cache_length},
        )
        self._forward("decode.completed", [token], step=step, parent=started)

    def _forward(self, event_type: str, tokens: list[int], *, step: int, parent: str | None) -> str:
        before = self._cache_length
        if self._settings["kv_cache"]:
            passed = forward(self._decoder, tokens, self._caches)
        else:
            everything = [*self._prompt, *self._chosen]
            passed = forward(self._decoder, everything, self._decoder.empty_caches())
            passed = last_positions(passed, len(tokens))
        self._caches = passed.caches
        self._logits = record_float32(passed.next_logits)[0]
        positions = list(range(before, before + len(tokens)))
        return self._recorder.event(
            "model",
            event_type,
            logical_step=step,
            parent=parent,
            artifacts={"model": self._definition.content["model"]["id"]},
            state={
                "input_ids": [tokens],
                "position_ids": [positions],
                "cache_length_before": before,
                "cache_length": self._cache_length,
            },
            outputs=shape_ledger(passed, positions),
        )

    def _select(self, step: int) -> str:
        """Apply the processors, choose a token and record it; return the event's id."""
        state = StepState(self._prompt, self._chosen)
        processed = self._logits
        after: dict[str, Tensor] = {}
        logical = {"step": step}
        for processor in self._processors:
            processed = processor.apply(processed, state)
            after[f"logits.{processor.name}"] = Tensor(processed[None], logical)
        draws = None
        if self._settings["temperature"] > 0:
            token, draw = _draw_token(processed, self._generator)
            draws = [draw]
        else:
            token = choose_greedy(processed)
        selected = self._recorder.event(
            "decoder",
            "token.selected",
            logical_step=step,
            state={"cache_length": self._cache_length, "chosen_ids": list(self._chosen)},
            inputs={"next_logits": Tensor(self._logits[None], logical)},
            rng=draws,
            outputs=after,
            choice={
                "token_id": token,
                "strategy": "greedy" if draws is None else "sampled",
                "top": [[int(i), processed[i]] for i in descending(processed)[:TOP]],
            },
            note={"piece": self._vocabulary.pieces[token]},
        )
        self._chosen = (*self._chosen, token)
        return selected

    def _emit(self, piece: str, step: int, parent: str) -> None:
        if not piece:
            return
        self._recorder.event(
            "transport",
            "stream.delta",
            logical_step=step,
            parent=parent,
            choice={"sequence_no": len(self._returned), "text": piece},
        )
        self._returned.append(piece)
        self._on_text(piece)

    def _count_returned(self, length: int) -> int:
        """Return how many chosen tokens a returned text of `length` characters reaches into."""
        ends = accumulate(len(self._vocabulary.pieces[token]) for token in self._chosen)
        starts = [0, *ends][:-1]
        return sum(start < length for start in starts)

    def _limit_reached(self) -> FinishReason | None:
        if self._matcher.matched is not None:
            return FinishReason.STOP_SEQUENCE
        if self._is_whole(self._chosen):
            return FinishReason.TOOL_CALLS
        limit = self._settings["max_output_tokens"]
        if limit is not None and len(self._chosen) >= limit:
            return FinishReason.MAX_TOKENS
        if self._cache_length >= self._settings["context_window"]:
            return FinishReason.CONTEXT_WINDOW
        return None


def _draw_token(logits: Array, generator: PhiloxGenerator) -> tuple[int, Draw]:
    before = generator.counter
    token = choose_sampled(logits, generator)
    return token, Draw(
        generator="sampling",
        algorithm="Philox4x32-10",
        key=generator.key,
        counter_before=before,
        counter_after=generator.counter,
        count=1,
        shape=(1,),
        transform="inverse-cdf-v1",
    )
