"""One chat request through its nine steps: from what was asked to validation, usage and release.

Drives a text run and tells a recorder. Must not know HTTP, vendors' shapes or files: whoever
serves reads what is yielded, and closes the generator when nobody listens any more.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from tracediff.engine.json_grammar import JsonGrammar
from tracediff.engine.processors import descending, probabilities
from tracediff.engine.stopping import FinishReason
from tracediff.recording.recorder import Recorder
from tracediff.workloads.chat_model import ChatModel
from tracediff.workloads.chat_output import judge_output, judgement_to_json
from tracediff.workloads.chat_request import (
    DEFAULTS,
    ChatRequest,
    RequestRejected,
    assemble_prompt,
    record_arrival,
    record_rejection,
    validate_request,
)
from tracediff.workloads.text_run import TextResult, TextRun
from tracediff.workloads.text_settings import Allowed, build_processors

UNLIKELY = -9999.0
"""The logarithm that stands for a probability of 0, as in OpenAI's chat completions."""


@dataclass(frozen=True, slots=True)
class Likelihood:
    """A token and the natural logarithm of its probability."""

    text: str
    logarithm: float


@dataclass(frozen=True, slots=True)
class ChosenToken:
    """A chosen token and the likeliest of its step, from the logits as the model gave them."""

    chosen: Likelihood
    likeliest: tuple[Likelihood, ...]


@dataclass(frozen=True, slots=True)
class Started:
    """The prompt is accepted and read."""

    prompt_tokens: int


@dataclass(frozen=True, slots=True)
class Delta:
    """What one step adds: text (empty while it is held back) and the token, where asked for."""

    text: str
    token: ChosenToken | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """Nothing more comes: why, after which stop sequence, and how many tokens were chosen."""

    reason: FinishReason
    stop_sequence: str | None
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class Cut:
    """An end from outside the model, after so many deltas with text."""

    reason: FinishReason
    after: int


Progress: TypeAlias = Started | Delta | Finished


def answer(
    request: ChatRequest,
    model: ChatModel,
    recorder: Recorder,
    request_id: str,
    cut: Cut | None = None,
) -> Iterator[Progress]:
    """Yield what the answer consists of; validation and usage are recorded after `Finished`.

    Closing the generator stops the decode, and the trace says that it was cancelled. Raises
    RequestRejected, before anything is yielded, where the model cannot take the request.
    """
    with recorder:
        settings = {**DEFAULTS, "context_window": model.window, **request.settings}
        try:
            record_arrival(request, settings, model, recorder, request_id)
            grammar = validate_request(request, model, recorder)
            prompt = assemble_prompt(request, settings, model, recorder)
        except RequestRejected as rejected:
            record_rejection(recorder, 400, rejected.field, rejected.code, str(rejected))
            recorder.close()
            raise
        fresh: list[str] = []
        processors = build_processors(model.vocabulary, settings, _allowed(grammar, model))
        run = TextRun(
            model.definition,
            model.vocabulary,
            model.decoder,
            settings,
            processors,
            recorder,
            fresh.append,
            *([] if grammar is None or request.tool is None else [grammar.is_complete]),
        )
        run.prefill(prompt)
        try:
            yield Started(len(prompt))
            reason, token = yield from _steps(run, request, model, fresh, cut)
        except GeneratorExit:
            _close(run, run.complete(FinishReason.CANCELLED), request, len(prompt), recorder)
            raise
        result = run.complete(reason)
        try:
            # The last token's text, then what was held back: as the trace has them.
            for index, text in enumerate(fresh):
                yield Delta(text, token if index == 0 else None)
            yield Finished(reason, run.stop_sequence, len(run.chosen))
        finally:
            _close(run, result, request, len(prompt), recorder)


def _allowed(grammar: JsonGrammar | None, model: ChatModel) -> Allowed | None:
    """Return what a grammar allows, and the end token after a whole text."""
    if grammar is None:
        return None

    def allowed(chosen: tuple[int, ...]) -> list[int]:
        whole = [model.vocabulary.eos] if grammar.is_complete(chosen) else []
        return [*grammar.allowed(chosen), *whole]

    return allowed


def _steps(
    run: TextRun, request: ChatRequest, model: ChatModel, fresh: list[str], cut: Cut | None
) -> Generator[Delta, None, tuple[FinishReason, ChosenToken | None]]:
    """Yield every step but the last, those without text too: there a caller may stop it.

    Returns why it ended, and the last token; its text is left in `fresh`.
    """
    deltas = 0
    while cut is None or deltas < cut.after:
        reason = run.step()
        token = _told_token(run, request, model)
        if reason is not None:
            return reason, token
        text = "".join(fresh)
        fresh.clear()
        yield Delta(text, token)
        deltas += bool(text)
    return cut.reason, None


def _told_token(run: TextRun, request: ChatRequest, model: ChatModel) -> ChosenToken | None:
    token, vocabulary = run.chosen[-1], model.vocabulary
    if request.alternatives is None or token == vocabulary.eos:
        return None
    likely = probabilities(run.logits)

    def likelihood(other: int) -> Likelihood:
        probability = float(likely[other])
        return Likelihood(
            vocabulary.pieces[other], math.log(probability) if probability > 0 else UNLIKELY
        )

    best = descending(run.logits)[: request.alternatives].tolist()
    return ChosenToken(likelihood(token), tuple(map(likelihood, best)))


def _close(
    run: TextRun, result: TextResult, request: ChatRequest, prompt: int, recorder: Recorder
) -> None:
    """Record steps 8 and 9 and the release, after the end of the stream."""
    judgement = judge_output(result.text, result.finish_reason, request.schema)
    step, chosen = len(result.selected), len(result.selected)
    recorder.event(
        "validator", "output.validated", logical_step=step, choice=judgement_to_json(judgement)
    )
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": chosen,
        "total_tokens": prompt + chosen,
    }
    recorder.event("gateway", "usage.recorded", logical_step=step, choice=usage)
    run.release()
    recorder.close()
