"""Faults in how text-001 ends and how its text is sent: limits, stop sequences, pieces."""

from typing import Any

from mutants.faulty_runs import Exchange, by, changing_result
from mutants.text_rows import (
    RUN,
    STEPS,
    STOPPED,
    row,
    short_run,
    stopped_run,
    unlimited_run,
    windowed_run,
)

from tracediff.engine.stopping import FinishReason

PUSH = "tracediff.engine.stopping:StopMatcher.push"
FLUSH = "tracediff.engine.stopping:StopMatcher.flush"
EMIT = f"{STEPS}TextRun._emit"
LIMIT = f"{STEPS}TextRun._limit_reached"


def _one_token_later(run: Any) -> FinishReason | None:
    late = len(run._chosen) > run._settings["max_output_tokens"]
    return FinishReason.MAX_TOKENS if late else None


def _window_called_length(reason: FinishReason | None) -> FinishReason | None:
    return FinishReason.MAX_TOKENS if reason is FinishReason.CONTEXT_WINDOW else reason


def _without_end(model: Any) -> Any:
    model.eos = 0  # padding, which is masked anyway
    return model


def _returned_at_once(self: Any, piece: str) -> str:
    """Look for a stop sequence only where a piece completes it: what came before it is out."""
    self._held += piece
    self.matched = next((stop for stop in self._sequences if stop in self._held), None)
    return "" if self.matched else piece


def _with_the_match(original: Any) -> Any:
    def push(self: Any, piece: str) -> str:
        found: str = original(self, piece)
        return found if self.matched is None else found + self.matched

    return push


STOP_FAULTS = (
    row(
        "end-token-unknown",
        *("e22", "structure", "stop-rule"),
        changing_result(f"{RUN}TextModel", _without_end),
        golden=unlimited_run,
        minimum_output_tokens=0,
    ),
    row(
        "limit-one-token-late",
        *("e15", "structure", "stop-rule"),
        by(LIMIT, _one_token_later),
        golden=short_run,
        max_output_tokens=3,
    ),
    row("limit-of-three", *("e15", "structure", "stop-rule"), max_output_tokens=3),
    row(
        "full-window-called-limit",
        *("e15", "choice", "stop-rule"),
        changing_result(LIMIT, _window_called_length),
        golden=windowed_run,
        context_window=14,
    ),
    row(
        "window-ignored",
        *("e15", "structure", "stop-rule"),
        by(LIMIT, lambda run: None),
        golden=windowed_run,
        context_window=14,
    ),
    row(
        "stop-sequence-not-held-back",
        *("e10", "choice", "stop-rule"),
        by(PUSH, _returned_at_once),
        by(FLUSH, lambda self: ""),
        golden=stopped_run,
        **STOPPED,
    ),
    row(
        "stop-sequence-returned",
        *("e14", "choice", "stop-rule"),
        Exchange(PUSH, _with_the_match),
        golden=stopped_run,
        **STOPPED,
    ),
    row(
        "stop-sequence-ignored",
        *("e10", "choice", "stop-rule"),
        by(PUSH, lambda self, piece: piece),
        golden=stopped_run,
        **STOPPED,
    ),
    row(
        "other-word-for-the-reason",
        *("e23", "choice", "stop-rule"),
        by(f"{STEPS}OPENAI_WORDS", dict.fromkeys(FinishReason, "length")),
    ),
)


def _in_pairs(self: Any, piece: str) -> str:
    waiting, self._held = self._held, "" if self._held else piece
    return waiting + piece if waiting else ""


def _half_a_character(original: Any) -> Any:
    def push(self: Any, piece: str) -> str:
        found: str = original(self, piece)
        return found.encode()[:-1].decode(errors="replace")

    return push


def _in_halves(original: Any) -> Any:
    def emit(run: Any, piece: str, step: int, parent: str) -> None:
        original(run, piece[:1], step, parent)
        original(run, piece[1:], step, parent)

    return emit


def _twice_at(lost: int) -> Any:
    def make(original: Any) -> Any:
        def emit(run: Any, piece: str, step: int, parent: str) -> None:
            original(run, piece, step, parent)
            if step == lost:
                original(run, piece, step, parent)

        return emit

    return make


def _lost_at(lost: int) -> Any:
    def make(original: Any) -> Any:
        def emit(run: Any, piece: str, step: int, parent: str) -> None:
            if step != lost:
                original(run, piece, step, parent)

        return emit

    return make


def _counting_from_one(original: Any) -> Any:
    def emit(run: Any, piece: str, step: int, parent: str) -> None:
        if not run._returned:
            run._returned.append("")
        original(run, piece, step, parent)

    return emit


def _final_text_cut(original: Any) -> Any:
    def complete(run: Any, reason: Any) -> Any:
        run._returned[-1] = ""
        return original(run, reason)

    return complete


STREAM_FAULTS = (
    row("two-tokens-a-piece", *("e06", "structure", "transport-chunking"), by(PUSH, _in_pairs)),
    row(
        "pieces-cut-in-two",
        *("e06", "choice", "transport-chunking"),
        Exchange(EMIT, _in_halves),
    ),
    row("half-a-character", *("e06", "choice", "detokenizer"), Exchange(PUSH, _half_a_character)),
    row("piece-lost", *("e10", "structure", "missing-event"), Exchange(EMIT, _lost_at(2))),
    row("piece-sent-twice", *("e11", "structure", "extra-event"), Exchange(EMIT, _twice_at(2))),
    row(
        "pieces-counted-from-one",
        *("e06", "choice", "transport-chunking"),
        Exchange(EMIT, _counting_from_one),
    ),
    row(
        "final-text-cut",
        *("e23", "choice", "detokenizer"),
        Exchange(f"{STEPS}TextRun.complete", _final_text_cut),
    ),
)

ENDING_FAULTS = (*STOP_FAULTS, *STREAM_FAULTS)
