"""The model of a text fixture's definition: template, tokenizer, decoder sizes.

Knows how a definition is read. Must not know runs, settings or the recorder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Protocol

from tracediff.engine.decoder import DecoderConfig
from tracediff.engine.tokenizer import Segment, Tokenizer
from tracediff.workloads.definitions import Definition


class Vocabulary(Protocol):
    """What a text run needs of a tokenizer, whichever fixture it comes from."""

    @property
    def eos(self) -> int:
        """The id of the token that ends an answer."""

    @property
    def masked(self) -> Sequence[int]:
        """Ids that are never chosen."""

    @property
    def pieces(self) -> Mapping[int, str]:
        """The spelling of every id."""

    @property
    def tokenizer(self) -> Tokenizer:
        """From text to ids."""


class TextModel:
    """The tokenizer and template of a text fixture's definition."""

    def __init__(self, definition: Definition) -> None:
        content = definition.content
        tokenizer = content["tokenizer"]
        self.template: Sequence[Mapping[str, str]] = content["template"]["segments"]
        self.eos: int = tokenizer["eos_id"]
        self.masked: list[int] = tokenizer["masked_ids"]
        self.pieces = {int(key): piece for key, piece in tokenizer["pieces"].items()}
        self.tokenizer = Tokenizer(self.pieces, tokenizer["control_ids"])

    def render(self, prompt: str) -> list[Segment]:
        """Return the template's segments with the user's text filled in."""
        return [
            Segment(part["control"], is_control=True)
            if "control" in part
            else Segment(part.get("text", prompt))
            for part in self.template
        ]

    def encode(self, prompt: str) -> list[int]:
        """Return the ids of the rendered prompt."""
        return self.tokenizer.encode(self.render(prompt))


def decoder_config(definition: Definition) -> DecoderConfig:
    """Return the decoder's sizes from a definition."""
    model = definition.content["model"]
    return DecoderConfig(**{field.name: model[field.name] for field in fields(DecoderConfig)})
