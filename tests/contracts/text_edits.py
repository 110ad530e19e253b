"""Edits of recorded text traces that keep everything else in step with what they change."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from text_runs import run
from trace_building import changed, tensor
from trace_edits import Edit, payload_of, put

from tracediff.contracts import check_trace
from tracediff.events import Trace
from tracediff.workloads.run import run_fixture

Row = tuple[str, str | None, str, Edit]
"""Rule, event that is reported (None: the whole trace), name of the fault, edit of a true run."""

OTHER_DIGEST = "b3:" + "0" * 32


def labelled(rows: list[Row]) -> list[Any]:
    """Return rows as parameters: rule, event, edit."""
    return [
        pytest.param(rule, event, edit, id=f"{rule}-{name}") for rule, event, name, edit in rows
    ]


def broken(trace: Trace) -> set[tuple[str, str | None]]:
    """Return the broken rules, with the events where they break."""
    return {(violation.rule, violation.event_id) for violation in check_trace(trace).violations}


def broken_rules(trace: Trace) -> set[str]:
    """Return the names of the broken rules."""
    return {rule for rule, _ in broken(trace)}


def put_step(event_id: str, step: int) -> Edit:
    """Return an edit that sets the logical step of an event."""
    return lambda trace: replace(
        trace,
        events=tuple(
            replace(event, logical_step=step) if event.event_id == event_id else event
            for event in trace.events
        ),
    )


def put_header(**values: Any) -> Edit:
    """Return an edit that sets keys of the root's `trace` section."""
    return put("e00", "trace", **values)


def put_numbers(event_id: str, section: str, name: str, numbers: Mapping[int, float]) -> Edit:
    """Return an edit that sets numbers of a kept tensor by index, its whole record with them."""

    def edit(trace: Trace) -> Trace:
        records = payload_of(trace, event_id)[section]
        edited = [_renumbered(r, numbers) if r["name"] == name else r for r in records]
        return changed(trace, event_id, **{section: edited})

    return edit


def _renumbered(record: Mapping[str, Any], numbers: Mapping[int, float]) -> dict[str, Any]:
    array = np.array(record["values"], np.float32)
    array[list(numbers)] = list(numbers.values())
    return tensor(record["name"], array.reshape(record["shape"]), **record["logical"])


def reshaped(event_id: str, name: str, shape: list[int]) -> Edit:
    """Return an edit that gives an output another shape; its numbers are no longer kept."""

    def edit(trace: Trace) -> Trace:
        records = payload_of(trace, event_id)["outputs"]
        kept = [{k: v for k, v in r.items() if k != "values"} for r in records]
        edited = [
            {**new, "shape": shape, "digest": OTHER_DIGEST} if old["name"] == name else old
            for old, new in zip(records, kept, strict=True)
        ]
        return changed(trace, event_id, outputs=edited)

    return edit


def without_logits() -> Trace:
    """Return the main line with digests only, so that choices cannot be held against logits."""
    return run_fixture("text-001", tensors="digest")


def choosing(old: int, new: int) -> Edit:
    """Return an edit by which `new` was chosen wherever `old` was, and decoded after it."""

    def edit(trace: Trace) -> Trace:
        for event in trace.events:
            sections = {
                section: {key: _exchanged(key, value, old, new) for key, value in content.items()}
                for section, content in event.payload.items()
                if section in ("state", "choice")
            }
            trace = changed(trace, event.event_id, **sections)
        return trace

    return edit


def _exchanged(key: str, value: Any, old: int, new: int) -> Any:
    if key not in ("token_id", "chosen_ids", "input_ids", "top"):
        return value
    if isinstance(value, list):
        return [_exchanged(key, item, old, new) for item in value]
    return new if type(value) is int and value == old else value


def disguised(overrides: Mapping[str, Any]) -> Trace:
    """Return a run with overrides that its header denies."""
    return put_header(overrides={})(run(overrides))
