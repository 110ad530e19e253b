"""What can be changed in a text fixture, and what a combination of settings means.

Knows settings, and builds the processors that they switch on. Must not know runs or the recorder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from tracediff.engine.processors import (
    Processor,
    control_token_mask,
    grammar_mask,
    minimum_length_eos_mask,
    repetition_penalty,
    temperature,
    top_k,
    top_p,
)
from tracediff.engine.tokenizer import Segment
from tracediff.errors import UsageError
from tracediff.workloads.definitions import Definition
from tracediff.workloads.settings import integer, number, switch, text, texts
from tracediff.workloads.text_model import TextModel, Vocabulary

Allowed: TypeAlias = Callable[[tuple[int, ...]], list[int]]
"""Lists the ids that may follow those that were chosen."""

SETTINGS = (
    text("prompt", "the user's text; the vocabulary must cover it"),
    integer("minimum_output_tokens", 0, 1000, "forbid the end token before so many"),
    integer("max_output_tokens", 1, 1000, "stop after so many tokens"),
    texts("stop_sequences", "stop where the output contains one of these; it is not returned"),
    integer("context_window", 1, 4096, "positions that prompt and output share"),
    texts("grammar", "complete outputs that are allowed; empty switches the mask off"),
    number("repetition_penalty", 0.01, 100.0, "divide logits of seen tokens; 1 is off"),
    number("temperature", 1e-6, 100.0, "sample with this temperature; 0 is greedy", or_zero=True),
    integer("top_k", 0, 1000, "keep so many tokens; 0 is off"),
    number("top_p", 0.0, 1.0, "keep this probability mass; 1 is off", open_low=True),
    integer("seed", 0, 2**64 - 1, "key of the sampling generator"),
    switch("kv_cache", "false recomputes every position at every step"),
)


def validate_text(definition: Definition, settings: Mapping[str, Any]) -> None:
    """Raise UsageError or TokenizerError for settings that cannot be run together."""
    tokenize_prompt(definition, settings)
    build_processors(TextModel(definition), settings)


def tokenize_prompt(definition: Definition, settings: Mapping[str, Any]) -> list[int]:
    """Return the ids of the prompt that the settings give.

    Raises TokenizerError where the vocabulary does not cover it, UsageError where it leaves no
    room in the context window.
    """
    ids = TextModel(definition).encode(settings["prompt"])
    window = settings["context_window"]
    if len(ids) > window:
        raise UsageError(
            f"the prompt has {len(ids)} tokens, context_window={window} holds fewer; allowed here "
            f"is an integer from {len(ids)}"
        )
    return ids


def build_processors(
    model: Vocabulary, settings: Mapping[str, Any], allowed: Allowed | None = None
) -> tuple[Processor, ...]:
    """Return the processors that are switched on, in the fixture's order.

    `allowed` stands in for the outputs that the setting `grammar` lists.
    """
    processors = [
        control_token_mask(model.masked),
        minimum_length_eos_mask(settings["minimum_output_tokens"], model.eos),
    ]
    if allowed is None and settings["grammar"]:
        allowed = _allowed_by(settings["grammar"], model)
    if allowed is not None:
        processors.append(grammar_mask(allowed))
    if settings["repetition_penalty"] != 1:
        processors.append(repetition_penalty(settings["repetition_penalty"]))
    if settings["temperature"] > 0:
        processors.append(temperature(settings["temperature"]))
    if settings["top_k"] > 0:
        processors.append(top_k(settings["top_k"]))
    if settings["top_p"] < 1:
        processors.append(top_p(settings["top_p"]))
    return tuple(processors)


def _allowed_by(outputs: Sequence[str], model: Vocabulary) -> Allowed:
    """Return the function that lists the ids which keep an allowed output reachable."""
    sequences = [(*model.tokenizer.encode([Segment(output)]), model.eos) for output in outputs]

    def allowed(chosen: tuple[int, ...]) -> list[int]:
        length = len(chosen)
        following = {
            ids[length] for ids in sequences if len(ids) > length and ids[:length] == chosen
        }
        return sorted(following)

    return allowed
