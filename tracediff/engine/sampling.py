"""Choosing a token from processed logits.

Knows greedy choice and inverse-transform sampling. Must not know processors, models or traces.
"""

from __future__ import annotations

import numpy as np

from tracediff.engine import ordered
from tracediff.engine.kernels import Array
from tracediff.engine.philox import PhiloxGenerator
from tracediff.engine.processors import probabilities
from tracediff.errors import IllegalState


def choose_greedy(logits: Array) -> int:
    """Return the id of the highest logit [vocabulary]; ties go to the lowest id."""
    _require_choice(logits)
    return int(np.argmax(logits))


def choose_sampled(logits: Array, generator: PhiloxGenerator) -> int:
    """Return an id drawn with the softmax probabilities of logits [vocabulary].

    Consumes one Philox block: u in (0, 1] picks the first id whose cumulative probability, in id
    order and float64, reaches u. Raises IllegalState also where a logit is +inf, which has no
    softmax.
    """
    _require_choice(logits)
    if np.isposinf(logits).any():
        raise IllegalState("cannot draw a token: the logits contain +inf")
    u = float(generator.uniforms(1)[0])
    cumulative = ordered.cumulative(probabilities(logits))
    # Rounding may leave the last sum a little below 1: u is meant as a part of that sum.
    return int(np.flatnonzero(cumulative >= u * cumulative[-1])[0])


def _require_choice(logits: Array) -> None:
    if np.isnan(logits).any():
        raise IllegalState("cannot choose a token: the logits contain NaN")
    if not (logits > -np.inf).any():
        raise IllegalState("cannot choose a token: the processors forbid every one of them")
