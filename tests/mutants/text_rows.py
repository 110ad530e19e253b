"""What the tables of text-001 share: a row's short form, and runs other than the main line."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from mutants.faulty_runs import Exchange, changing_fields, changing_weight, faulty
from mutants.mutant import Mutant
from text_runs import main_line, run

from tracediff.events import Trace

RUN = "tracediff.workloads.text:"
STEPS = "tracediff.workloads.text_run:"
STOPPED = {"stop_sequences": ["散射。", "射通"]}
FILTERED = {"temperature": 0.5, "top_p": 0.8, "seed": 1}
SAMPLED = {"temperature": 0.7, "seed": 1}
LONG_SEED = 6687881544318117707
"""Its nearest float64 is 6687881544318117888."""


def row(
    name: str,
    event: str,
    check: str,
    cause: str,
    *exchanges: Exchange,
    golden: Callable[[], Trace] = main_line,
    **overrides: Any,
) -> Mutant:
    """Return the row of a run of text-001 with these exchanges and overrides."""
    mutant = faulty("text-001", *exchanges, overrides=overrides)
    return Mutant(name, golden, mutant, event, check, cause)


def weight(name: str, change: Callable[[Any], Any]) -> Exchange:
    """Return the exchange of one weight array."""
    return changing_weight(f"{RUN}build_decoder", name, change)


def constants(**fields: Any) -> Exchange:
    """Return the exchange of constants of the decoder."""
    return changing_fields(f"{RUN}decoder_config", **fields)


def with_row(target: int, source: int, factor: float = 1.0) -> Callable[[Any], Any]:
    """Return the change that makes one row of a matrix another one's multiple."""

    def change(matrix: Any) -> Any:
        changed = matrix.copy()
        changed[target] = matrix[source] * np.float32(factor)
        return changed

    return change


def with_element(place: tuple[int, ...], value: float) -> Callable[[Any], Any]:
    """Return the change that sets one element."""

    def change(array: Any) -> Any:
        changed = array.copy()
        changed[place] = value
        return changed

    return change


TIE = weight("unembedding", with_row(15, 14))
NEAR_TIE = weight("unembedding", with_row(15, 14, 1 - 4e-7))


@cache
def stopped_run() -> Trace:
    """Return a run that ends by a stop sequence; a part of another one is held back before."""
    return run(STOPPED)


@cache
def filtered_run() -> Trace:
    """Return a sampled run with temperature and nucleus."""
    return run(FILTERED)


@cache
def short_run() -> Trace:
    """Return a run that ends at its limit of three tokens."""
    return run({"max_output_tokens": 3})


@cache
def windowed_run() -> Trace:
    """Return a run that ends where the context window is full."""
    return run({"context_window": 14})


@cache
def penalised_run() -> Trace:
    """Return a run with a repetition penalty."""
    return run({"repetition_penalty": 1.5})


@cache
def tied_run() -> Trace:
    """Return a run in which the tokens 14 and 15 always have the same logit."""
    return faulty("text-001", TIE)()


@cache
def nearly_tied_run() -> Trace:
    """Return a run in which the logits of 14 and 15 are less than 2e-6 apart at the first step."""
    return faulty("text-001", NEAR_TIE)()


@cache
def long_seed_run() -> Trace:
    """Return a sampled run whose seed no float64 holds."""
    return run({"temperature": 0.7, "seed": LONG_SEED})


@cache
def unlimited_run() -> Trace:
    """Return a run that may end at once: the mask of the end token does nothing."""
    return run({"minimum_output_tokens": 0})


@cache
def differently_sampled_run() -> Trace:
    """Return a sampled run whose first draw lies near the border of two tokens."""
    return run({"temperature": 0.7, "seed": 2})
