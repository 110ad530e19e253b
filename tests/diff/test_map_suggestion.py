"""Proposed name maps: what is paired, by what, and how general a rule becomes."""

from collections.abc import Callable

import numpy as np
import pytest
from trace_building import chain, event, tensor

from tracediff.diff import DiffOptions, Outcome, diff_traces
from tracediff.diff.map_suggestion import Suggestion, suggest_map
from tracediff.diff.name_map import NameMap
from tracediff.events import Trace

Rename = Callable[[str], str]

NAMES = [f"model.layers.{i}.{part}" for i in range(3) for part in ("attn", "mlp.fc1", "norm")]


def model(rename: Rename, *, noise: float = 0.0, level: str = "sketch", extra: int = 0) -> Trace:
    """Return a trace of modules; equal seeds give equal tensors, whatever the names."""
    random = np.random.default_rng(5)
    events = [event("r", state={"n": 1})]
    for number, name in enumerate(NAMES):
        value = random.normal(size=200).astype(np.float32) * np.float32(1 + noise)
        called = rename(name)
        output = tensor(f"{called}.out", value, level=level)
        weight = {f"{called}.weight": f"b3:{number}"}
        events.append(event(f"e{number}", None, called, outputs=[output], artifacts=weight))
    events += [event(f"x{i}", None, f"extra.{i}") for i in range(extra)]
    return chain(*events)


def same(name: str) -> str:
    return name


def onnx(name: str) -> str:
    return name.replace("model.layers", "/model/blocks").replace("attn", "attention")


def rules(found: Suggestion) -> list[str]:
    return [suggested.rule.text for suggested in found.rules]


@pytest.mark.parametrize(
    ("rename", "expected"),
    [
        pytest.param(same, [], id="the-same-names-need-no-rule"),
        pytest.param(
            lambda n: n.replace("layers", "h"), ["model.layers.* -> model.h.*"], id="part"
        ),
        pytest.param(lambda n: f"net.{n}", ["model.* -> net.model.*"], id="more-in-front"),
        pytest.param(lambda n: n.removeprefix("model."), ["model.* -> *"], id="less-in-front"),
        pytest.param(
            lambda n: n.replace(".attn", ".attention"),
            [
                "model.layers.*.attn.* -> model.layers.*.attention.*",
                "model.layers.*.attn -> model.layers.*.attention",
            ],
            id="the-last-part",
        ),
        pytest.param(
            lambda n: n.replace("fc1", "up"),
            [
                "model.layers.*.mlp.fc1.* -> model.layers.*.mlp.up.*",
                "model.layers.*.mlp.fc1 -> model.layers.*.mlp.up",
            ],
            id="a-number-that-is-no-index",
        ),
    ],
)
def test_rules_are_as_general_as_all_names_allow(rename: Rename, expected: list[str]) -> None:
    """Numbers and common ends become stars where no pair of names contradicts it."""
    found = suggest_map(model(same), model(rename))
    assert rules(found) == expected
    assert found.is_complete


def test_narrow_rules_go_before_general_ones() -> None:
    """The first rule that fits decides, so `layers.*` may stand behind `layers.*.attn`."""

    def nested(layers: str, attention: str) -> Trace:
        random = np.random.default_rng(7)
        called = [f"{layers}.{i}{end}" for i in range(3) for end in (f".{attention}", "")]
        outputs = [[tensor(f"{name}.out", random.normal(size=99))] for name in called]
        events = [event("r", state={"training": [layers, *called]})]
        for name, output in zip(called, outputs, strict=True):
            events.append(event(name, None, name, outputs=output))
        return chain(*events)

    left, right = nested("layers", "attn"), nested("blocks", "attention")
    found = suggest_map(left, right)
    assert rules(found) == [
        "layers.*.attn.* -> blocks.*.attention.*",
        "layers.*.attn -> blocks.*.attention",
        "layers.* -> blocks.*",
        "layers -> blocks",
    ]
    assert found.is_complete
    name_map = NameMap(tuple(suggested.rule for suggested in found.rules))
    compared = diff_traces(left, right, DiffOptions(name_map=name_map))
    assert compared.outcome is Outcome.EQUAL


@pytest.mark.parametrize(
    ("noise", "level", "evidence"),
    [
        pytest.param(0.0, "sketch", {"digest", "value"}, id="equal-tensors"),
        pytest.param(1e-5, "sketch", {"distance", "value"}, id="near-tensors-by-sketch"),
        pytest.param(1e-5, "values", {"distance", "value"}, id="near-tensors-by-values"),
        pytest.param(1e-5, "digest", {"shape", "value"}, id="only-shape-and-order"),
        pytest.param(9.0, "sketch", {"shape", "value"}, id="far-tensors"),
    ],
)
def test_evidence(noise: float, level: str, evidence: set[str]) -> None:
    """Each pair says what it rests on, the strongest that there is."""
    found = suggest_map(model(same, level=level), model(onnx, noise=noise, level=level))
    assert {pair.evidence for rule in found.rules for pair in rule.pairs} == evidence
    assert found.is_complete


def test_a_proposal_makes_the_traces_comparable() -> None:
    """Applied as proposed, the rules line everything up and none is unused."""
    left, right = model(same), model(onnx)
    name_map = NameMap(tuple(suggested.rule for suggested in suggest_map(left, right).rules))
    found = diff_traces(left, right, DiffOptions(name_map=name_map))
    assert found.outcome is Outcome.EQUAL
    assert (found.warnings, found.unused_rules) == ((), ())


def test_what_has_no_counterpart_is_listed() -> None:
    """Events that one side alone has stay unmatched, and no rule fits them."""
    found = suggest_map(model(same, extra=2), model(onnx))
    assert not found.is_complete
    assert found.pairing.only_left["event"] == ("extra.0", "extra.1")
    assert found.pairing.only_right["event"] == ()


@pytest.mark.parametrize(
    "order", [(1, 2, 0), (2, 1, 0), (2, 0, 1)], ids=["first-last", "reversed", "last-first"]
)
def test_equal_tensors_are_paired_in_any_order(order: tuple[int, ...]) -> None:
    """Parallel branches may be called in another order: what they hold says which is which."""
    parts = "qkv"

    def branches(prefix: str, called: tuple[int, ...]) -> Trace:
        events = [event("r", state={"n": 1})]
        for part in called:
            name = f"{prefix}.{parts[part]}"
            output = tensor(f"{name}.o", np.full(6, part + 1, np.float32))
            events.append(event(name, None, name, outputs=[output]))
        return chain(*events)

    found = suggest_map(branches("l", (0, 1, 2)), branches("m", order))
    assert found.is_complete
    pairs = {(p.left, p.right) for p in found.pairing.pairs if p.kind == "event" and "." in p.left}
    assert pairs == {("l.q", "m.q"), ("l.k", "m.k"), ("l.v", "m.v")}
    assert {p.evidence for p in found.pairing.pairs if p.left.endswith(".o")} == {"digest"}


def test_a_name_of_both_sides_is_not_paired_with_another() -> None:
    """Two modules whose outputs are swapped keep their names: that is a fault, not a renaming."""
    outputs = [tensor("o", np.full(6, value, np.float32)) for value in (1, 2)]

    def named(*values: int) -> Trace:
        events = [
            event(name, None, name, outputs=[outputs[v]])
            for name, v in zip(("l.q", "l.k"), values, strict=True)
        ]
        return chain(event("r", state={"n": 1}), *events)

    assert rules(suggest_map(named(0, 1), named(1, 0))) == []


def test_an_extra_module_does_not_shift_the_others() -> None:
    """Without equal tensors the order decides, with gaps where a shape fits nothing."""
    left, right = model(same, level="digest"), model(onnx, noise=1e-5, level="digest")
    odd = event("odd", "e3", "inserted", outputs=[tensor("odd.out", np.ones(7, np.float32))])
    events = [*right.events[:5], odd, *right.events[5:]]
    found = suggest_map(left, chain(*events))
    assert found.pairing.only_right["event"] == ("inserted",)
    assert all(onnx(pair.left) == pair.right for rule in found.rules for pair in rule.pairs)


def test_a_name_that_no_rule_can_spell_stays_unmatched() -> None:
    """Names come from anyone: one with an arrow or a star must not become another rule."""
    found = suggest_map(model(same), model(lambda name: f"{name} -> *"))
    assert found.rules == ()
    assert not found.is_complete


def network(root: str, prefix: str, *, wrapped: bool = False) -> Trace:
    """Return a trace as `record_module` makes it: the root is called by its class."""
    x, y = (np.random.default_rng(seed).normal(size=40).astype(np.float32) for seed in (1, 2))
    weights = {f"{prefix}fc.{key}": f"float32[4] b3:{key}" for key in ("weight", "bias")}
    inner = event(
        *("e4", None, "module.called"), component="module", outputs=[tensor("module.output", y)]
    )
    return chain(
        event("e0", None, "module.loaded", component=root, artifacts=weights),
        event("e1", None, "module.entered", component=root, inputs=[tensor("x", x)]),
        event(
            *("e2", None, "module.called"),
            component=f"{prefix}fc",
            outputs=[tensor(f"{prefix}fc.output", y)],
        ),
        *([inner] if wrapped else []),
        event("e5", None, "module.called", component=root, outputs=[tensor("output", y)]),
    )


@pytest.mark.parametrize(
    ("right", "expected"),
    [
        pytest.param(network("Other", ""), ["Net -> Other"], id="another-class"),
        pytest.param(
            network("DataParallel", "module.", wrapped=True),
            ["fc.* -> module.fc.*", "Net -> DataParallel", "fc -> module.fc"],
            id="wrapped",
        ),
    ],
)
def test_root_and_parameters_are_mapped(right: Trace, expected: list[str]) -> None:
    """What a model consists of and what it reads pair its root, which gives nothing of its own."""
    left = network("Net", "")
    found = suggest_map(left, right)
    assert rules(found) == expected
    assert found.pairing.only_left == {"event": (), "tensor": (), "key": ()}
    if len(left.events) == len(right.events):
        options = DiffOptions(name_map=NameMap(tuple(one.rule for one in found.rules)))
        assert diff_traces(left, right, options).outcome is Outcome.EQUAL
