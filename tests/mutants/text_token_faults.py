"""Faults around the model of text-001: tokens in, processors, choice, stopping, text out."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from mutants.faulty_runs import Exchange, by, changing_arguments, changing_result
from mutants.text_rows import (
    FILTERED,
    LONG_SEED,
    NEAR_TIE,
    RUN,
    SAMPLED,
    STEPS,
    TIE,
    differently_sampled_run,
    filtered_run,
    long_seed_run,
    nearly_tied_run,
    penalised_run,
    row,
    tied_run,
)
from text_runs import sampled_run

from tracediff.engine.philox import PhiloxGenerator
from tracediff.engine.processors import Processor, forbid

ENCODE = "tracediff.engine.tokenizer:Tokenizer.encode"
SETTINGS = "tracediff.workloads.text_settings:"
PUSH = "tracediff.engine.stopping:StopMatcher.push"
FLUSH = "tracediff.engine.stopping:StopMatcher.flush"
EMIT = f"{STEPS}TextRun._emit"
LIMIT = f"{STEPS}TextRun._limit_reached"
GREEDY = f"{STEPS}choose_greedy"


def _other_id(part: str) -> Exchange:
    def change(found: Any) -> Any:
        content = {**found.content, part: {**found.content[part], "id": "another"}}
        return replace(found, content=content)

    return changing_result("tracediff.workloads.run:read_definition", change)


def _encoded(change: Callable[[list[int]], list[int]]) -> Exchange:
    return changing_result(ENCODE, change)


INPUT_FAULTS = (
    row("other-prompt", *("e00", "state", "input-changed"), prompt="天空是蓝色"),
    row("other-model", *("e00", "artifacts", "artifact-changed"), _other_id("model")),
    row("other-tokenizer", *("e00", "artifacts", "artifact-changed"), _other_id("tokenizer")),
    row(
        "template-loses-the-system-turn",
        *("e01", "choice", "input-changed"),
        changing_result(
            "tracediff.workloads.text_model:TextModel.render",
            lambda segments: [segments[0], *segments[4:]],
        ),
    ),
    row(
        "begin-token-twice",
        *("e02", "choice", "tokenizer"),
        _encoded(lambda ids: [1, *ids]),
    ),
    row("last-id-cut-off", *("e02", "choice", "tokenizer"), _encoded(lambda ids: ids[:-1])),
    row(
        "two-ids-exchanged",
        *("e02", "choice", "tokenizer"),
        _encoded(lambda ids: [{8: 9, 9: 8}.get(token, token) for token in ids]),
    ),
)


def _forgets(count: int) -> Exchange:
    return changing_arguments(f"{SETTINGS}control_token_mask", lambda ids: (ids[:-count],))


def _eos_forbidden_up_to_and_with(minimum: int, eos: int) -> Processor:
    def apply(logits: Any, state: Any) -> Any:
        return forbid(logits, [eos]) if len(state.chosen) <= minimum else logits

    return Processor("minimum_length_eos_mask", apply)


def _reordered(order: Callable[[list[Any]], list[Any]]) -> Exchange:
    return changing_result(f"{RUN}build_processors", lambda found: tuple(order(list(found))))


def _divides_always(penalty: float) -> Processor:
    def apply(logits: Any, state: Any) -> Any:
        seen = sorted({*state.prompt, *state.chosen})
        result = logits.copy()
        result[seen] = logits[seen] / np.float32(penalty)
        return result

    return Processor("repetition_transforms", apply)


def _last_of_the_best(logits: Any) -> int:
    return int(np.flatnonzero(logits == logits.max())[-1])


def _second_best(logits: Any) -> int:
    return int(np.argsort(-logits, kind="stable")[1])


def _noise(logits: Any) -> Any:
    return logits + np.where(np.arange(len(logits[0])) == 15, np.float32(5e-6), np.float32(0))


def _noisy_forward(passed: Any) -> Any:
    return replace(passed, next_logits=_noise(passed.next_logits))


CHOICE_FAULTS = (
    row("mask-forgets-a-token", *("e05", "outputs", "processor"), _forgets(1)),
    row(
        "end-token-forbidden-once-more",
        *("e09", "outputs", "processor"),
        by(f"{SETTINGS}minimum_length_eos_mask", _eos_forbidden_up_to_and_with),
    ),
    row(
        "penalty-divides-negative-logits",
        *("e05", "outputs", "processor"),
        by(f"{SETTINGS}repetition_penalty", _divides_always),
        golden=penalised_run,
        repetition_penalty=1.5,
    ),
    row(
        "temperature-multiplies",
        *("e05", "outputs", "processor"),
        changing_arguments(f"{SETTINGS}temperature", lambda value: (1 / value,)),
        golden=sampled_run,
        **SAMPLED,
    ),
    row(
        "temperature-after-nucleus",
        *("e05", "outputs", "processor-order"),
        _reordered(lambda found: [*found[:2], *found[:1:-1]]),
        golden=filtered_run,
        **FILTERED,
    ),
    row(
        "nucleus-left-out",
        *("e05", "outputs", "processor"),
        _reordered(lambda found: found[:-1]),
        golden=filtered_run,
        **FILTERED,
    ),
    row(
        "last-of-equal-logits",
        *("e05", "choice", "tie-break"),
        TIE,
        by(GREEDY, _last_of_the_best),
        golden=tied_run,
    ),
    row(
        "noise-flips-a-near-tie",
        *("e05", "choice", "near-tie"),
        NEAR_TIE,
        changing_result(f"{STEPS}forward", _noisy_forward),
        golden=nearly_tied_run,
    ),
    row("second-best-chosen", *("e05", "choice", "sampler"), by(GREEDY, _second_best)),
)


def _draws_one_block_more(original: Any) -> Any:
    def draw(self: Any, n: int) -> Any:
        self.blocks(1)
        return original(self, n)

    return draw


def _does_not_advance(original: Any) -> Any:
    def draw(self: Any, n: int) -> Any:
        before = self.counter
        found = original(self, n)
        self._counter = before
        return found

    return draw


def _starts_again(original: Any) -> Any:
    def draw(logits: Any, generator: Any) -> Any:
        return original(logits, PhiloxGenerator(generator.seed))

    return draw


UNIFORMS = "tracediff.engine.philox:PhiloxGenerator.uniforms"
RANDOM_FAULTS = (
    row(
        "one-block-more-a-draw",
        *("e05", "rng", "rng-counter"),
        Exchange(UNIFORMS, _draws_one_block_more),
        golden=sampled_run,
        **SAMPLED,
    ),
    row(
        "counter-does-not-advance",
        *("e05", "rng", "rng-counter"),
        Exchange(UNIFORMS, _does_not_advance),
        golden=sampled_run,
        **SAMPLED,
    ),
    row(
        "generator-made-anew-each-step",
        *("e09", "rng", "rng-counter"),
        Exchange(f"{STEPS}_draw_token", _starts_again),
        golden=sampled_run,
        **SAMPLED,
    ),
    row(
        "seed-off-by-one",
        *("e05", "rng", "seed"),
        changing_arguments(f"{STEPS}PhiloxGenerator", lambda seed: (seed + 1,)),
        golden=sampled_run,
        **SAMPLED,
    ),
    row(
        "seed-through-float64",
        *("e05", "rng", "seed"),
        changing_arguments(f"{STEPS}PhiloxGenerator", lambda seed: (int(float(seed)),)),
        golden=long_seed_run,
        temperature=0.7,
        seed=LONG_SEED,
    ),
    row(
        "generator-of-seven-rounds",
        *("e05", "choice", "sampler"),
        changing_arguments("tracediff.engine.philox:philox4x32", lambda *args: (*args, 7)),
        golden=differently_sampled_run,
        temperature=0.7,
        seed=2,
    ),
    row(
        "other-generator",
        *("e05", "rng", "rng-algorithm"),
        Exchange(
            f"{STEPS}Draw",
            lambda original: lambda **fields: original(**{**fields, "algorithm": "mt19937"}),
        ),
        golden=sampled_run,
        **SAMPLED,
    ),
    row("sampling-switched-on", *("e05", "rng", "rng-counter"), temperature=0.7, seed=1),
)

TOKEN_FAULTS = (*INPUT_FAULTS, *CHOICE_FAULTS, *RANDOM_FAULTS)
