"""A small random decoder of transformers, a greedy loop around it, and ten ways to break it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from tracediff import Recorder
from tracediff.events import Trace
from tracediff.integrations.torch_modules import record_module
from tracediff.recording.sinks import MemorySink

PROMPT, STEPS = 40, 10
FAULTY_STEP = 7
TIED = (7, 400)
"""Two tokens with the same row in the output matrix, the best ones after the prompt."""


@dataclass(frozen=True)
class Size:
    """How large a model is; heads have 16 or 64 elements."""

    hidden: int
    layers: int
    heads: int
    vocabulary: int


SMALL = Size(64, 4, 4, 512)
LARGE = Size(768, 12, 12, 32000)
"""135 million parameters."""


def build_model(size: Size) -> LlamaForCausalLM:
    """Return a model in evaluation mode, always the same one."""
    torch.manual_seed(20)
    config = LlamaConfig(
        vocab_size=size.vocabulary,
        hidden_size=size.hidden,
        intermediate_size=8 * size.hidden // 3,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=size.heads,
        max_position_embeddings=128,
        attention_dropout=0.1,
        tie_word_embeddings=False,
    )
    model = LlamaForCausalLM(config).eval()
    with torch.no_grad():
        hidden = model.model(prompt(1)).last_hidden_state[0, -1]
        model.lm_head.weight[list(TIED)] = hidden / hidden.norm()
    return model


@dataclass(frozen=True)
class Loop:
    """How the greedy loop runs, faults included."""

    rows: int = 1
    shifted_step: int | None = None
    masked: int | None = None
    last_of_ties: bool = False


def prompt(rows: int) -> torch.Tensor:
    """Return the prompts of a batch; the first is always the same."""
    generator = torch.Generator().manual_seed(3)
    return torch.randint(0, 512, (4, PROMPT), generator=generator)[:rows]


def generate(model: LlamaForCausalLM, recorder: Recorder, loop: Loop) -> None:
    """Decode greedily, and record what was chosen for the first row."""
    ids, cache = prompt(loop.rows), None
    mask = torch.ones(loop.rows, PROMPT, dtype=torch.long)
    if loop.masked is not None:
        mask[:, loop.masked] = 0
    for step in range(STEPS):
        first = 0 if step == 0 else PROMPT + step - 1
        shift = 1 if step == loop.shifted_step else 0
        positions = torch.arange(first, first + ids.shape[1])[None] + shift
        found: Any = model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions.expand(loop.rows, -1),
            past_key_values=cache,
            use_cache=True,
        )
        cache = found.past_key_values
        logits = found.logits[:, -1]
        ids = choose(logits, loop.last_of_ties)[:, None]
        top = logits[0].topk(3)
        recorder.event(
            "decoder",
            "token.selected",
            logical_step=step,
            choice={
                "token_id": int(ids[0, 0]),
                "top": list(zip(top.indices.tolist(), top.values.tolist(), strict=True)),
            },
        )
        mask = torch.cat([mask, torch.ones(loop.rows, 1, dtype=torch.long)], dim=1)


def choose(logits: torch.Tensor, last: bool) -> torch.Tensor:
    """Return the id of the largest logit of each row: the first or the last of equal ones."""
    if not last:
        return logits.argmax(-1)
    return logits.shape[-1] - 1 - logits.flip(-1).argmax(-1)


def record(
    edit: Callable[[LlamaForCausalLM], None] | None = None,
    loop: Loop | None = None,
    threads: int = 1,
    size: Size = SMALL,
    **options: Any,
) -> Trace:
    """Return the trace of the loop on a model that `edit` has changed; of the first row only."""
    model = build_model(size)
    if edit is not None:
        edit(model)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    sink = MemorySink()
    try:
        with (
            torch.no_grad(),
            Recorder(sink) as recorder,
            record_module(model, recorder, select=first_row, **options),
        ):
            generate(model, recorder, loop or Loop())
    finally:
        torch.set_num_threads(before)
    return sink.trace("run")


def first_row(name: str, tensor: torch.Tensor) -> torch.Tensor:
    """Return what belongs to the first row of the batch."""
    return tensor[:1] if tensor.dim() > 1 else tensor
