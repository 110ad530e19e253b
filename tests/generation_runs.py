"""Small language models and generations of them, recorded; needs transformers.

Not imported before a test has made sure that transformers is there.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase
from tempfile import TemporaryDirectory
from typing import Any

import torch
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from tracediff.events import Trace
from tracediff.integrations.transformers_generate import record_generate
from tracediff.storage import read_trace

VOCABULARY = 320
PAD, BOS, EOS = 0, 1, 2
PROMPT = [[1, 17, 201, 44, 9, 128, 77, 300, 12, 65, 240, 31]]
SHORT = [[1, 250, 33, 91, 18, 7, 142, 63, 199]]


def llama(seed: int = 0, **changes: Any) -> LlamaForCausalLM:
    """A Llama of 0.5 million random parameters; `changes` are of its config."""
    sizes: dict[str, Any] = {
        "vocab_size": VOCABULARY,
        "hidden_size": 128,
        "intermediate_size": 256,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 128,
        "initializer_range": 0.1,
        "pad_token_id": PAD,
        "bos_token_id": BOS,
        "eos_token_id": EOS,
    }
    torch.manual_seed(seed)
    return LlamaForCausalLM(LlamaConfig(**{**sizes, **changes})).eval()


@cache
def letters(joined: bool = True, capitals: bool = False) -> PreTrainedTokenizerFast:
    """A byte-level tokenizer: an id for each printable character of ASCII, and for some pairs.

    Texts become pairs where they can, if `joined`; pairs are spelled in `capitals` or not.
    """
    names = {"<pad>": PAD, "<s>": BOS, "</s>": EOS}
    single = ["\u0120", *map(chr, range(0x21, 0x7F))]
    alphabet = ascii_uppercase if capitals else ascii_lowercase
    pairs = [(x, y) for x in alphabet for y in alphabet]
    pairs = pairs[: VOCABULARY - len(names) - len(single)]
    for piece in (*single, *map("".join, pairs)):
        names[piece] = len(names)
    tokenizer = Tokenizer(BPE(names, pairs if joined else []))
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    tokenizer.decoder = ByteLevelDecoder()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", bos_token="<s>", eos_token="</s>"
    )


def padded() -> dict[str, torch.Tensor]:
    """Both prompts as a batch, the shorter one padded on the left."""
    padding = len(PROMPT[0]) - len(SHORT[0])
    ids = torch.tensor([PROMPT[0], [PAD] * padding + SHORT[0]])
    return {"input_ids": ids, "attention_mask": (ids != PAD).long()}


def greedy(tokens: int = 9, **options: Any) -> GenerationConfig:
    """A config that takes the best token `tokens` times; options may say otherwise."""
    return GenerationConfig(
        **{"max_new_tokens": tokens, "eos_token_id": None, "pad_token_id": PAD, **options}
    )


def record(model: Any, inputs: Any, config: Any, **arguments: Any) -> Trace:
    """The trace of one generation, as it is read from its file."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        record_generate(model, inputs, config, recorder=path, **arguments)
        return read_trace(path)
