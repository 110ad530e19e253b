"""A model that several threads use while `record_generate` records it."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tracediff.contracts import check_trace
from tracediff.errors import UsageError
from tracediff.storage import read_trace

runs = pytest.importorskip("generation_runs", reason="needs transformers and torch")
torch = pytest.importorskip("torch", reason="needs torch")

pytestmark = [
    pytest.mark.transformers,
    pytest.mark.filterwarnings("ignore"),  # of other packages
]

IDS = torch.tensor(runs.PROMPT)


def during_a_recording(model: Any, path: Path, meanwhile: Callable[[], Any], **extent: Any) -> Any:
    """Record a generation, in whose second pass another thread does something; return both."""
    found, calls = [], iter(range(100))

    def do(*_: Any) -> None:
        if threading.current_thread() is threading.main_thread() and next(calls) == 1:
            found.append(executor.submit(meanwhile).exception() or "no exception")

    handle = model.lm_head.register_forward_pre_hook(do)
    with ThreadPoolExecutor(1) as executor:
        output = runs.record_generate(model, IDS, runs.greedy(4), recorder=path, **extent)
    handle.remove()
    return output, found[0]


def test_second_recording_of_a_model_is_refused(tmp_path: Path) -> None:
    """A model is recorded once at a time; the first recording and the model do not suffer."""
    model, first, second = runs.llama(), tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    plain = model.generate(IDS, generation_config=runs.greedy(4))
    output, error = during_a_recording(
        model,
        first,
        lambda: runs.record_generate(model, IDS, runs.greedy(4), recorder=second),
    )
    assert isinstance(error, UsageError)
    assert "being recorded already" in str(error)
    assert torch.equal(output, plain)
    assert check_trace(read_trace(first)).violations == ()
    assert [*tmp_path.iterdir()] == [first]
    assert torch.equal(model.generate(IDS, generation_config=runs.greedy(4)), plain)
    again = runs.record(model, IDS, runs.greedy(4))
    assert [e.event_type for e in again.events] == [e.event_type for e in read_trace(first).events]


def test_generation_of_another_thread_passes_by(tmp_path: Path) -> None:
    """What another thread generates meanwhile is neither hurt nor recorded."""
    # transformers 4 collects hidden states of all threads, so none are asked for.
    model, alone = runs.llama(), tmp_path / "alone.jsonl"
    runs.record_generate(model, IDS, runs.greedy(4), recorder=alone, layers=False)
    config = runs.greedy(6, repetition_penalty=1.5)
    _, error = during_a_recording(
        model,
        tmp_path / "beside.jsonl",
        lambda: model.generate(IDS[:, :5], generation_config=config),
        layers=False,
    )
    assert error == "no exception"
    assert alone.read_bytes() == (tmp_path / "beside.jsonl").read_bytes()
