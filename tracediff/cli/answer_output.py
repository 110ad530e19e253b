"""What `record` and `import sse` print of an answer, and their exit status."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from tracediff.cli.exits import ExitStatus
from tracediff.cli.output import open_console, print_json, print_problem
from tracediff.contracts import check_trace
from tracediff.render.data import check_to_json
from tracediff.render.run_summary import RunSummary, print_run
from tracediff.storage import read_trace
from tracediff.storage.names import partial_path

if TYPE_CHECKING:
    from tracediff.streaming.record import Recorded

FORMAT = "tracediff-record/1"


def finish_recording(
    recorded: Recorded, source: str, path: Path, existed: bool, *, as_json: bool
) -> NoReturn:
    """Print what was recorded of `source` and leave with the status.

    0: the answer is whole and keeps its contract, 1: a rule is broken, 2: the answer is not whole.
    `existed` says whether there was a trace at `path` before, which an incomplete one leaves.
    """
    if recorded.incomplete is not None:
        _tell_incomplete(recorded, source, path, existed, as_json=as_json)
        raise typer.Exit(ExitStatus.COULD_NOT_SAY)
    report = check_trace(read_trace(path))
    headline, facts = _facts(recorded)
    if as_json:
        found = {"format": FORMAT, "path": str(path), "outcome": "complete", "result": headline}
        print_json({**found, **facts, "contract": check_to_json(report)})
    else:
        api = recorded.request.artifacts["api"]
        print_run(RunSummary(api, str(path), headline, facts, {}, report), open_console())
    raise typer.Exit(ExitStatus.DIVERGED if report.violations else ExitStatus.SAME)


def _tell_incomplete(
    recorded: Recorded, source: str, path: Path, existed: bool, *, as_json: bool
) -> None:
    incomplete = recorded.incomplete
    assert incomplete is not None
    partial = partial_path(path)
    older = f"; {path} is of an earlier recording" if existed else ""
    print_problem(
        f"{source} is incomplete at {incomplete}; what was read is in {partial}, which compares as "
        f"incomplete{older}"
    )
    if as_json:
        place = {"byte": incomplete.byte, "events": incomplete.events}
        found = {"format": FORMAT, "path": str(partial), "outcome": "incomplete"}
        print_json({**found, "reason": incomplete.reason, **place})


def _facts(recorded: Recorded) -> tuple[str, dict[str, Any]]:
    """Return the answer's first text, and what else a user wants to know of it."""
    from tracediff.streaming.message import assemble, finish_of

    assembly = recorded.assembly
    messages = [assemble(assembly, choice) for choice in assembly.choices]
    facts: dict[str, Any] = {}
    if assembly.failure is not None:
        failure = assembly.failure
        facts["error"] = " ".join(filter(None, (failure.type, failure.code, failure.message)))
    if recorded.given_up:
        facts["tries"] = recorded.given_up
    missing = "none" if assembly.failure is None else "error"
    finishes = [str(finish_of(assembly, c, recorded.request) or missing) for c in assembly.choices]
    facts["finish"] = ", ".join(finishes) or missing
    calls = [call for message in messages for call in message.get("tool_calls", ())]
    if calls:
        facts["tool_calls"] = [f"{call['name']} {call['arguments']}" for call in calls]
    if assembly.usage:
        facts["usage"] = dict(sorted(assembly.usage.items()))
    refusals = [message["refusal"] for message in messages if message.get("refusal")]
    if refusals:
        facts = {"refusal": refusals[0], **facts}
    texts = [message.get("text", "") for message in messages]
    return (texts[0] if texts and isinstance(texts[0], str) else ""), facts
