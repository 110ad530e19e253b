"""Faults in a generation by transformers: what is done to it, and what a comparison must report.

Not imported before a test has made sure that transformers is there. Nothing of the recorder is
exchanged: what is faulty is the model, its inputs, its config, or what runs between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from typing import Any

import torch
from generation_runs import EOS, PROMPT, greedy, letters, llama, record
from transformers import GenerationConfig

from tracediff.events import Trace

STEP = 7
"""The decode step at which faults inside a run happen."""

LOADED, ENTERED, CALLED = "module.loaded", "module.entered", "module.called"
PREFILL, DECODE, SELECTED = "prefill.completed", "decode.completed", "token.selected"
STARTED = "decode.started"


@dataclass
class Run:
    """What a generation is made of; a fault changes it in place."""

    model: Any
    inputs: Any
    config: GenerationConfig
    arguments: dict[str, Any] = field(default_factory=dict)
    seed: int = 3
    around: Callable[[Callable[[], Trace]], Trace] = lambda run: run()

    def record(self) -> Trace:
        """Record it."""

        def run() -> Trace:
            torch.manual_seed(self.seed)
            return record(self.model, self.inputs, self.config, **self.arguments)

        return self.around(run)


Start = Callable[[], Run]


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault, what it is done to, and what must be reported of it.

    `component`, `event_type` and `step` are those of the first divergent event, `check` is the
    section in which it differs, `cause` the kind of the cause.
    """

    start: Start
    change: Callable[[Run], None]
    component: str
    event_type: str
    step: int
    check: str
    cause: str

    @property
    def name(self) -> str:
        """What a test calls it."""
        return f"{self.change.__name__}-{self.start.__name__}".replace("_", "-")

    @property
    def expected(self) -> tuple[str, str, int, str, str]:
        """What must be reported."""
        return self.component, self.event_type, self.step, self.check, self.cause


@cache
def recorded(start: Start) -> Trace:
    """The trace without a fault."""
    return start().record()


def plain() -> Run:
    return Run(llama(), torch.tensor(PROMPT), greedy())


def layers_only() -> Run:
    """Without the weights: their effect is to be found."""
    return Run(llama(), torch.tensor(PROMPT), greedy(), {"parameters": False})


def modules_only() -> Run:
    """Every module, without the weights."""
    return Run(llama(), torch.tensor(PROMPT), greedy(), {"modules": True, "parameters": False})


def from_text() -> Run:
    return Run(llama(), "<s>The sky", greedy(6), {"tokenizer": letters()})


def from_ids() -> Run:
    """With a tokenizer that only spells."""
    ids = letters()("<s>SKY", return_tensors="pt")["input_ids"]
    return Run(llama(), ids, greedy(6), {"tokenizer": letters()})


def processed() -> Run:
    config = greedy(repetition_penalty=1.2, no_repeat_ngram_size=2, min_new_tokens=4)
    config.eos_token_id = EOS
    return Run(llama(), torch.tensor(PROMPT), config)


def sampled() -> Run:
    config = greedy(do_sample=True, temperature=0.8, top_k=40, top_p=0.9)
    return Run(llama(), torch.tensor(PROMPT), config)


def sampled_plainly() -> Run:
    """At temperature 1, where no processor of temperature runs."""
    return Run(llama(), torch.tensor(PROMPT), greedy(do_sample=True, top_k=40))


def with_dropout() -> Run:
    """The model has dropout, which is off."""
    return Run(llama(attention_dropout=0.1), torch.tensor(PROMPT), greedy())


def tied() -> Run:
    """The best token has a twin: the row of another token in the head is the same."""
    return _with_twin(1.0)


def nearly_tied() -> Run:
    """The twin's row is a little larger."""
    return _with_twin(1 + 3e-7)


def one_element(run: Run) -> None:
    with torch.no_grad():
        run.model.model.layers[2].mlp.up_proj.weight[3, 5] += 0.5


def zeroed_row(run: Run) -> None:
    with torch.no_grad():
        run.model.model.layers[1].self_attn.o_proj.weight[7] = 0


def rotary_base(run: Run) -> None:
    run.model.model.rotary_emb.inv_freq = 20000.0 ** (-torch.arange(0, 32, 2) / 32)


def swapped_layers(run: Run) -> None:
    layers = run.model.model.layers
    layers[1], layers[2] = layers[2], layers[1]
    layers[1].self_attn.layer_idx, layers[2].self_attn.layer_idx = 1, 2


def norm_epsilon(run: Run) -> None:
    run.model.model.layers[2].input_layernorm.variance_epsilon = 1e-2


def bfloat16_layer(run: Run) -> None:
    held = run.model.model.layers[1].mlp
    held.to(torch.bfloat16)
    held.register_forward_pre_hook(lambda module, args: (args[0].bfloat16(),))
    held.register_forward_hook(lambda module, args, output: output.float())


def dropout_left_on(run: Run) -> None:
    run.model.train()


def masked_token(run: Run) -> None:
    mask = torch.ones_like(run.inputs)
    mask[0, 4] = 0
    run.inputs = {"input_ids": run.inputs, "attention_mask": mask}


def shifted_position(run: Run) -> None:
    """From outside: what prepares a step's inputs is off by one."""
    prepare, calls = run.model.prepare_inputs_for_generation, count()

    def shifted(*args: Any, **kwargs: Any) -> Any:
        made = prepare(*args, **kwargs)
        if next(calls) == STEP:
            made["position_ids"] = made["position_ids"] + 1
        return made

    run.model.prepare_inputs_for_generation = shifted


def shifted_rotation(run: Run) -> None:
    """From inside: the rotary embedding is off by one."""
    rotary = run.model.model.rotary_emb
    inner, calls = rotary.forward, count()
    rotary.forward = lambda states, position_ids: inner(
        states, position_ids + (next(calls) == STEP)
    )


def shifted_keys(run: Run) -> None:
    """The cached keys of one layer are off by one position."""
    attention, calls = run.model.model.layers[2].self_attn, count()

    def shift(module: Any, args: Any, kwargs: Any) -> None:
        if next(calls) == STEP:
            held = _cache(kwargs).layers[2]
            held.keys = held.keys.roll(1, dims=2)

    attention.register_forward_pre_hook(shift, with_kwargs=True)


def cropped_cache(run: Run) -> None:
    """The cache loses its last position."""
    calls = count()

    def crop(module: Any, args: Any, kwargs: Any) -> None:
        if next(calls) == STEP:
            for held in _cache(kwargs).layers:
                held.keys, held.values = held.keys[:, :, :-1], held.values[:, :, :-1]

    run.model.register_forward_pre_hook(crop, with_kwargs=True)


def last_of_ties(run: Run) -> None:
    """Of equal logits the one with the highest id is taken."""
    original = torch.argmax

    def last(logits: Any, dim: int) -> Any:
        return logits.shape[-1] - 1 - original(logits.flip(-1), dim=dim)

    def around(run: Callable[[], Trace]) -> Trace:
        torch.argmax = last
        try:
            return run()
        finally:
            torch.argmax = original

    run.around = around


def other_twin(run: Run) -> None:
    """Rounding makes the other of two nearly equal logits the larger one."""
    run.model = _with_twin(1 - 3e-7).model


def other_order(run: Run) -> None:
    make = run.model._get_logits_processor

    def make_reversed(*args: Any, **kwargs: Any) -> Any:
        made = make(*args, **kwargs)
        made.reverse()
        return made

    run.model._get_logits_processor = make_reversed


def other_penalty(run: Run) -> None:
    run.config.repetition_penalty = 1.3


def added_penalty(run: Run) -> None:
    run.config.repetition_penalty = 1.2


def added_temperature(run: Run) -> None:
    """A processor before the others, which run on both sides."""
    run.config.temperature = 1.1


def autocast(run: Run) -> None:
    def around(run: Callable[[], Trace]) -> Trace:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return run()

    run.around = around


def other_temperature(run: Run) -> None:
    run.config.temperature = 0.81


def other_top_p(run: Run) -> None:
    run.config.top_p = 0.5


def other_seed(run: Run) -> None:
    run.seed += 1


def another_draw(run: Run) -> None:
    """Something in the model draws from the same generator."""
    calls = count()

    def draw(*args: Any) -> None:
        if next(calls) == STEP:
            torch.rand(1)

    run.model.model.norm.register_forward_hook(draw)


def greedy_instead(run: Run) -> None:
    run.config = greedy()


def another_end_token(run: Run) -> None:
    """The fourth id that is chosen ends the row."""
    chosen = [e for e in recorded(from_text).events if e.event_type == SELECTED]
    run.config.eos_token_id = chosen[3].payload["choice"]["token_id"]


def another_stop_string(run: Run) -> None:
    """A part of the text that is returned ends the row."""
    done = next(e for e in recorded(from_text).events if e.event_type == "response.completed")
    run.config.stop_strings = [done.payload["choice"]["text"][4:7]]


def other_limit(run: Run) -> None:
    run.config.max_new_tokens = 5


def other_prompt(run: Run) -> None:
    run.inputs = "<s>The sea"


def other_tokenizer(run: Run) -> None:
    run.arguments["tokenizer"] = letters(joined=False)


def other_spelling(run: Run) -> None:
    run.arguments["tokenizer"] = letters(joined=False, capitals=True)


def _with_twin(factor: float) -> Run:
    run = layers_only()
    with torch.no_grad():
        best = int(run.model(run.inputs).logits[0, -1].argmax())
        head = run.model.lm_head.weight
        head[best + 1] = head[best] * factor
    return run


def _cache(kwargs: Any) -> Any:
    """The cache among the arguments of a call: 5.x of transformers has another name for it."""
    return kwargs["cache"] if "cache" in kwargs else kwargs["past_key_values"]


_MODEL = "LlamaForCausalLM"
_LAYER = "model.layers"

GENERATION_FAULTS = (
    Fault(plain, one_element, _MODEL, LOADED, 0, "artifacts", "artifact-changed"),
    Fault(layers_only, one_element, "model", PREFILL, 0, "outputs", "numeric-path"),
    Fault(
        *(modules_only, one_element, f"{_LAYER}.2.mlp.up_proj", CALLED, 0),
        *("outputs", "numeric-path"),
    ),
    Fault(plain, zeroed_row, _MODEL, LOADED, 0, "artifacts", "artifact-changed"),
    Fault(
        *(modules_only, zeroed_row, f"{_LAYER}.1.self_attn.o_proj", CALLED, 0),
        *("outputs", "numeric-path"),
    ),
    Fault(plain, rotary_base, _MODEL, LOADED, 0, "artifacts", "artifact-changed"),
    Fault(modules_only, rotary_base, "model.rotary_emb", CALLED, 0, "outputs", "numeric-path"),
    Fault(plain, swapped_layers, _MODEL, LOADED, 0, "artifacts", "permuted"),
    Fault(
        *(modules_only, swapped_layers, f"{_LAYER}.1.self_attn.q_proj", CALLED, 0),
        *("outputs", "numeric-path"),
    ),
    Fault(layers_only, norm_epsilon, "model", PREFILL, 0, "outputs", "numeric-path"),
    Fault(
        *(modules_only, norm_epsilon, f"{_LAYER}.2.input_layernorm", CALLED, 0),
        *("outputs", "numeric-path"),
    ),
    Fault(plain, bfloat16_layer, _MODEL, LOADED, 0, "artifacts", "dtype"),
    Fault(with_dropout, dropout_left_on, _MODEL, LOADED, 0, "state", "training-mode"),
    Fault(plain, masked_token, "tokenizer", "input.tokenized", 0, "state", "mask"),
    Fault(plain, shifted_position, "scheduler", STARTED, STEP, "state", "cache-position"),
    Fault(modules_only, shifted_position, "scheduler", STARTED, STEP, "state", "cache-position"),
    Fault(layers_only, shifted_rotation, "model", DECODE, STEP, "outputs", "numeric-path"),
    Fault(
        *(modules_only, shifted_rotation, "model.rotary_emb", CALLED, STEP),
        *("outputs", "numeric-path"),
    ),
    Fault(layers_only, shifted_keys, "model", DECODE, STEP, "outputs", "numeric-path"),
    Fault(
        *(modules_only, shifted_keys, f"{_LAYER}.2.self_attn.o_proj", CALLED, STEP),
        *("inputs", "input-changed"),
    ),
    Fault(plain, cropped_cache, "model", DECODE, STEP, "state", "cache-length"),
    Fault(modules_only, cropped_cache, _MODEL, ENTERED, STEP, "state", "cache-length"),
    Fault(tied, last_of_ties, "decoder", SELECTED, 1, "choice", "tie-break"),
    Fault(nearly_tied, other_twin, "decoder", SELECTED, 1, "choice", "near-tie"),
    Fault(processed, other_order, "decoder", SELECTED, 1, "outputs", "processor-order"),
    Fault(processed, other_penalty, "decoder", SELECTED, 1, "outputs", "processor"),
    Fault(plain, added_penalty, "decoder", SELECTED, 1, "outputs", "processor"),
    Fault(sampled_plainly, added_temperature, "decoder", SELECTED, 1, "outputs", "processor"),
    Fault(plain, autocast, _MODEL, LOADED, 0, "state", "dtype"),
    Fault(modules_only, autocast, _MODEL, ENTERED, 0, "state", "dtype"),
    Fault(sampled, other_temperature, "decoder", SELECTED, 1, "outputs", "processor"),
    Fault(sampled, other_top_p, "decoder", SELECTED, 1, "outputs", "processor"),
    Fault(sampled, other_seed, "decoder", SELECTED, 1, "rng", "seed"),
    Fault(sampled, another_draw, "model", DECODE, STEP, "rng", "rng-counter"),
    Fault(sampled, greedy_instead, "decoder", SELECTED, 1, "rng", "rng-counter"),
    Fault(from_text, another_end_token, "transport", "stream.delta", 4, "structure", "stop-rule"),
    Fault(from_text, another_stop_string, "transport", "stream.delta", 3, "choice", "stop-rule"),
    Fault(from_text, other_limit, "scheduler", STARTED, 5, "structure", "stop-rule"),
    Fault(
        *(from_text, other_prompt, "application", "context.rendered", 0),
        *("choice", "input-changed"),
    ),
    Fault(from_text, other_tokenizer, "tokenizer", "input.tokenized", 0, "choice", "tokenizer"),
    Fault(from_ids, other_spelling, "transport", "stream.delta", 1, "choice", "detokenizer"),
)
