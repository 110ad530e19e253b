"""Goldens held against new traces of the user's own, paired by name.

Knows two folders. Must not know fixtures.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tracediff.comparison.folders import WORTH_PROCESSES
from tracediff.comparison.listing import find_traces
from tracediff.comparison.processes import OnDone, spread_work, tell_nobody
from tracediff.diff import Outcome, TraceDiff
from tracediff.errors import UsageError
from tracediff.gate.gated import MISSING, Gated
from tracediff.gate.rerun import find_goldens
from tracediff.gate.rules import GateRules, compare_with_golden
from tracediff.storage.names import PARTIAL


@dataclass(frozen=True, slots=True)
class _Pair:
    """A golden, or where it would be, and the new trace of its name."""

    golden: Path
    is_there: bool
    new: Path | None


def gate_recorded(
    folder: Path,
    new: Path,
    rules: GateRules | None = None,
    *,
    create: bool = False,
    jobs: int | None = None,
    on_done: OnDone = tell_nobody,
) -> list[Gated]:
    """Compare every golden in `folder` with the trace of its name in the folder `new`.

    A trace that lacks its counterpart diverges. Raises UsageError where a folder holds no trace
    (with `create`, goldens may lack), and where both are the same folder or one is in the other.
    """
    goldens = find_goldens(folder, f"--new {shlex.quote(str(new))}", may_lack=create)
    _check_apart(folder, new)
    traces = find_traces(new)
    if not traces:
        raise UsageError(f"{new} holds no trace (a file ending in .jsonl), so nothing is compared")
    pairs = []
    for name in sorted({*goldens, *traces}):
        # Where the golden is missing it would be called what the new trace is called.
        golden = goldens.get(name) or folder / traces[name].relative_to(new)
        pairs.append(_Pair(golden, name in goldens, traces.get(name)))
    few = len(pairs) < WORTH_PROCESSES
    hold = partial(_hold, rules or GateRules())
    return spread_work(hold, pairs, jobs=1 if few else jobs, on_done=on_done)


def _check_apart(folder: Path, new: Path) -> None:
    if not new.is_dir():
        raise UsageError(f"{new} is no folder; --new takes the folder that holds the new traces")
    mine, other = folder.resolve(), new.resolve()
    if mine == other or mine in other.parents or other in mine.parents:
        raise UsageError(f"goldens ({folder}) and new traces ({new}) have to be in folders apart")


def _hold(rules: GateRules, pair: _Pair) -> Gated:
    golden, new = pair.golden, pair.new
    if new is None:
        message = "there is no new trace of this name"
        diff = TraceDiff(Outcome.DIVERGED, str(golden), MISSING, message=message)
        return Gated(golden, None, diff)
    if pair.is_there:
        return Gated(golden, new, compare_with_golden(golden, new, rules, str(new)))
    if new.name.endswith(PARTIAL):
        message = "a recording that was not finished; run it again, or remove it"
        return Gated(golden, new, TraceDiff(Outcome.INCOMPLETE, MISSING, str(new), message=message))
    message = "there is no golden of this name; --update makes it"
    return Gated(golden, new, TraceDiff(Outcome.DIVERGED, MISSING, str(new), message=message))
