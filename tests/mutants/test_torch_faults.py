"""Ten faults in a random decoder, each found at the right module and step with the right cause."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install 'tracediff[torch]'")
pytest.importorskip("transformers", reason="needs transformers")

from mutants import torch_model  # noqa: E402
from mutants.torch_model import FAULTY_STEP, Loop, record  # noqa: E402

from tracediff import DiffOptions, Outcome, Trace, TraceDiff, diff_traces  # noqa: E402
from tracediff.events import ToleranceRule, Tolerances  # noqa: E402

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:`past_key_values`:FutureWarning"),
]

NO_JUMP = 30.0
"""Ratio of the largest jump to the median one up to which a report says nothing of it."""

Model = Any
FINE = DiffOptions(Tolerances((ToleranceRule("*", "allclose", 0.05, 0.05, rel_l2=0.05),)))
"""A tolerance that hides small faults, so that only the drift shows them."""


def one_element(model: Model) -> None:
    with torch.no_grad():
        model.model.layers[2].mlp.down_proj.weight[5, 17] += 1e-3


def zeroed_row(model: Model) -> None:
    with torch.no_grad():
        model.model.layers[1].self_attn.k_proj.weight[3] = 0


def rotary_base(model: Model) -> None:
    frequencies = model.model.rotary_emb.inv_freq
    exponents = torch.arange(len(frequencies)).float() / len(frequencies)
    frequencies.copy_(10001.0**-exponents)


def norm_epsilon(model: Model) -> None:
    model.model.layers[1].input_layernorm.variance_epsilon = 3e-6


def swapped_layers(model: Model) -> None:
    first, second = model.model.layers[1], model.model.layers[2]
    held = {name: value.clone() for name, value in first.state_dict().items()}
    first.load_state_dict(second.state_dict())
    second.load_state_dict(held)


def half_layer(model: Model) -> None:
    mlp = model.model.layers[3].mlp.to(torch.bfloat16)
    mlp.register_forward_pre_hook(lambda _, args: tuple(x.to(torch.bfloat16) for x in args))
    mlp.register_forward_hook(lambda _, args, output: output.float())


def dropout_left_on(model: Model) -> None:
    model.model.layers[1].self_attn.training = True


@dataclass(frozen=True)
class Fault:
    """A fault: in the model or in the loop, and where the first divergence must be."""

    edit: Callable[[Model], None] | None
    loop: Loop
    component: str
    step: int
    field: str
    cause: str
    says: str
    trigger: str = ""


OUTER = "LlamaForCausalLM"
FAULTS = {
    "one-element": Fault(
        one_element,
        Loop(),
        OUTER,
        0,
        "artifacts.model.layers.2.mlp.down_proj.weight",
        "artifact-changed",
        "only its element [5, 17] differs",
    ),
    "zeroed-row": Fault(
        zeroed_row,
        Loop(),
        OUTER,
        0,
        "artifacts.model.layers.1.self_attn.k_proj.weight",
        "artifact-changed",
        "only its row 3 differs",
    ),
    "rotary-base": Fault(
        rotary_base,
        Loop(),
        OUTER,
        0,
        "artifacts.model.rotary_emb.inv_freq",
        "artifact-changed",
        "model.rotary_emb.inv_freq is another one",
    ),
    "cache-position": Fault(
        None,
        Loop(shifted_step=FAULTY_STEP),
        OUTER,
        FAULTY_STEP,
        "state.read.position_ids[0][0]",
        "cache-position",
        "position_ids differs",
    ),
    "masked-token": Fault(
        None,
        Loop(masked=5),
        OUTER,
        0,
        "state.read.attention_mask[0][5]",
        "mask",
        "attention_mask is another one",
    ),
    "swapped-layers": Fault(
        swapped_layers,
        Loop(),
        OUTER,
        0,
        "artifacts.model.layers.1.self_attn.q_proj.weight",
        "permuted",
        "model.layers.1 and model.layers.2 are exchanged",
    ),
    "half-layer": Fault(
        half_layer,
        Loop(),
        OUTER,
        0,
        "artifacts.model.layers.3.mlp.gate_proj.weight",
        "dtype",
        "float32 on the left and bfloat16 on the right",
    ),
    "tie-break": Fault(
        None,
        Loop(last_of_ties=True),
        "decoder",
        0,
        "choice.token_id",
        "tie-break",
        "tie exactly",
    ),
    "dropout-left-on": Fault(
        dropout_left_on,
        Loop(),
        OUTER,
        0,
        "state.training[0]",
        "training-mode",
        "model.layers.1.self_attn is in training mode",
    ),
    "norm-epsilon": Fault(
        norm_epsilon,
        Loop(),
        "model.layers.1.input_layernorm",
        0,
        "outputs[model.layers.1.input_layernorm.output]",
        "numeric-path",
        "inputs and state agree",
        trigger="settings.modules.model.layers.1.input_layernorm",
    ),
}


@cache
def plain(**options: Any) -> Trace:
    """Return the trace without a fault."""
    return record(**options)


def compared(fault: Fault, **options: Any) -> TraceDiff:
    """Return the comparison of the run without the fault with the one that has it."""
    return diff_traces(plain(**options), record(fault.edit, fault.loop, **options))


def missed(fault: Fault, found: TraceDiff) -> list[str]:
    """Return what a comparison gets wrong about a fault: nothing, if all is well."""
    if found.first is None or found.cause is None or found.first.left is None:
        return [found.outcome.value]
    place = found.first.left
    triggers = [trigger.field for trigger in found.triggers]
    checks = {
        "component": place.component == fault.component,
        "step": place.logical_step == fault.step,
        "field": found.first.difference.field == f"payload.{fault.field}",
        "cause": found.cause.kind == fault.cause,
        "explanation": fault.says in found.cause.explanation,
        "trigger": triggers == ([f"payload.{fault.trigger}"] if fault.trigger else []),
    }
    return [name for name, is_right in checks.items() if not is_right]


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_faults_are_found(fault: Fault) -> None:
    """The first divergence names module, step, field and cause."""
    found = compared(fault)
    assert missed(fault, found) == [], found.cause


@pytest.mark.parametrize(
    ("edit", "name"),
    [
        pytest.param(one_element, "model.layers.2.mlp.down_proj.output", id="one-element"),
        pytest.param(rotary_base, "model.rotary_emb.output[0]", id="rotary-base"),
        pytest.param(norm_epsilon, "model.layers.1.input_layernorm.output", id="norm-epsilon"),
    ],
)
def test_small_faults_jump(edit: Callable[[Model], None], name: str) -> None:
    """Where parameters are not recorded and a tolerance hides the fault, the drift jumps there."""
    found = diff_traces(plain(parameters=False), record(edit, parameters=False), FINE)
    assert found.outcome is Outcome.WITHIN_TOLERANCE
    assert found.drift is not None
    assert found.drift.largest is not None
    assert found.drift.largest.tensor == name
    assert found.drift.ratio > NO_JUMP


@pytest.mark.parametrize(
    ("loop", "threads"),
    [
        pytest.param(Loop(), 2, id="two-threads"),
        pytest.param(Loop(rows=2), 1, id="batch-of-two"),
    ],
)
def test_noise_is_no_fault(loop: Loop, threads: int) -> None:
    """Two threads, or another row beside it in the batch, raise no alarm and make no jump."""
    found = diff_traces(plain(), record(None, loop, threads))
    assert found.outcome in (Outcome.EQUAL, Outcome.WITHIN_TOLERANCE)
    assert found.drift is None or found.drift.ratio < NO_JUMP


def test_the_loop_chooses_among_ties() -> None:
    """The run without a fault meets the two tokens that tie, or the tie-break could not show."""
    chosen = [
        event.payload["choice"]["token_id"]
        for event in plain().events
        if event.event_type == "token.selected"
    ]
    assert torch_model.TIED[0] in chosen
