"""An ONNX export against its PyTorch source: both recorded under the same names, and compared."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch")
onnx = pytest.importorskip("onnx", reason="needs the extra onnx")
pytest.importorskip("onnxruntime", reason="needs the extra onnx")
pytest.importorskip("onnxscript", reason="needs onnxscript, with which torch exports")

from onnx_models import options  # noqa: E402
from torch import nn  # noqa: E402

from tracediff.comparison import diff_files  # noqa: E402
from tracediff.contracts.check import check_trace  # noqa: E402
from tracediff.diff import Outcome  # noqa: E402
from tracediff.errors import UsageError  # noqa: E402
from tracediff.integrations.onnx_session import record_session  # noqa: E402
from tracediff.integrations.onnx_source import record_export  # noqa: E402
from tracediff.storage import read_trace  # noqa: E402

pytestmark = [
    pytest.mark.onnx,
    pytest.mark.filterwarnings("ignore"),  # of other packages
]

WIDTH = 16


class Composed(nn.Module):  # type: ignore[misc,name-defined]
    """Modules by name, and how they are called."""

    def __init__(self, run: Callable[..., Any], **parts: Any) -> None:
        super().__init__()
        self.run = run
        for name, part in parts.items():
            self.add_module(name, part)

    def forward(self, x: Any) -> Any:
        return self.run(self, x)


def linear(width: int = WIDTH) -> Any:
    return nn.Linear(WIDTH, width)


def numbers(*shape: int) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def residual() -> Any:
    return Composed(lambda m, x: m.norm(x + m.lin(x)), lin=linear(), norm=nn.LayerNorm(WIDTH))


def scaled() -> Any:
    return Composed(lambda m, x: m.lin2(m.lin(x) * 2), lin=linear(), lin2=linear())


def encoder() -> Any:
    layer = nn.TransformerEncoderLayer(WIDTH, 2, 32, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


def shared() -> Any:
    return Composed(lambda m, x: m.lin(m.act(m.lin(x))), lin=linear(), act=nn.ReLU())


def shared_in_a_row() -> Any:
    lin = linear()
    return Composed(lambda m, x: m.same(m.lin(m.lin(x))), lin=lin, same=nn.Sequential(lin))


def recurrent() -> Any:
    def run(m: Any, x: Any) -> Any:
        y, state = m.gru(x)
        return m.lin(y), state

    return Composed(run, gru=nn.GRU(WIDTH, WIDTH, batch_first=True), lin=linear(4))


def long_short() -> Any:
    def run(m: Any, x: Any) -> Any:
        y, (hidden, cell) = m.lstm(x)
        return m.lin(y), hidden, cell

    return Composed(run, lstm=nn.LSTM(WIDTH, WIDTH, batch_first=True), lin=linear(4))


def convolution() -> Any:
    parts = {"conv": nn.Conv2d(3, 8, 3), "norm": nn.BatchNorm2d(8), "act": nn.ReLU()}
    network = Composed(lambda m, x: m.act(m.norm(m.conv(x))), **parts)
    network.norm.running_mean += 0.5
    return network


def embedding() -> Any:
    mlp = nn.Sequential(linear(8), nn.GELU(), nn.Linear(8, 4))
    return Composed(lambda m, ids: m.mlp(m.table(ids).mean(1)), table=nn.Embedding(9, 16), mlp=mlp)


def dictionary() -> Any:
    return Composed(lambda m, x: {"b": m.two(x), "a": m.one(x)}, one=linear(), two=linear())


def low_precision() -> Any:
    """The CPU has few operators for bfloat16: only what arrives and the result are such."""
    return Composed(lambda m, x: m.lin(x.float()).bfloat16(), lin=linear())


def split() -> Any:
    def run(m: Any, x: Any) -> Any:
        left, right = m.lin(x).split(WIDTH // 2, -1)  # the exporter notes nothing at the Split
        return m.norm(left) + right

    return Composed(run, lin=linear(), norm=nn.LayerNorm(WIDTH // 2))


def merged() -> Any:
    return Composed(lambda m, x: m.lin(x) + m.lin(x).tanh(), lin=linear())


def merged_inside(*, as_modules: bool) -> Any:
    def run(m: Any, x: Any) -> Any:
        if as_modules:
            return m.two(m.one(x))
        function = nn.functional.linear
        return function(function(x, m.one.weight), m.two.weight)

    inner = Composed(run, one=linear(), two=linear())
    return Composed(lambda m, x: m.inner(x) + m.inner(x).tanh(), inner=inner)


X, PICTURE = numbers(2, 3, WIDTH), numbers(1, 3, 6, 6)
FEW, MANY = torch.arange(6).reshape(2, 3), torch.arange(90).reshape(2, 45) % 9
FIRST = "layers.1.linear1"

# What is built, what it is given, a parameter, where another value of it shows, what has no
# counterpart.
ORDINARY: dict[str, tuple[Callable[[], Any], Any, str, str, set[str]]] = {
    "residual-and-norm": (residual, X, "lin.weight", "lin", set()),
    "norm-after-a-sum": (residual, X, "norm.bias", "norm", set()),
    "computed-between-modules": (scaled, X, "lin2.weight", "lin2", set()),
    "encoder": (
        *(encoder, X, f"{FIRST}.weight", FIRST),
        {
            f"layers.{n}.{part}"
            for n in (0, 1)
            for part in ("self_attn.out_proj", *(f"dropout{k}.output" for k in ("", "1", "2")))
        },
    ),
    "attention": (
        lambda: nn.TransformerEncoderLayer(WIDTH, 2, 32, batch_first=True),
        *(X, "self_attn.in_proj_weight", "self_attn"),
        {"self_attn.out_proj", "dropout.output", "dropout1.output", "dropout2.output"},
    ),
    "linear-called-twice": (shared, X, "lin.bias", "lin", set()),
    "linear-called-by-two-paths": (shared_in_a_row, X, "lin.weight", "lin", set()),
    "tuple-of-results": (recurrent, X, "gru.weight_ih_l0", "gru", set()),
    "results-of-one-shape": (
        *(long_short, X, "lstm.weight_ih_l0", "lstm"),
        {"lstm.output[1][0]", "lstm.output[1][1]"},
    ),
    "batch-norm": (convolution, PICTURE, "norm.weight", "norm", {"conv.output"}),
    "fused-into-batch-norm": (convolution, PICTURE, "conv.weight", "norm", {"conv.output"}),
    "embedding-of-few": (embedding, FEW, "table.weight", "table", set()),
    "embedding-of-many": (embedding, MANY, "mlp.2.bias", "mlp.2", set()),
    "bfloat16": (low_precision, X.bfloat16(), "lin.weight", "lin", set()),
    "dictionary": (dictionary, X, "one.weight", "one", set()),
    "split-without-notes": (split, X, "lin.weight", "lin", set()),
    "merged-calls-of-two-modules": (
        *(lambda: merged_inside(as_modules=True), X, "inner.one.weight", "Composed"),
        {"inner.one.output", "inner.two.output", "inner.output"},
    ),
    "merged-calls-of-two-operations": (
        *(lambda: merged_inside(as_modules=False), X, "inner.one.weight", "Composed"),
        {"inner.one", "inner.two", "inner.output"},
    ),
    "calls-merged-by-the-exporter": (merged, X, "lin.weight", "Composed", {"lin.output"}),
}


def build(case: str) -> tuple[Any, Any]:
    """Return the network of a case and its export."""
    torch.manual_seed(0)
    make, x = ORDINARY[case][:2]
    network = make().eval()
    return network, torch.onnx.export(network, (x,), dynamo=True, verbose=False).model_proto


@pytest.mark.parametrize("case", ORDINARY)
def test_ordinary_network(case: str, tmp_path: Path) -> None:
    """A right export is equal within tolerance, a wrong one parts at the module; the rest is said.

    What is not compared stands in the trace of the export, and all else that the network gives is.
    """
    _, x, parameter, place, expected = ORDINARY[case]
    network, model = build(case)
    left, right = tmp_path / "torch.jsonl", tmp_path / "onnx.jsonl"
    left_out = record_export(network, (x,), model, left, right)
    assert set(left_out) == expected
    trace = read_trace(right)
    assert trace.root.payload["settings"]["not_compared"] == list(left_out)
    assert check_trace(trace).violations == ()
    compared = [r["name"] for e in trace.events for r in e.payload.get("outputs", ())]
    modules = [(p, m) for p, m in network.named_modules() if not isinstance(m, nn.ModuleList)]
    paths = {path for path, _ in modules if path}
    prefixes = [name.partition(".output")[0] for name in (*compared, *left_out)]
    assert paths <= set(prefixes)
    found = diff_files(left, right)
    assert found.outcome in (Outcome.EQUAL, Outcome.WITHIN_TOLERANCE)
    assert found.coverage.matched == len(trace.events)
    with torch.no_grad():
        network.get_parameter(parameter).view(-1)[3] += 0.25
    record_export(network, (x,), model, left, right)
    found = diff_files(left, right)
    assert found.outcome is Outcome.DIVERGED
    assert found.first is not None
    assert found.first.left is not None
    assert (found.first.left.component, found.first.check) == (place, "outputs")


def test_a_reader_without_notes_leaves_it_open(tmp_path: Path) -> None:
    """What a node of no known module reads may not be a module's last value: it is listed."""
    network, model = build("residual-and-norm")
    (add,) = [node for node in model.graph.node if node.output[0] == "add"]
    del add.metadata_props[:]
    left, right = tmp_path / "torch.jsonl", tmp_path / "onnx.jsonl"
    assert record_export(network, (X,), model, left, right) == ("lin.output",)
    assert diff_files(left, right).outcome in (Outcome.EQUAL, Outcome.WITHIN_TOLERANCE)


def test_fused_values_are_listed(tmp_path: Path) -> None:
    """With optimisation, values that ONNX Runtime fused into others are not compared, and said."""
    network, model = build("batch-norm")
    left, right = tmp_path / "torch.jsonl", tmp_path / "onnx.jsonl"
    args = (PICTURE,)
    fused = record_export(network, args, model, left, right, session_options=options("ENABLE_ALL"))
    assert set(fused) == {"conv.output", "norm.output"}
    found = diff_files(left, right)
    assert found.outcome in (Outcome.EQUAL, Outcome.WITHIN_TOLERANCE)
    assert found.coverage.matched == 4


def change_epsilon(model: Any) -> None:
    second = [node for node in model.graph.node if node.op_type == "LayerNormalization"][1]
    for attribute in second.attribute:
        if attribute.name == "epsilon":
            attribute.f = 1e-2


def test_broken_export(tmp_path: Path) -> None:
    """`tracediff diff` names a fault of the export by the module of the source."""
    network, model = build("encoder")
    change_epsilon(model)
    record_export(network, (X,), model, tmp_path / "torch.jsonl", tmp_path / "onnx.jsonl")
    done = subprocess.run(
        [sys.executable, "-m", "tracediff", "diff", "torch.jsonl", "onnx.jsonl"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "layers.0.norm2 module.called, step 0: outputs differ" in done.stdout


class Scaled(nn.Module):  # type: ignore[misc,name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.lin = linear()

    def forward(self, x: Any, scale: float = 1.0, *, first: Any = None, second: Any = None) -> Any:
        return self.lin(x * scale) + first - second


def test_arguments_by_name(tmp_path: Path) -> None:
    """Tensors reach the inputs of their names, in whatever order; a number is not compared."""
    network, (first, second) = Scaled().eval(), (numbers(WIDTH), numbers(WIDTH) + 1)
    given = {"first": first, "second": second}
    program = torch.onnx.export(network, (X, 2.0), kwargs=given, dynamo=True, verbose=False)
    left, right = tmp_path / "torch.jsonl", tmp_path / "onnx.jsonl"
    turned = {"second": second, "first": first}
    left_out = record_export(network, (X, 2.0), program.model_proto, left, right, kwargs=turned)
    assert left_out == ("scale",)
    assert diff_files(left, right).outcome in (Outcome.EQUAL, Outcome.WITHIN_TOLERANCE)


def without_notes(network: Any) -> Any:
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Relu", ["x"], ["y"])],
        "g",
        [onnx.helper.make_tensor_value_info("x", 1, None)],
        [onnx.helper.make_tensor_value_info("y", 1, None)],
    )
    opsets = [onnx.helper.make_opsetid("", 17)]
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8)


def other_results(network: Any) -> Any:
    return torch.onnx.export(recurrent().eval(), (X,), dynamo=True, verbose=False).model_proto


REFUSED: dict[str, tuple[Callable[[Any], Any], tuple[Any, ...], str]] = {
    "no-notes": (without_notes, (X,), "dynamo=True"),
    "other-results": (other_results, (X,), "those must be as many"),
    "other-inputs": (other_results, ({"a": X, "b": X},), "those must be as many"),
    "training": (lambda network: network.train() and b"", (X,), "call network.eval"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_paired_is_refused(case: str, tmp_path: Path) -> None:
    """A model that says nothing of modules, or is that of another network, leaves no trace."""
    make, args, message = REFUSED[case]
    network = residual().eval()
    if case == "other-inputs":
        network = Composed(lambda m, x: m.lin(x["a"] + x["b"]), lin=linear()).eval()
    with pytest.raises(UsageError, match=message):
        record_export(network, args, make(network), tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_numbers_are_those_of_torch(tmp_path: Path) -> None:
    """What `record_session` returns is the model's output."""
    network, model = build("residual-and-norm")
    found = record_session(model, {model.graph.input[0].name: X.numpy()}, tmp_path / "a.jsonl")
    with torch.no_grad():
        expected = network(X).numpy()
    np.testing.assert_allclose(next(iter(found.values())), expected, rtol=1e-5, atol=1e-5)


EXAMPLE = """\
import torch

from tracediff.integrations.onnx_source import record_export

x = torch.randn(2, 3, 16)
not_compared = record_export(network, (x,), "model.onnx", "torch.jsonl", "onnx.jsonl")
"""
"""The example of the documentation."""


def test_documented_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example writes two traces that `tracediff diff` compares as they are."""
    monkeypatch.chdir(tmp_path)
    network, model = build("encoder")
    onnx.save(model, "model.onnx")
    names: dict[str, Any] = {"network": network}
    assert EXAMPLE in (Path(__file__).parents[2] / "docs" / "onnx.md").read_text("utf-8")
    exec(compile(EXAMPLE, "example", "exec"), names)
    assert "layers.0.self_attn.out_proj" in names["not_compared"]
    assert diff_files(Path("torch.jsonl"), Path("onnx.jsonl")).outcome is Outcome.WITHIN_TOLERANCE
