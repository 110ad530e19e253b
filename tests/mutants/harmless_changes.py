"""Changes that must not count: each gives a trace that is equal, some of them within tolerance."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from mutants.ddim_faults import two_numbers
from mutants.faulty_runs import Exchange, by, faulty
from mutants.graph_edits import bit, with_section, with_values
from mutants.image_faults import picture
from mutants.mutant import Harmless
from mutants.tool_faults import tool_call
from text_runs import main_line, sampled_run
from trace_building import event, trace, with_payload
from trace_edits import Edit, put

from tracediff.diff import DiffOptions
from tracediff.events import Event, Trace
from tracediff.storage import encode_event, read_trace, write_trace
from tracediff.workloads.run import run_fixture

CHILD = (
    "import sys, tracediff; tracediff.write_trace(tracediff.run_fixture(sys.argv[1]), sys.argv[2])"
)
ENVIRONMENT = {
    "OMP_NUM_THREADS": "3",
    "OPENBLAS_NUM_THREADS": "3",
    "PYTHONHASHSEED": "4711",
    "TZ": "Pacific/Kiritimati",
}


def in_another_environment() -> Trace:
    """Return the main line as a child process with other threads, hash seed and zone records it."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "run.jsonl")
        command = [sys.executable, "-c", CHILD, "text-001", str(path)]
        subprocess.run(command, env={**os.environ, **ENVIRONMENT}, check=True)
        return read_trace(path)


def through_file(name: str, spell: Callable[[list[bytes]], bytes] | None = None) -> Trace:
    """Return the main line read from a file, its lines spelled otherwise."""
    with TemporaryDirectory() as folder:
        path = Path(folder, name)
        if spell is None:
            write_trace(main_line(), path)
        else:
            path.write_bytes(spell([encode_event(event) for event in main_line().events]))
        return read_trace(path)


def with_other_ids(found: Trace) -> Trace:
    """Return the trace with every event id, and the trace id, spelled otherwise."""
    names: dict[str | None, str | None] = {None: None}
    names |= {event.event_id: f"x{n:04}" for n, event in enumerate(found.events)}

    def rename(event: Event) -> Event:
        return replace(
            event,
            trace_id="another",
            event_id=str(names[event.event_id]),
            parent_event_id=names[event.parent_event_id],
        )

    return replace(found, events=tuple(rename(event) for event in found.events))


def with_other_call_ids(found: Trace) -> Trace:
    """Return the trace with all local ids spelled otherwise."""

    def spell(value: Any) -> Any:
        return [spell(item) for item in value] if isinstance(value, list) else f"other-{value}"

    def rename(event: Event) -> Event:
        ids = event.payload.get("ids", {})
        return with_payload(event, ids={key: spell(value) for key, value in ids.items()} or None)

    return replace(found, events=tuple(rename(event) for event in found.events))


def reversed_lines(found: Trace) -> Trace:
    """Return the trace with children before their parents; the last event stays the last."""
    return replace(found, events=(*reversed(found.events[:-1]), found.events[-1]))


def reversed_keys(value: Any) -> Any:
    """Return a JSON value whose objects have their keys in the opposite order."""
    if isinstance(value, Mapping):
        return {key: reversed_keys(value[key]) for key in reversed(list(value))}
    return [reversed_keys(item) for item in value] if isinstance(value, list) else value


def with_reversed_keys(found: Trace) -> Trace:
    """Return the trace with the keys of every object in the opposite order."""
    events = [replace(e, payload=reversed_keys(e.payload)) for e in found.events]
    return replace(found, events=tuple(events))


def with_private_keys(found: Trace) -> Trace:
    """Return the trace with private keys wherever they are allowed."""

    def add(event: Event) -> Event:
        held = {
            section: [{**record, "x-host": "a"} for record in event.payload[section]]
            for section in ("inputs", "rng", "outputs")
            if section in event.payload
        }
        if "trace" in event.payload:
            held["trace"] = {**event.payload["trace"], "x-host": "a"}
        return with_payload(event, **held, **{"x-thread": 7})

    return replace(found, events=tuple(add(event) for event in found.events))


def with_notes(found: Trace) -> Trace:
    """Return the trace with a note at every event."""
    return replace(found, events=tuple(with_payload(e, note="seen") for e in found.events))


def tied_top(order: list[int]) -> Trace:
    """Return a trace whose list of best tokens holds two equal values, in this order of ids."""
    top = [[token, -1.0606343] for token in order]
    return trace([event("r", state={"n": 1}), event("s", "r", choice={"token_id": 5, "top": top})])


def parallel_calls(prefix: str, order: str) -> Trace:
    """Return a trace of parallel calls of one type and step, and their results."""
    calls = [
        event(f"c{n}", "r", "call", ids={"call": prefix + n}, state={"tool": n}) for n in order
    ]
    results = [
        event(f"a{n}", "r", "result", ids={"call": prefix + n}, choice={"value": n})
        for n in reversed(order)
    ]
    return trace([event("r"), *calls, *results])


def twins(order: str) -> Trace:
    """Return a trace of siblings that differ only in what follows from them."""
    parts = [
        (event(f"p{n}", "r", "part"), event(f"q{n}", f"p{n}", "end", choice={"v": n}))
        for n in order
    ]
    return trace([event("r", state={"n": 0}), *(e for pair in parts for e in pair)])


def _edited(name: str, edit: Edit, golden: Callable[[], Trace] = main_line) -> Harmless:
    return Harmless(name, golden, lambda: edit(golden()))


def _run(name: str, *exchanges: Exchange, exactly: bool = True, **overrides: Any) -> Harmless:
    run = faulty("text-001", *exchanges, overrides=overrides)
    return Harmless(name, main_line, run, exactly)


def _added_mask(query: Any, cache: Any, positions: Any, kernel: Any) -> Any:
    from tracediff.engine.attention import repeat_heads

    keys = repeat_heads(cache.key, query.shape[1])
    scores = kernel.matmul(query, keys.transpose(0, 1, 3, 2)) * np.float32(0.5)
    later = cache.positions[None, :] > positions[:, None]
    return scores + np.where(later, np.float32(-np.inf), np.float32(0))


def _tiled(x: Any, heads: int) -> Any:
    return np.tile(x, (1, heads // x.shape[1], 1, 1))


HARMLESS = (
    Harmless("run-again", main_line, lambda: run_fixture("text-001")),
    Harmless("kernel-blas", main_line, lambda: run_fixture("text-001", kernel="blas"), False),
    Harmless("kernel-float64", main_line, lambda: run_fixture("text-001", kernel="float64"), False),
    Harmless(
        "picture-blas",
        picture,
        lambda: run_fixture("image-001", kernel="blas"),
        exactly=False,
        options=DiffOptions(level="pixel"),
    ),
    Harmless("tool-call-again", tool_call, lambda: run_fixture("tool-001")),
    Harmless("tool-call-blas", tool_call, lambda: run_fixture("tool-001", kernel="blas"), False),
    _edited("tool-call-ids", with_other_call_ids, tool_call),
    _edited("tool-call-lines-reversed", reversed_lines, tool_call),
    Harmless("threads-hash-seed-zone", main_line, in_another_environment),
    _run("cache-switched-off", kv_cache=False),
    _run("larger-limit", max_output_tokens=100),
    _run("stop-sequence-that-never-comes", stop_sequences=["zebra"]),
    _run("unused-seed", seed=5),
    _run("mask-added", by("tracediff.engine.decoder:attention_scores", _added_mask)),
    _run("one-key-head-tiled", by("tracediff.engine.attention:repeat_heads", _tiled)),
    Harmless("values-kept", main_line, faulty("text-001", tensors="values")),
    Harmless("digests-only", main_line, faulty("text-001", tensors="digest")),
    Harmless("tensors-in-files", main_line, faulty("text-001", tensors="full")),
    _edited("event-ids", with_other_ids),
    _edited("request-id", put("e00", "ids", request_id="another")),
    _edited("lines-reversed", reversed_lines),
    _edited("keys-reversed", with_reversed_keys),
    _edited("notes", with_notes),
    _edited("private-keys", with_private_keys),
    _edited("private-keys-of-draws", with_private_keys, sampled_run),
    _edited("context", with_section("e04", context={"batch_size": 8, "device": "gpu"})),
    _edited("setting", put("e00", "settings", context_window=65)),
    _edited("setting-of-two-numbers", put("d00", "settings", epsilons=[]), two_numbers),
    Harmless(
        "lowest-bit",
        main_line,
        lambda: with_values("e08", "next_logits", bit((0, 3), 0))(main_line()),
        exactly=False,
    ),
    Harmless("written-and-read", main_line, lambda: through_file("run.jsonl")),
    Harmless("compressed", main_line, lambda: through_file("run.jsonl.gz")),
    Harmless(
        "windows-line-ends",
        main_line,
        lambda: through_file("a.jsonl", lambda lines: b"".join(x.strip() + b"\r\n" for x in lines)),
    ),
    Harmless(
        "byte-order-mark",
        main_line,
        lambda: through_file("a.jsonl", lambda lines: b"\xef\xbb\xbf" + _joined(lines)),
    ),
    Harmless(
        "line-written-twice",
        main_line,
        lambda: through_file("a.jsonl", lambda lines: _joined([*lines[:3], *lines[2:]])),
    ),
    Harmless("order-of-tied-tokens", lambda: tied_top([5, 9]), lambda: tied_top([9, 5])),
    Harmless(
        "arrival-and-call-ids",
        lambda: parallel_calls("a", "wtx"),
        lambda: parallel_calls("b", "xwt"),
    ),
    Harmless("siblings-exchanged", lambda: twins("123"), lambda: twins("312")),
)


def _joined(lines: list[bytes]) -> bytes:
    return b"".join(line.strip() + b"\n" for line in lines)
