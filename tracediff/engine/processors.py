"""Logits processors: each takes the logits of one step and returns new ones.

Knows the step's state (`StepState`) and ids. Must not know models, spelling or traces. A processor
never changes its argument. Computed in float32; -inf marks a forbidden token.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tracediff.engine import elementary, ordered
from tracediff.engine.kernels import Array

FORBIDDEN = np.float32(-np.inf)


@dataclass(frozen=True, slots=True)
class StepState:
    """What processors may look at: the prompt's ids and the ids chosen so far."""

    prompt: tuple[int, ...]
    chosen: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Processor:
    """A named function (logits [vocabulary], state) -> logits [vocabulary]."""

    name: str
    apply: Callable[[Array, StepState], Array]


def forbid(logits: Array, tokens: Sequence[int]) -> Array:
    """Return a copy with the given ids set to -inf."""
    result = logits.copy()
    result[list(tokens)] = FORBIDDEN
    return result


def control_token_mask(control: Sequence[int]) -> Processor:
    """Forbid control tokens and padding at every step."""
    return Processor("control_token_mask", lambda logits, state: forbid(logits, control))


def minimum_length_eos_mask(minimum: int, eos: int) -> Processor:
    """Forbid the end token until `minimum` tokens have been chosen."""

    def apply(logits: Array, state: StepState) -> Array:
        return forbid(logits, [eos]) if len(state.chosen) < minimum else logits

    return Processor("minimum_length_eos_mask", apply)


def grammar_mask(allowed: Callable[[tuple[int, ...]], Sequence[int]]) -> Processor:
    """Forbid every token that `allowed(chosen)` does not list.

    Where nothing is allowed the logits are all -inf; choosing from them is the sampler's error.
    """

    def apply(logits: Array, state: StepState) -> Array:
        keep = list(allowed(state.chosen))
        result = np.full_like(logits, FORBIDDEN)
        result[keep] = logits[keep]
        return result

    return Processor("grammar_mask", apply)


def repetition_penalty(penalty: float) -> Processor:
    """Divide positive and multiply negative logits of tokens seen in prompt or output.

    Keskar et al. 2019, arXiv:1909.05858, section 4.1.
    """
    factor = np.float32(penalty)

    def apply(logits: Array, state: StepState) -> Array:
        result = logits.copy()
        seen = sorted({*state.prompt, *state.chosen})
        old = result[seen]
        result[seen] = np.where(old > 0, old / factor, old * factor)
        return result

    return Processor("repetition_transforms", apply)


def temperature(value: float) -> Processor:
    """Divide all logits by the temperature."""
    return Processor("temperature", lambda logits, state: logits / np.float32(value))


def top_k(count: int) -> Processor:
    """Keep exactly `count` tokens; ties at the last place go to the lowest id."""

    def apply(logits: Array, state: StepState) -> Array:
        return _keep(logits, descending(logits)[:count])

    return Processor("top_k", apply)


def top_p(mass: float) -> Processor:
    """Keep the likeliest tokens until their probabilities reach `mass`, at least one.

    Nucleus sampling, Holtzman et al. 2019, arXiv:1904.09751; the token that crosses the border is
    kept.
    """

    def apply(logits: Array, state: StepState) -> Array:
        order = descending(logits)
        cumulative = ordered.cumulative(probabilities(logits)[order])
        before = np.concatenate([[0.0], cumulative[:-1]])
        return _keep(logits, order[before < mass])

    return Processor("top_p", apply)


def descending(logits: Array) -> Array:
    """Return ids from the highest logit to the lowest; equal logits in ascending id order."""
    return np.argsort(-logits, kind="stable")


def probabilities(logits: Array) -> Array:
    """Return the softmax of float32 logits [vocabulary] in float64, the same on every machine."""
    wide = logits.astype(np.float64)
    weights = elementary.exp(wide - wide.max())
    result: Array = weights / ordered.cumulative(weights)[-1]
    return result


def _keep(logits: Array, tokens: Array) -> Array:
    result = np.full_like(logits, FORBIDDEN)
    result[tokens] = logits[tokens]
    return result
