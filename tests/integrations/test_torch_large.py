"""Tensors beyond a block: summarised while the model waits, by compiled loops if there are any."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install 'tracediff[torch]'")

from tracediff import Outcome, Recorder, diff_traces  # noqa: E402
from tracediff.events import Trace  # noqa: E402
from tracediff.events.tensors import tensor_from_json  # noqa: E402
from tracediff.integrations import torch_calls, torch_modules  # noqa: E402
from tracediff.integrations.torch_modules import record_module  # noqa: E402
from tracediff.recording.flat_tensor import BLOCK  # noqa: E402
from tracediff.storage import read_trace  # noqa: E402

pytestmark = pytest.mark.torch

WIDTH = BLOCK + 5


class Wide(torch.nn.Module):
    """A layer with a large result, which may then be changed in place, and one that is a tuple."""

    def __init__(self, changes: bool) -> None:
        super().__init__()
        self.wide = torch.nn.Linear(4, WIDTH)
        self.kept = Pair()
        self.changes = changes

    def forward(self, x: Any) -> Any:
        wide = self.wide(x)
        given, _ = self.kept(wide)
        return wide.mul_(2) if self.changes else given


class Pair(torch.nn.Module):
    """Gives what it is given, and None, as attention without weights does."""

    def forward(self, x: Any) -> tuple[Any, None]:
        return x, None


def recorded(path: Path, *, changes: bool = False, level: str = "sketch", **options: Any) -> Trace:
    """Return the trace of one call, read from the file."""
    torch.manual_seed(1)
    model = Wide(changes)
    with (
        torch.no_grad(),
        Recorder(path, tensors=level) as recorder,
        record_module(model, recorder, **options),
    ):
        model(torch.ones(1, 4))
    return read_trace(path)


@pytest.mark.parametrize("inputs", [True, False])
def test_full_tensor_is_the_one_of_the_event(tmp_path: Path, inputs: bool) -> None:
    """What is kept as a file is what the module gave, not what became of it in place."""
    trace = recorded(tmp_path / "a.jsonl", changes=True, level="full", inputs=inputs)
    found = {}
    for event in trace.events:
        for record in event.payload.get("outputs", ()):
            array = trace.tensors.load(tensor_from_json(record))  # type: ignore[union-attr]
            assert array is not None
            assert float(array.max()) == pytest.approx(record["stats"]["max"])
            found[record["name"]] = float(array.max())
    assert found["output"] == 2 * found["wide.output"] == 2 * found["kept.output"]


@pytest.mark.parametrize("inputs", [True, False])
def test_what_is_passed_on_is_one_record(tmp_path: Path, inputs: bool) -> None:
    """A result that is given again, alone or beside None, has its own name and the same record."""
    trace = recorded(tmp_path / "a.jsonl", inputs=inputs)
    records = [r for event in trace.events for r in event.payload.get("outputs", ())]
    assert [record["name"] for record in records] == ["wide.output", "kept.output", "output"]
    assert len({record["digest"] for record in records}) == 1
    assert all(record["sketch"] == records[0]["sketch"] for record in records)


@pytest.mark.parametrize("size", [100, BLOCK + 1])
def test_flushed_numbers_near_zero(tmp_path: Path, size: int) -> None:
    """A thread that takes numbers near zero for zero records them as they are, and says so."""
    tiny, traces = torch.full((size,), 1e-40), []
    for flushes in (False, True):
        path = tmp_path / f"{flushes}.jsonl"
        model = torch.nn.Identity()
        torch.set_flush_denormal(flushes)
        try:
            with torch.no_grad(), Recorder(path) as recorder, record_module(model, recorder):
                model(tiny)
        finally:
            torch.set_flush_denormal(False)
        traces.append(read_trace(path))
    found = diff_traces(*traces)
    assert found.outcome is Outcome.EQUAL
    assert [difference.field for difference in found.context] == ["payload.context.arithmetic"]


@pytest.mark.fast
@pytest.mark.skipif(
    importlib.util.find_spec("numba") is None, reason="needs numba: pip install 'tracediff[fast]'"
)
@pytest.mark.parametrize("level", ["digest", "sketch", "values"])
def test_compiled_loops_change_no_byte(
    tmp_path: Path, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trace with numba is the trace without it."""
    recorded(tmp_path / "with.jsonl", level=level)
    for module in (torch_calls, torch_modules):
        monkeypatch.setattr(module, "load_kernels", lambda: None)
    recorded(tmp_path / "without.jsonl", level=level)
    assert (tmp_path / "with.jsonl").read_bytes() == (tmp_path / "without.jsonl").read_bytes()
