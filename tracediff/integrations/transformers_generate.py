"""Records `model.generate` of transformers as a text trace: prompt, passes, choices, text.

Knows what a user gives. Must not know how a generation is watched or what its events hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import torch

from tracediff.errors import UsageError
from tracediff.integrations.transformers_loop import watch_generate
from tracediff.integrations.transformers_model import claim_model, return_hooks
from tracediff.integrations.transformers_recording import Extent, GenerationRecording
from tracediff.integrations.transformers_settings import refuse_other_ways
from tracediff.recording.levels import TensorLevel, parse_level
from tracediff.recording.recorder import Recorder

Inputs: TypeAlias = str | Sequence[str] | Sequence[Sequence[int]] | torch.Tensor | Mapping[str, Any]


def record_generate(
    model: Any,
    inputs: Inputs,
    generation_config: Any = None,
    *,
    recorder: Recorder | str | Path,
    tokenizer: Any = None,
    level: TensorLevel | str | None = None,
    layers: bool = True,
    modules: bool = False,
    parameters: bool = True,
    rows: Sequence[int] | None = None,
    **arguments: Any,
) -> Any:
    """Record one call of `model.generate` and return what it returned.

        output = record_generate(model, inputs, config, recorder="before.jsonl")

    `inputs` are ids [rows, length] (a tensor, or lists of one length), a mapping with `input_ids`
    and `attention_mask` (what a tokenizer gives), or one text or several, for which `tokenizer` is
    needed. `recorder` is the
    path of a trace of kind `text`, or a Recorder. With `tokenizer` the trace has texts. `level` is
    that of the recorder if not given. `layers` records what each layer gives, `modules` instead
    every module's calls (of the whole batch, padding and all), `parameters` identifies the weights.
    Further arguments go to `generate`.

    Rows of a batch are lanes `row`, without their padding; `rows` says which are recorded, and one
    alone has no lane: so it compares with the same prompt generated alone. What other threads
    generate meanwhile is not recorded (of `modules`, it is). Raises UsageError for beam search,
    contrastive and assisted generation, encoder-decoder models, prompts that are padded on the
    right, and a model that another call is recording.
    """
    model = getattr(model, "_orig_mod", model)  # what torch.compile wraps
    own = getattr(model, "generation_config", None)
    config = own if generation_config is None else generation_config
    given = inputs if isinstance(inputs, Mapping) else {}
    refuse_other_ways(config, {**given, **arguments})
    if getattr(getattr(model, "config", None), "is_encoder_decoder", False):
        raise UsageError(
            f"record_generate records causal language models; {type(model).__name__} has an encoder"
        )
    prompts, tensors = _read_inputs(inputs, tokenizer, model)
    if arguments.get("stop_strings") or getattr(config, "stop_strings", None):
        arguments = {"tokenizer": tokenizer, **arguments}
    with ExitStack() as stack:
        stack.enter_context(claim_model(model))
        if isinstance(recorder, str | Path):
            recorder = Recorder(recorder, kind="text", tensors=level or "sketch")
            stack.enter_context(recorder)
        level = parse_level(level) if isinstance(level, str) else level or recorder.level
        extent = Extent(level, layers and not modules, modules, parameters, rows)
        recording = GenerationRecording(model, recorder, extent, tokenizer, prompts)
        stack.enter_context(return_hooks(model))
        stack.enter_context(recording)
        stack.enter_context(watch_generate(model, recording))
        output = model.generate(**tensors, generation_config=generation_config, **arguments)
        if not recording.has_begun:
            raise UsageError(
                f"{type(model).__name__} has another model generate; give record_generate that one"
            )
    return output


def _read_inputs(
    inputs: Inputs, tokenizer: Any, model: Any
) -> tuple[list[str] | None, dict[str, Any]]:
    """Return the texts, if they are given, and the tensors for `generate`."""
    if isinstance(inputs, torch.Tensor):
        _refuse_one_row(inputs)
        return None, {"input_ids": inputs}
    if isinstance(inputs, Mapping):
        if not isinstance(inputs.get("input_ids"), torch.Tensor):
            raise UsageError(
                "inputs= lacks a tensor input_ids; a tokenizer gives one with return_tensors='pt'"
            )
        _refuse_one_row(inputs["input_ids"])
        return None, dict(inputs)
    texts = [inputs] if isinstance(inputs, str) else [*inputs]
    if not texts or not all(isinstance(text, str) for text in texts):
        return None, {"input_ids": _ids_of_lists(texts).to(model.device)}
    if tokenizer is None:
        raise UsageError("inputs= is text; give the tokenizer= that makes ids of it")
    if len(texts) > 1 and tokenizer.pad_token_id is None:
        raise UsageError("several texts make rows of one length; the tokenizer has no pad_token")
    made = tokenizer(texts, return_tensors="pt", padding=len(texts) > 1, padding_side="left")
    tensors = {name: made[name].to(model.device) for name in ("input_ids", "attention_mask")}
    return texts, tensors


def _ids_of_lists(rows: Sequence[Any]) -> torch.Tensor:
    """Return ids [rows, length] of lists of integers."""
    lengths = {len(row) if _are_ids(row) else 0 for row in rows}
    if len(lengths) != 1 or 0 in lengths:
        raise UsageError(
            "inputs= is one text or several, a mapping with input_ids, or ids [rows, length]: a "
            "tensor, or lists of integers, all of one length; a prompt of three ids is [[3, 4, 5]]"
        )
    return torch.tensor([[*row] for row in rows])


def _are_ids(row: Any) -> bool:
    return isinstance(row, list | tuple) and all(type(token) is int for token in row)


def _refuse_one_row(ids: torch.Tensor) -> None:
    if ids.dim() != 2:
        raise UsageError(
            f"inputs= has ids of shape {[*ids.shape]}; they are [rows, length]: a prompt of three "
            "ids is [[3, 4, 5]]"
        )
