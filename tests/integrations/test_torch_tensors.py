"""Tensors of every layout and type: recorded as numpy records them, or refused by name."""

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install 'tracediff[torch]'")

from tracediff import Recorder  # noqa: E402
from tracediff.errors import UsageError  # noqa: E402
from tracediff.integrations.torch_tensors import record_tensor, snapshot_plain  # noqa: E402
from tracediff.recording.flat_tensor import BLOCK  # noqa: E402
from tracediff.recording.levels import parse_level  # noqa: E402
from tracediff.recording.recordable import Snapshot, Summarised  # noqa: E402
from tracediff.recording.sinks import MemorySink  # noqa: E402
from tracediff.recording.summary import summarise_tensor  # noqa: E402

pytestmark = pytest.mark.torch

SKETCH = parse_level("sketch")


def records(tensor: Any, level: str = "sketch") -> dict[str, Any]:
    """Return the records of a tensor called x, by name."""
    sink = MemorySink()
    with Recorder(sink, tensors=level) as recorder:
        recorder.event("a", "b", outputs=dict(record_tensor("x", tensor, parse_level(level))))
    found = sink.trace("run").events[0].payload["outputs"]
    return {record["name"]: record for record in found}


def counted(*shape: int) -> Any:
    return torch.arange(float(np.prod(shape))).reshape(shape) + 0.5


@pytest.mark.parametrize("level", ["digest", "sketch", "values"])
@pytest.mark.parametrize(
    "tensor",
    [
        pytest.param(counted(3, 100), id="contiguous"),
        pytest.param(counted(100, 3).T, id="transposed"),
        pytest.param(counted(4, 200)[1:3, ::2], id="strided-view"),
        pytest.param(counted(1, 100).expand(5, 100), id="expanded"),
        pytest.param(counted(3, 100).requires_grad_(), id="gradients"),
        pytest.param(counted(2, BLOCK), id="large"),
        pytest.param(counted(2, BLOCK).T, id="large-transposed"),
        pytest.param(torch.zeros(0, 3), id="empty"),
        pytest.param(torch.tensor(2.5), id="scalar"),
        pytest.param(counted(80).to(torch.float16), id="float16"),
        pytest.param(counted(80).double(), id="float64"),
        pytest.param(torch.complex(counted(80), -counted(80)), id="complex"),
        pytest.param(torch.complex(counted(80), -counted(80)).conj(), id="conjugate"),
        pytest.param(counted(80) > 3, id="bool"),
    ],
)
def test_like_numpy(tensor: Any, level: str) -> None:
    """Digest, statistics, values and sketch are those of the same array, to the bit."""
    array = tensor.detach().resolve_conj().numpy()
    alone = summarise_tensor(array, level=level)
    record = records(tensor, level)["x"]
    assert (record["dtype"], tuple(record["shape"])) == (alone.dtype, alone.shape)
    assert (record["digest"], record["stats"]) == (alone.digest, alone.stats)
    if alone.sketch is not None and "sketch" in record:
        assert tuple(record["sketch"]) == alone.sketch


@pytest.mark.parametrize(
    ("dtype", "bits"),
    [
        pytest.param(torch.bfloat16, torch.uint16, id="bfloat16"),
        pytest.param(torch.float8_e4m3fn, torch.uint8, id="float8_e4m3fn"),
        pytest.param(torch.float8_e5m2, torch.uint8, id="float8_e5m2"),
    ],
)
@pytest.mark.parametrize("size", [100, BLOCK + 7])
def test_types_that_numpy_lacks(dtype: Any, bits: Any, size: int) -> None:
    """They are recorded by their bits, under their own name."""
    tensor = torch.linspace(0.5, 2, size).to(dtype)
    name = str(dtype).removeprefix("torch.")
    alone = summarise_tensor(tensor.view(bits).numpy(), dtype=name)
    record = records(tensor)["x"]
    assert (record["dtype"], record["digest"]) == (name, alone.digest)
    assert record["stats"] == alone.stats


@pytest.mark.parametrize(
    ("layout", "names"),
    [
        pytest.param(torch.sparse_coo, {"x.indices", "x.values"}, id="coordinates"),
        pytest.param(torch.sparse_csr, {"x.crow_indices", "x.col_indices", "x.values"}, id="rows"),
    ],
)
@pytest.mark.filterwarnings("ignore:Sparse CSR:UserWarning")
def test_sparse_tensors_are_their_parts(layout: Any, names: set[str]) -> None:
    """A sparse tensor is recorded as what it holds."""
    assert set(records(torch.eye(3).to_sparse(layout=layout))) == names


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_quantised_tensors_are_their_parts() -> None:
    """A quantised tensor is recorded as integers, scale and zero point."""
    tensor = torch.quantize_per_tensor(torch.tensor([0.5, 1.0]), 0.5, 3, torch.qint8)
    found = records(tensor)
    assert found["x.int_repr"]["values"] == [4, 5]
    assert found["x.scale"]["values"] == [0.5]
    assert found["x.zero_point"]["values"] == [3]


@pytest.mark.parametrize(
    ("tensor", "reason"),
    [
        pytest.param(torch.zeros(3, device="meta"), "meta device", id="meta"),
        pytest.param(
            torch.zeros(3).to(torch.float8_e4m3fnuz), "no such element type", id="unknown-type"
        ),
    ],
)
def test_what_holds_no_numbers_is_refused(tensor: Any, reason: str) -> None:
    """One sentence says which tensor, why, and what to do."""
    with pytest.raises(UsageError, match=rf"cannot record x .*{reason}.*include="):
        dict(record_tensor("x", tensor, SKETCH))


def test_nested_tensors_are_their_parts() -> None:
    """A tensor of tensors is recorded by its parts."""
    with pytest.warns(UserWarning, match="nested"):
        nested = torch.nested.nested_tensor([torch.zeros(2), torch.ones(3)])
    found = {}
    for name, record in record_tensor("x", nested, SKETCH):
        assert isinstance(record, Snapshot)
        found[name] = record.array.tolist()
    assert found == {"x[0]": [0.0, 0.0], "x[1]": [1.0, 1.0, 1.0]}


@pytest.mark.parametrize("size", [100, BLOCK + 1])
def test_later_changes_do_not_matter(size: int) -> None:
    """What was recorded is the tensor as it was."""
    tensor = torch.ones(size)
    before = summarise_tensor(tensor.numpy()).digest
    recorded = dict(record_tensor("x", tensor, SKETCH))
    tensor.add_(1)
    sink = MemorySink()
    with Recorder(sink) as recorder:
        recorder.event("a", "b", outputs=recorded)
    assert sink.trace("run").events[0].payload["outputs"][0]["digest"] == before


@pytest.mark.parametrize("size", [100, BLOCK + 1])
def test_a_record_is_used_again_only_for_the_same_bytes(size: int) -> None:
    """What stood for a tensor before stands for it again if nothing changed, and not else."""
    tensor = torch.ones(size)
    (known,) = dict(record_tensor("x", tensor, SKETCH)).values()
    assert dict(record_tensor("x", tensor, SKETCH, known=known))["x"] is known
    tensor.data[3] = 2
    assert dict(record_tensor("x", tensor, SKETCH, known=known))["x"] is not known


@pytest.mark.parametrize(
    ("tensor", "is_plain"),
    [
        pytest.param(counted(3, 5), True, id="float32"),
        pytest.param(counted(3, 5).T, True, id="transposed"),
        pytest.param(counted(BLOCK + 1), False, id="large"),
        pytest.param(counted(3).half(), False, id="float16"),
        pytest.param(torch.eye(3).to_sparse(), False, id="sparse"),
        pytest.param(torch.zeros(3, device="meta"), False, id="meta"),
    ],
)
def test_the_short_way_gives_the_same(tensor: Any, is_plain: bool) -> None:
    """The usual small tensor is recorded as by the long way, and nothing else is."""
    found = snapshot_plain(tensor, SKETCH)
    assert (found is not None) is is_plain
    if found is not None:
        (other,) = dict(record_tensor("x", tensor, SKETCH)).values()
        assert isinstance(other, Snapshot | Summarised)
        assert isinstance(other, Snapshot)
        assert found.array.tobytes() == other.array.tobytes()
        assert found.array.flags.c_contiguous
