"""What `record_generate` records: it changes nothing, keeps the contract, and refuses the rest."""

from pathlib import Path
from typing import Any

import pytest

from tracediff.contracts import check_trace
from tracediff.diff import Outcome, diff_traces
from tracediff.errors import UsageError
from tracediff.events import Trace
from tracediff.recording.recorder import Recorder
from tracediff.render.report_lines import WORTH_A_WORD
from tracediff.storage import read_trace

runs = pytest.importorskip("generation_runs", reason="needs transformers and torch")
torch = pytest.importorskip("torch", reason="needs torch")
transformers = pytest.importorskip("transformers", reason="needs transformers")

pytestmark = [
    pytest.mark.transformers,
    pytest.mark.filterwarnings("ignore"),  # of other packages
]

IDS = torch.tensor(runs.PROMPT)
TEXTS = ["<s>The sky", "<s>Go"]
SAMPLED = {"do_sample": True, "temperature": 0.8, "top_k": 40, "top_p": 0.9}
PROCESSED = {"repetition_penalty": 1.2, "no_repeat_ngram_size": 2, "min_new_tokens": 3}

SMALL = {"vocab_size": runs.VOCABULARY, "hidden_size": 64, "num_hidden_layers": 2}
HEADS = {"num_attention_heads": 4, "intermediate_size": 128}
KNOWN_SETTINGS = {
    *("minimum_output_tokens", "max_output_tokens", "stop_sequences", "eos_token_ids"),
    *("repetition_penalty", "temperature", "top_k", "top_p", "kv_cache"),
}
OTHERS = {
    "gpt2": lambda: transformers.GPT2Config(
        vocab_size=runs.VOCABULARY, n_embd=64, n_layer=2, n_head=4, n_positions=128
    ),
    "opt": lambda: transformers.OPTConfig(
        **SMALL, ffn_dim=128, num_attention_heads=4, word_embed_proj_dim=64
    ),
    "bloom": lambda: transformers.BloomConfig(
        vocab_size=runs.VOCABULARY, hidden_size=64, n_layer=2, n_head=4
    ),
    "gemma3-sliding": lambda: transformers.Gemma3TextConfig(
        **SMALL, **HEADS, num_key_value_heads=2, head_dim=16, sliding_window=8
    ),
    "mamba": lambda: transformers.MambaConfig(**SMALL, state_size=8),
}
"""Configs of other causal language models: positions, caches and layers of other kinds."""


def of_type(trace: Trace, event_type: str) -> list[Any]:
    return [event for event in trace.events if event.event_type == event_type]


def completed(trace: Trace) -> list[dict[str, Any]]:
    return [event.payload["choice"] for event in of_type(trace, "response.completed")]


def broken(trace: Trace) -> list[Any]:
    return [(found.rule, found.event_id, found.reason) for found in check_trace(trace).violations]


@pytest.mark.parametrize(
    ("inputs", "options", "arguments"),
    [
        pytest.param(IDS, {}, {}, id="greedy"),
        pytest.param(IDS, {}, {"level": "digest", "layers": False}, id="digests"),
        pytest.param(IDS, PROCESSED | {"eos_token_id": 7}, {}, id="processors"),
        pytest.param(IDS, SAMPLED, {}, id="sampled"),
        pytest.param(IDS, SAMPLED, {"modules": True}, id="sampled-with-modules"),
        pytest.param(IDS, {"guidance_scale": 1.5}, {"modules": True}, id="model-in-processor"),
        pytest.param(IDS, {"use_cache": False}, {}, id="without-cache"),
        pytest.param(IDS, {"cache_implementation": "static"}, {}, id="static-cache"),
        pytest.param(runs.padded(), {}, {}, id="padded-batch"),
        pytest.param(runs.padded(), SAMPLED, {"modules": True}, id="sampled-batch"),
        pytest.param(runs.padded(), PROCESSED | {"eos_token_id": 7}, {}, id="processed-batch"),
        pytest.param(IDS, SAMPLED | {"num_return_sequences": 3}, {}, id="three-of-one-prompt"),
    ],
)
def test_recording_changes_nothing(
    inputs: Any, options: dict[str, Any], arguments: dict[str, Any], tmp_path: Path
) -> None:
    """`record_generate` returns what `generate` returns, and its trace keeps the contract."""
    model, config = runs.llama(), runs.greedy(**options)
    given = inputs if isinstance(inputs, dict) else {"input_ids": inputs}
    torch.manual_seed(5)
    plain = model.generate(**given, generation_config=config)
    torch.manual_seed(5)
    path = tmp_path / "run.jsonl"
    found = runs.record_generate(model, inputs, config, recorder=path, **arguments)
    assert torch.equal(found, plain)
    trace = read_trace(path)
    assert broken(trace) == []
    selected = [e.payload["choice"]["token_id"] for e in of_type(trace, "token.selected")]
    length = given["input_ids"].shape[1]
    if len(plain) == 1:
        assert selected == plain[0, length:].tolist()
    else:
        lanes = [event.payload["lane"]["row"] for event in of_type(trace, "response.completed")]
        assert sorted(lanes) == [*range(len(plain))]


@pytest.mark.parametrize("extent", [{}, {"modules": True}], ids=["layers", "modules"])
def test_model_is_as_before(extent: dict[str, Any]) -> None:
    """Afterwards nothing of the recorder, nor of what it asked for, is left on the model."""
    model = runs.llama()
    before = [set(vars(module)) for module in model.modules()]
    runs.record(model, IDS, runs.greedy(2), **extent)
    assert [set(vars(module)) for module in model.modules()] == before
    hooks = [m._forward_hooks or m._forward_pre_hooks for m in model.modules()]
    assert not any(hooks)


def test_hooks_that_were_there_stay() -> None:
    """A model that was asked for hidden states before goes on to give them."""
    model = runs.llama()
    model(IDS, output_hidden_states=True)
    before = [[*module._forward_hooks] for module in model.modules()]
    runs.record(model, IDS, runs.greedy(2))
    assert [[*module._forward_hooks] for module in model.modules()] == before
    assert len(model(IDS, output_hidden_states=True).hidden_states) == 4


def test_compiled_in_place(tmp_path: Path) -> None:
    """`model.compile()` changes neither what is generated nor what is recorded of it."""
    model = runs.llama()
    plain = runs.record(model, IDS, runs.greedy(2))
    model.compile(backend="eager")
    assert diff_traces(plain, runs.record(model, IDS, runs.greedy(2))).outcome is Outcome.EQUAL


@pytest.mark.parametrize("name", OTHERS)
def test_other_models_keep_the_contract(name: str) -> None:
    """Any causal language model is recorded, from a batch with padding as well."""
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(OTHERS[name]()).eval()
    for inputs in (IDS, runs.padded()):
        trace = runs.record(model, inputs, runs.greedy(4))
        assert broken(trace) == []
        assert len(completed(trace)) == (1 if inputs is IDS else 2)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param({}, {"threads": 2}, id="threads"),
        pytest.param({"modules": True}, {"modules": True, "threads": 2}, id="threads-of-modules"),
        pytest.param({}, {"inputs": runs.padded(), "rows": [0]}, id="row-in-batch"),
        pytest.param(
            {"inputs": torch.tensor(runs.SHORT)},
            {"inputs": runs.padded(), "rows": [1]},
            id="padded-row-in-batch",
        ),
        pytest.param({}, {"use_cache": False}, id="without-cache"),
        pytest.param({}, {"cache_implementation": "static"}, id="static-cache"),
        pytest.param({}, {"attention": "eager"}, id="other-attention"),
    ],
)
def test_harmless_change_is_no_divergence(left: dict[str, Any], right: dict[str, Any]) -> None:
    """What must not count is within the default tolerance, and no jump of drift is shown."""
    found = diff_traces(harmless(**left), harmless(**right))
    assert found.outcome in (Outcome.EQUAL, Outcome.WITHIN_TOLERANCE), found.first
    assert found.drift is None or found.drift.ratio < WORTH_A_WORD


def harmless(
    inputs: Any = IDS,
    threads: int = 1,
    attention: str = "sdpa",
    use_cache: bool = True,
    cache_implementation: str | None = None,
    **arguments: Any,
) -> Trace:
    model = runs.llama(attn_implementation=attention)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        config = runs.greedy(use_cache=use_cache, cache_implementation=cache_implementation)
        return runs.record(model, inputs, config, **arguments)
    finally:
        torch.set_num_threads(before)


def test_padding_of_a_row_is_left_out() -> None:
    """A padded row is recorded as if it were alone, and the padding is told as a condition."""
    trace = runs.record(runs.llama(), runs.padded(), runs.greedy(2), rows=[1])
    (tokenized,) = of_type(trace, "input.tokenized")
    assert tokenized.payload["choice"]["input_ids"] == runs.SHORT
    assert tokenized.payload["choice"]["position_ids"] == [[*range(len(runs.SHORT[0]))]]
    assert tokenized.payload["context"] == {"padding": len(runs.PROMPT[0]) - len(runs.SHORT[0])}
    (prefilled,) = of_type(trace, "prefill.completed")
    assert prefilled.payload["state"]["layers"] == {"cache_length": [len(runs.SHORT[0])] * 3}
    shapes = {record["name"]: record["shape"] for record in prefilled.payload["outputs"]}
    assert shapes["layer.0.residual_out"] == [1, len(runs.SHORT[0]), 128]


def test_texts_stop_and_end() -> None:
    """The text is streamed without a stop string, and each row ends for its own reason."""
    model, tokenizer = runs.llama(), runs.letters()
    (limit,) = completed(runs.record(model, TEXTS[0], runs.greedy(6), tokenizer=tokenizer))
    assert limit["finish_reason"] == "max_tokens"
    text = limit["text"]
    assert text == tokenizer.decode(_selected(model, TEXTS[0]), skip_special_tokens=True)

    stop = text[4:7]
    config = runs.greedy(6, stop_strings=[stop])
    (stopped,) = completed(runs.record(model, TEXTS[0], config, tokenizer=tokenizer))
    assert (stopped["finish_reason"], stopped["text"]) == ("stop_sequence", text[:4])

    others = _selected(model, TEXTS[1])
    place, end = next(
        (place, token)
        for place, token in enumerate(_selected(model, TEXTS[0]))
        if place and token not in others
    )
    config = runs.greedy(6, eos_token_id=end)
    trace = runs.record(model, TEXTS, config, tokenizer=tokenizer)
    assert broken(trace) == []
    reasons = {e.payload["lane"]["row"]: e for e in of_type(trace, "response.completed")}
    assert reasons[0].payload["choice"]["finish_reason"] == "eos"
    assert reasons[0].payload["choice"]["output_tokens_returned"] == place
    assert reasons[1].payload["choice"]["finish_reason"] == "max_tokens"


def _selected(model: Any, text: str) -> list[int]:
    trace = runs.record(model, text, runs.greedy(6), tokenizer=runs.letters())
    return [e.payload["choice"]["token_id"] for e in of_type(trace, "token.selected")]


def test_processors_are_named_in_order() -> None:
    """A selection has the logits after each processor that `generate` runs, under its name."""
    model = runs.llama()
    config = runs.greedy(2, **SAMPLED, repetition_penalty=1.1)
    first = of_type(runs.record(model, IDS, config), "token.selected")[0]
    assert [record["name"] for record in first.payload["outputs"]] == [
        f"logits.{name}" for name in ("repetition_penalty", "temperature", "top_k", "top_p")
    ]
    (draw,) = first.payload["rng"]
    assert (draw["generator"], draw["algorithm"]) == ("cpu", "mt19937")
    top = first.payload["choice"]["top"]
    assert first.payload["note"]["top_2_margin"] == pytest.approx(top[0][1] - top[1][1], abs=1e-5)


@pytest.mark.parametrize(
    ("options", "arguments", "message"),
    [
        pytest.param({"num_beams": 2}, {}, "num_beams= asks for beam search", id="beams"),
        pytest.param({"penalty_alpha": 0.6, "top_k": 4}, {}, "contrastive", id="contrastive"),
        pytest.param({"prompt_lookup_num_tokens": 2}, {}, "assisted", id="prompt-lookup"),
        pytest.param({}, {"assistant_model": object()}, "assisted", id="assistant"),
        pytest.param({}, {"custom_generate": "owner/name"}, "loop of its own", id="custom"),
        pytest.param({}, {"rows": [1]}, "rows= names row 1", id="no-such-row"),
    ],
)
def test_other_ways_are_refused(
    options: dict[str, Any], arguments: dict[str, Any], message: str
) -> None:
    """What is not recorded is refused by name, before anything runs."""
    with pytest.raises(UsageError, match=message):
        runs.record(runs.llama(), IDS, runs.greedy(2, **options), **arguments)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        pytest.param("text", "give the tokenizer=", id="text-without-tokenizer"),
        pytest.param({"ids": IDS}, "lacks a tensor input_ids", id="no-ids"),
        pytest.param([], "one text or several", id="nothing"),
        pytest.param([5, 6, 7], r"three ids is \[\[3, 4, 5\]\]", id="list-of-ids"),
        pytest.param([[5, 6], [7]], "all of one length", id="lists-of-two-lengths"),
        pytest.param([[5, 0.5]], "lists of integers", id="lists-of-numbers"),
        pytest.param(
            {"input_ids": IDS, "inputs_embeds": torch.zeros(1, 12, 128)},
            "inputs_embeds= asks for embeddings instead of ids",
            id="embeddings-beside-ids",
        ),
        pytest.param(IDS[0], r"ids of shape \[12\]; they are \[rows, length\]", id="one-row"),
        pytest.param({"input_ids": IDS[0]}, r"ids of shape \[12\]", id="one-row-in-a-mapping"),
        pytest.param(
            {"input_ids": IDS, "attention_mask": torch.tensor([[1] * 11 + [0]])},
            "pad on the left",
            id="padded-right",
        ),
    ],
)
def test_wrong_inputs_are_refused(inputs: Any, message: str) -> None:
    """Inputs that cannot be recorded are refused with what to do instead."""
    with pytest.raises(UsageError, match=message):
        runs.record(runs.llama(), inputs, runs.greedy(2))


def test_lists_are_ids() -> None:
    """Ids in lists are recorded as the tensor of them is."""
    model = runs.llama()
    traces = [runs.record(model, given, runs.greedy(2)) for given in (IDS, runs.PROMPT)]
    assert diff_traces(*traces).outcome is Outcome.EQUAL


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({}, {"pad_token_id": runs.PAD}, id="default"),
        pytest.param({"pad_token_id": 3}, {"pad_token_id": 3}, id="pad"),
        pytest.param(
            {"pad_token_id": None, "eos_token_id": runs.EOS}, {"pad_token_id": runs.EOS}, id="end"
        ),
        pytest.param({"no_repeat_ngram_size": 2}, {"no_repeat_ngram_size": 2}, id="number"),
        pytest.param({"renormalize_logits": True}, {"renormalize_logits": True}, id="switch"),
        pytest.param(
            {"cache_implementation": "static"}, {"cache_implementation": "static"}, id="w"
        ),
        pytest.param(
            {"bad_words_ids": [[4], [5, 6]], "suppress_tokens": [9]},
            {"bad_words_ids": [[4], [5, 6]], "suppress_tokens": [9]},
            id="lists",
        ),
        pytest.param({"sequence_bias": {(4,): -2.0}}, {}, id="neither-text-nor-list"),
        pytest.param(
            {"sequence_bias": [[[4], -float("inf")]]}, {"sequence_bias": [[[4], "-inf"]]}, id="inf"
        ),
    ],
)
def test_resolved_config_stands_in_the_settings(
    options: dict[str, Any], expected: dict[str, Any]
) -> None:
    """Beside those that contracts know, what differs from the default stands there, as it is."""
    model = runs.llama(bos_token_id=None)
    ends = {key: options[key] for key in ("pad_token_id", "eos_token_id") if key in options}
    model.generation_config = runs.greedy(**ends)  # it fills what the given one leaves open
    trace = runs.record(model, IDS, runs.greedy(1, **options))
    further = {k: v for k, v in trace.root.payload["settings"].items() if k not in KNOWN_SETTINGS}
    assert further == {"pad_token_id": runs.PAD, **expected}


def test_another_padding_is_a_setting() -> None:
    """Rows that end early and are filled with another id are equal, and the setting is told."""
    sides = [
        runs.record(runs.llama(), runs.padded(), runs.greedy(2, pad_token_id=pad)) for pad in (0, 3)
    ]
    found = diff_traces(*sides)
    assert found.outcome is Outcome.EQUAL
    assert [trigger.field for trigger in found.triggers] == ["payload.settings.pad_token_id"]


def test_encoder_decoder_is_refused() -> None:
    """A model with an encoder is no causal language model."""
    model = transformers.T5ForConditionalGeneration(
        transformers.T5Config(
            vocab_size=runs.VOCABULARY, d_model=32, num_layers=1, d_ff=64, num_heads=2
        )
    )
    with pytest.raises(UsageError, match="has an encoder"):
        runs.record(model, IDS, runs.greedy(2))


def test_wrapper_is_refused() -> None:
    """A wrapper that has another model generate could not be looked into."""

    class Wrapper:
        def __init__(self, model: Any) -> None:
            self.inner = model

        def __getattr__(self, name: str) -> Any:
            return getattr(self.inner, name)

    with pytest.raises(UsageError, match="Wrapper has another model generate"):
        runs.record(Wrapper(runs.llama()), IDS, runs.greedy(2))
    with pytest.raises(UsageError, match="cannot look into Linear"):
        runs.record(torch.nn.Linear(2, 2), IDS, runs.greedy(2))


def test_compiled_model_is_recorded_uncompiled() -> None:
    """What `torch.compile` wraps is what `generate` runs, and is recorded like it."""
    model = runs.llama()
    traces = [runs.record(one, IDS, runs.greedy(2)) for one in (model, torch.compile(model))]
    assert diff_traces(*traces).outcome is Outcome.EQUAL


def test_exception_leaves_an_incomplete_trace(tmp_path: Path) -> None:
    """What was recorded before the model fails stays, and the model is as before."""
    model = runs.llama()
    calls = iter(range(100))

    def fail(*args: Any) -> None:
        if next(calls) == 2:
            raise ZeroDivisionError

    handle = model.model.layers[1].register_forward_hook(fail)
    with pytest.raises(ZeroDivisionError):
        runs.record_generate(model, IDS, runs.greedy(), recorder=tmp_path / "run.jsonl")
    handle.remove()
    (left,) = tmp_path.iterdir()
    assert left.name != "run.jsonl"
    assert b"decode.started" in left.read_bytes()
    assert "_get_logits_processor" not in vars(model)


def test_recorder_of_ones_own(tmp_path: Path) -> None:
    """Several generations may go into one recording, beside events of one's own."""
    with Recorder(tmp_path / "run.jsonl") as recorder:
        recorder.event("application", "started")
        for _ in range(2):
            runs.record_generate(runs.llama(), IDS, runs.greedy(2), recorder=recorder)
    trace = read_trace(tmp_path / "run.jsonl")
    assert len(completed(trace)) == 2


def test_recorder_of_kind_text_for_several(tmp_path: Path) -> None:
    """Of several generations in one text trace, each keeps the contract."""
    with Recorder(tmp_path / "run.jsonl", kind="text") as recorder:
        for inputs in (IDS, runs.padded()):
            runs.record_generate(runs.llama(), inputs, runs.greedy(3), recorder=recorder)
    assert broken(read_trace(tmp_path / "run.jsonl")) == []


EXAMPLE = """\
from transformers import GenerationConfig

from tracediff.integrations.transformers_generate import record_generate

config = GenerationConfig(max_new_tokens=16, repetition_penalty=1.2)
output = record_generate(model, "The sky is", config, recorder="before.jsonl", tokenizer=tokenizer)
"""


def test_documented_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of the documentation runs, and a changed penalty is named as there."""
    page = Path(__file__).parents[2] / "docs" / "transformers.md"
    assert EXAMPLE in page.read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    given = {"model": runs.llama(), "tokenizer": runs.letters()}
    exec(EXAMPLE, given)
    changed = EXAMPLE.replace("1.2", "1.3").replace("before", "after")
    exec(changed, given)
    left, right = (read_trace(tmp_path / f"{name}.jsonl") for name in ("before", "after"))
    report = check_trace(left)
    assert report.violations == ()
    said = f"{report.events} events, the text contract holds ({len(report.applied)} rules)"
    assert said in page.read_text("utf-8")
    found = diff_traces(left, right)
    assert found.first is not None
    assert found.cause is not None
    assert found.first.difference.field == "payload.outputs[logits.repetition_penalty]"
    assert found.cause.kind == "processor"
    assert [trigger.field for trigger in found.triggers] == ["payload.settings.repetition_penalty"]


@pytest.mark.parametrize("modules", [False, True], ids=["layers", "modules"])
def test_changed_weight_is_the_one_origin(modules: bool) -> None:
    """Whatever a generation does follows from what the model consists of."""
    traces = []
    for added in (0.0, 0.5):
        model = runs.llama()
        with torch.no_grad():
            model.lm_head.weight[3, 5] += added
        traces.append(runs.record(model, IDS, runs.greedy(2), modules=modules))
    found = diff_traces(*traces)
    assert [origin.check for origin in found.frontier] == ["artifacts"]
    assert found.cause is not None
    assert found.cause.kind == "artifact-changed"
