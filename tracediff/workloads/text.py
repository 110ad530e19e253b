"""text-001: one request through tokenizer, prefill, decode loop and streaming, told to a recorder.

Knows the engine's parts for text and the recorder. Must not know files or the command line. The
order of the events is the workload; the numbers are the engine's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from tracediff.engine.decoder import Decoder, build_decoder, forward
from tracediff.engine.kernels import Array, Kernel, record_float32
from tracediff.engine.philox import PhiloxGenerator
from tracediff.engine.processors import StepState, descending
from tracediff.engine.sampling import choose_greedy, choose_sampled
from tracediff.engine.stopping import ANTHROPIC_WORDS, OPENAI_WORDS, FinishReason, StopMatcher
from tracediff.recording.recordable import Draw, Tensor
from tracediff.recording.recorder import Recorder
from tracediff.workloads.definitions import Definition
from tracediff.workloads.shape_ledger import last_positions, shape_ledger
from tracediff.workloads.text_model import TextModel, decoder_config
from tracediff.workloads.text_settings import build_processors, tokenize_prompt

TOP = 3
"""How many of the highest processed logits a selection lists."""


@dataclass(frozen=True, slots=True)
class TextResult:
    """What a run returned."""

    text: str
    finish_reason: FinishReason
    selected: tuple[int, ...]


def run_text(
    definition: Definition,
    settings: Mapping[str, Any],
    kernel: Kernel,
    recorder: Recorder,
    on_text: Callable[[str], None] = lambda text: None,
) -> TextResult:
    """Run the fixture and tell `recorder` every event; `on_text` gets each returned piece.

    Raises UsageError where the prompt leaves no room in the context window, TokenizerError where
    the vocabulary does not cover it.
    """
    model = TextModel(definition)
    decoder = build_decoder(decoder_config(definition), definition.weights, kernel)
    run = _TextRun(definition, model, decoder, settings, recorder, on_text)
    prompt = run.accept()
    run.prefill(prompt)
    reason = run.generate()
    return run.complete(reason)


class _TextRun:
    """The state of one run: what is cached, what was chosen, what was returned."""

    def __init__(
        self,
        definition: Definition,
        model: TextModel,
        decoder: Decoder,
        settings: Mapping[str, Any],
        recorder: Recorder,
        on_text: Callable[[str], None],
    ) -> None:
        self._definition = definition
        self._model = model
        self._decoder = decoder
        self._settings = settings
        self._recorder = recorder
        self._on_text = on_text
        self._prompt: tuple[int, ...] = ()
        self._chosen: tuple[int, ...] = ()
        self._caches = decoder.empty_caches()
        self._logits: Array = np.zeros(0, np.float32)
        self._returned: list[str] = []
        self._matcher = StopMatcher(settings["stop_sequences"])
        self._processors = build_processors(model, settings)
        self._generator = PhiloxGenerator(settings["seed"])
        self._last = ""

    @property
    def _cache_length(self) -> int:
        return self._caches[0].length

    def accept(self) -> list[int]:
        """Record e00 to e02; return the prompt's ids."""
        content, settings = self._definition.content, self._settings
        self._recorder.event(
            "gateway",
            "request.accepted",
            artifacts={
                "model": content["model"]["id"],
                "model_weights": self._definition.weights_digest,
                "tokenizer": content["tokenizer"]["id"],
                "template": content["template"]["id"],
            },
            state={"prompt": settings["prompt"]},
            settings={key: value for key, value in settings.items() if key != "prompt"},
            ids={"request_id": content["request"]["id"]},
        )
        segments = self._model.render(settings["prompt"])
        rendered = "".join(segment.text for segment in segments)
        self._recorder.event(
            "application",
            "context.rendered",
            artifacts={"template": content["template"]["id"]},
            choice={
                "text": rendered,
                # A lone surrogate is the tokenizer's to refuse, with its place.
                "utf8_bytes": len(rendered.encode(errors="surrogatepass")),
            },
        )
        ids = tokenize_prompt(self._definition, settings)
        self._recorder.event(
            "tokenizer",
            "input.tokenized",
            artifacts={"tokenizer": content["tokenizer"]["id"]},
            choice={
                "input_ids": [ids],
                "attention_mask": [[1] * len(ids)],
                "position_ids": [list(range(len(ids)))],
            },
        )
        return ids

    def prefill(self, prompt: list[int]) -> None:
        """Record e03 and e04: the prompt's forward pass."""
        self._prompt = tuple(prompt)
        self._recorder.event(
            "scheduler", "prefill.started", state={"slot": 0, "logical_length": len(prompt)}
        )
        self._forward("prefill.completed", prompt, step=0, parent=None)

    def generate(self) -> FinishReason:
        """Record the selections and decodes; return why they ended."""
        while True:
            step = len(self._chosen) + 1
            selected = self._select(step)
            token = self._chosen[-1]
            if token == self._model.eos:
                self._last = selected
                return FinishReason.EOS
            self._emit(self._matcher.push(self._model.pieces[token]), step, selected)
            reason = self._limit_reached()
            if reason is not None:
                self._last = selected
                return reason
            position = self._cache_length
            started = self._recorder.event(
                "scheduler",
                "decode.started",
                logical_step=step,
                parent=selected,
                state={"token_id": token, "position": position},
            )
            self._forward("decode.completed", [token], step=step, parent=started)

    def complete(self, reason: FinishReason) -> TextResult:
        """Record the three closing events; return the result."""
        step = len(self._chosen)
        draining = self._recorder.event(
            "decoder",
            "generation.draining",
            logical_step=step,
            parent=self._last,
            choice={"finish_reason": reason, "stop_sequence": self._matcher.matched},
        )
        self._emit(self._matcher.flush(), step, draining)
        returned = "".join(self._returned)
        completed = self._recorder.event(
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
        self._recorder.event(
            "scheduler",
            "resources.released",
            logical_step=step,
            parent=completed,
            state={"cache_final_length": self._cache_length},
        )
        return TextResult(returned, reason, self._chosen)

    def _forward(
        self, event_type: str, tokens: list[int], *, step: int, parent: str | None
    ) -> None:
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
        self._recorder.event(
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
            note={"piece": self._model.pieces[token]},
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
        ends = accumulate(len(self._model.pieces[token]) for token in self._chosen)
        starts = [0, *ends][:-1]
        return sum(start < length for start in starts)

    def _limit_reached(self) -> FinishReason | None:
        if self._matcher.matched is not None:
            return FinishReason.STOP_SEQUENCE
        if len(self._chosen) >= self._settings["max_output_tokens"]:
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
