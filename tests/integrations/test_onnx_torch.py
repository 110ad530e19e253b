"""An ONNX export against its PyTorch source: both recorded, and compared through a name map."""

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

from tracediff import Recorder  # noqa: E402
from tracediff.diff import Outcome, TraceDiff, diff_traces  # noqa: E402
from tracediff.diff.name_map import parse_name_map  # noqa: E402
from tracediff.diff.renaming import read_renamed  # noqa: E402
from tracediff.errors import UsageError  # noqa: E402
from tracediff.events import ToleranceRule, Tolerances  # noqa: E402
from tracediff.integrations.onnx_names import map_rules, module_values  # noqa: E402
from tracediff.integrations.onnx_session import record_session  # noqa: E402
from tracediff.integrations.torch_modules import record_module  # noqa: E402
from tracediff.storage import read_trace  # noqa: E402

pytestmark = [
    pytest.mark.onnx,
    pytest.mark.filterwarnings("ignore"),  # of other packages
]

WIDTH = 16
NUMERIC_PATHS = Tolerances((ToleranceRule("*", "allclose", rtol=1e-5, atol=1e-5, rel_l2=1e-5),))
"""Two libraries add up in other orders."""


class Block(torch.nn.Module):  # type: ignore[misc,name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.mlp = torch.nn.Sequential(
            torch.nn.Linear(WIDTH, 2 * WIDTH), torch.nn.GELU(), torch.nn.Linear(2 * WIDTH, WIDTH)
        )

    def forward(self, x: Any) -> Any:
        return x + self.mlp(self.norm(x))


class Network(torch.nn.Module):  # type: ignore[misc,name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block(), Block()])
        self.head = torch.nn.Linear(WIDTH, 5)

    def forward(self, x: Any) -> Any:
        for block in self.blocks:
            x = block(x)
        return self.head(x)


@pytest.fixture(scope="module")
def network() -> Any:
    torch.manual_seed(0)
    return Network().eval()


@pytest.fixture(scope="module")
def x() -> Any:
    return torch.randn(2, 3, WIDTH, generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope="module")
def exported(network: Any, x: Any) -> Any:
    program = torch.onnx.export(network, (x,), dynamo=True, verbose=False)
    return program.model_proto


def record_both(network: Any, model: Any, x: Any, folder: Path) -> tuple[Path, Path]:
    """Record the network and its export, each only where the other has a counterpart."""
    named = module_values(model)
    paths = folder / "torch.jsonl", folder / "onnx.jsonl"
    with (
        Recorder(paths[0], tolerances=NUMERIC_PATHS) as recorder,
        record_module(network, recorder, include=["", *named], parameters=False),
        torch.no_grad(),
    ):
        network(x)
    record_session(
        model,
        {model.graph.input[0].name: x.numpy()},
        paths[1],
        include=list(named.values()),
        joins=False,
        parameters=False,
    )
    return paths


def compare(network: Any, model: Any, x: Any, folder: Path) -> TraceDiff:
    """Record both, and compare the network with its export through the rules of the export."""
    left, right = map(read_trace, record_both(network, model, x, folder))
    renamed = read_renamed(left, right, parse_name_map(map_rules(model, "Network"), "rules"))
    assert renamed.warnings == ()
    assert renamed.unused_rules == ()
    return diff_traces(left, renamed.right)


def test_command_line(network: Any, exported: Any, x: Any, tmp_path: Path) -> None:
    """`tracediff diff --map` takes the rules of the export."""
    record_both(network, exported, x, tmp_path)
    (tmp_path / "names.map").write_text(map_rules(exported, "Network"), "utf-8")
    command = ["diff", "torch.jsonl", "onnx.jsonl", "--map", "names.map"]
    done = subprocess.run(
        [sys.executable, "-m", "tracediff", *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("EQUAL WITHIN TOLERANCE")


def test_module_values_are_those_of_the_exporter(exported: Any) -> None:
    """Every module that gives a value of its own is named with it, the innermost of equals."""
    found = module_values(exported)
    blocks = (
        f"blocks.{index}{part}"
        for index in (0, 1)
        for part in (".norm", ".mlp.0", ".mlp.1", ".mlp.2", "")
    )
    assert list(found) == [*blocks, "head"]
    assert len(set(found.values())) == len(found)


def test_export_agrees_with_its_source(network: Any, exported: Any, x: Any, tmp_path: Path) -> None:
    """Module by module the export gives what the network gives, within tolerance."""
    found = compare(network, exported, x, tmp_path)
    assert found.outcome is Outcome.WITHIN_TOLERANCE
    assert (found.coverage.only_left, found.coverage.only_right) == (0, 0)
    assert found.coverage.matched == 14


def change_bias(model: Any) -> None:
    for held in model.graph.initializer:
        if held.name == "blocks.1.mlp.0.bias":
            array = onnx.numpy_helper.to_array(held).copy()
            array[7] += 0.125
            held.CopyFrom(onnx.numpy_helper.from_array(array, held.name))


def change_epsilon(model: Any) -> None:
    second = [node for node in model.graph.node if node.op_type == "LayerNormalization"][1]
    for attribute in second.attribute:
        if attribute.name == "epsilon":
            attribute.f = 1e-2


BROKEN: dict[str, tuple[Callable[[Any], None], str]] = {
    "bias": (change_bias, "blocks.1.mlp.0"),
    "epsilon": (change_epsilon, "blocks.1.norm"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_broken_export_is_named_by_its_module(
    fault: str, network: Any, exported: Any, x: Any, tmp_path: Path
) -> None:
    """A fault of the export is named by the module of the source whose value it changes first."""
    change, module = BROKEN[fault]
    model = onnx.ModelProto()
    model.CopyFrom(exported)
    change(model)
    found = compare(network, model, x, tmp_path)
    assert found.outcome is Outcome.DIVERGED
    assert found.first is not None
    assert found.first.left is not None
    assert found.first.left.component == module
    assert found.first.check == "outputs"


def test_a_model_without_notes_is_refused() -> None:
    """A model that no exporter of torch made says nothing of modules."""
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "g", [], [])
    with pytest.raises(UsageError, match="dynamo=True"):
        module_values(onnx.helper.make_model(graph))


def test_numbers_are_those_of_torch(network: Any, exported: Any, x: Any, tmp_path: Path) -> None:
    """What `record_session` returns is the model's output."""
    name = exported.graph.input[0].name
    found = record_session(exported, {name: x.numpy()}, tmp_path / "a.jsonl")
    with torch.no_grad():
        expected = network(x).numpy()
    np.testing.assert_allclose(next(iter(found.values())), expected, rtol=1e-5, atol=1e-5)
