"""Parameters and buffers are identified, and a change is located."""

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install 'tracediff[torch]'")

from tracediff import Recorder, Trace, diff_traces  # noqa: E402
from tracediff.integrations.torch_modules import record_module  # noqa: E402
from tracediff.integrations.torch_parameters import identify_parameters  # noqa: E402
from tracediff.recording.sinks import MemorySink  # noqa: E402

pytestmark = pytest.mark.torch


def build() -> Any:
    torch.manual_seed(1)
    layers = [torch.nn.Conv2d(2, 3, 2), torch.nn.BatchNorm2d(3), torch.nn.Linear(4, 5)]
    return torch.nn.Sequential(*layers).eval()


def record(edit: Callable[[Any], None]) -> Trace:
    model, sink = build(), MemorySink()
    with torch.no_grad():
        edit(model)
    with Recorder(sink) as recorder, record_module(model, recorder):
        model[2](torch.zeros(1, 4, dtype=model[2].weight.dtype))
    return sink.trace("run")


def set_element(*index: int) -> Callable[[Any], None]:
    def edit(model: Any) -> None:
        model[0].weight[index] = 9.0

    return edit


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        pytest.param(set_element(2, 1, 0, 1), "0.weight is another one: only its element "
                     "[2, 1, 0, 1] differs", id="element-of-four-axes"),
        pytest.param(set_element(0, 0, 0, 0), "only its element [0, 0, 0, 0] differs", id="first"),
        pytest.param(lambda m: m[2].bias.__setitem__(3, -1.0), "2.bias is another one: only its "
                     "element [3] differs", id="element-of-a-vector"),
        pytest.param(lambda m: m[2].weight.__setitem__(1, 0.0), "only its row 1 differs", id="row"),
        pytest.param(lambda m: m[1].running_mean.add_(1.0), "1.running_mean is another one",
                     id="buffer"),
        pytest.param(lambda m: m[1].num_batches_tracked.add_(2), "only its element [] differs",
                     id="a-number"),
        pytest.param(lambda m: m[2].half(), "2.weight is float32 on the left and float16",
                     id="dtype"),
        pytest.param(lambda m: m[2].weight.neg_(), "2.weight is another one", id="all"),
    ],
)  # fmt: skip
def test_changes_are_located(edit: Callable[[Any], None], says: str) -> None:
    """The cause names the parameter, and the element or the row where only that changed."""
    found = diff_traces(record(lambda model: None), record(edit))
    assert found.cause is not None
    assert says in found.cause.explanation


def test_shared_parameters_have_all_their_names() -> None:
    """Tied weights are listed under each name, with one identity."""
    model = build()
    model.append(torch.nn.Linear(4, 5))
    model[3].weight = model[2].weight
    identities, _ = identify_parameters(model)
    assert identities["2.weight"] == identities["3.weight"]


def test_views_do_not_matter() -> None:
    """The identity is that of the content: a transposed view has that of its copy."""
    model = torch.nn.Linear(4, 5)
    plain, _ = identify_parameters(model)
    model.weight = torch.nn.Parameter(model.weight.detach().T.contiguous().T)
    assert identify_parameters(model)[0] == plain
