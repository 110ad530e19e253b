"""Goldens held against fresh runs of the fixtures that recorded them.

Knows which goldens there are and which are missing, and runs them again. Must not write goldens.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tracediff.comparison.listing import find_traces, refuse_odd_file
from tracediff.comparison.processes import OnDone, spread_work, tell_nobody
from tracediff.diff import Outcome, TraceDiff
from tracediff.errors import StorageError, TracediffError, TraceError, UsageError
from tracediff.gate.gated import MISSING, Gated
from tracediff.gate.recipes import (
    NoFixture,
    describe_recipe,
    is_covered,
    read_recipe,
    required_recipes,
)
from tracediff.gate.rules import GateRules, compare_with_golden
from tracediff.storage import TraceWriter
from tracediff.workloads.run import RunRequest, record_fixture


@dataclass(frozen=True, slots=True)
class _Rerun:
    """A golden to be made again, or for the first time; the new trace goes to `new`."""

    golden: Path
    recipe: RunRequest
    new: Path


def gate_fixtures(
    folder: Path,
    staging: Path,
    rules: GateRules | None = None,
    *,
    fixtures: Sequence[str] = (),
    create: bool = False,
    jobs: int | None = None,
    on_done: OnDone = tell_nobody,
) -> list[Gated]:
    """Run the fixture of every golden in `folder` again, as its header says, and compare.

    The new traces are written to `staging`, an empty folder. A golden that cannot be read or that
    no fixture recorded, and a fixture or branch without a golden, are results that are no pass;
    with `create` the latter are run too. `fixtures` narrows it to these. Raises UsageError where
    no golden says which fixtures are meant and none is named, and for an unknown fixture.
    """
    goldens = find_goldens(folder, "--fixture NAME", may_lack=create and bool(fixtures))
    required = dict(required_recipes(fixtures))
    results: list[Gated] = []
    reruns: list[_Rerun] = []
    for path in goldens.values():
        recipe = _read(path)
        if isinstance(recipe, Gated):
            if not fixtures or recipe.diff.outcome is not Outcome.NOTHING_COMPARED:
                results.append(recipe)
        elif not fixtures or recipe.fixture in fixtures:
            reruns.append(_Rerun(path, recipe, staging / path.relative_to(folder)))
    if not fixtures and not reruns:
        _refuse_own(folder, [result.golden for result in results])
    unreadable = [result.golden for result in results]
    recorded = [rerun.recipe for rerun in reruns]
    for name, recipe in required.items():
        path = goldens.get(name, folder / f"{name}.jsonl")
        if path in unreadable or is_covered(recipe, recorded):
            continue
        if create and name not in goldens:
            reruns.append(_Rerun(path, recipe, staging / path.name))
        else:
            results.append(_missing(path, recipe))
    run = partial(_run_again, rules or GateRules())
    found = spread_work(run, reruns, jobs=jobs, on_done=on_done)
    return sorted([*found, *results], key=lambda result: result.golden)


def find_goldens(folder: Path, option: str, *, may_lack: bool) -> Mapping[str, Path]:
    """Return the goldens of a folder by name; raise UsageError where there is none.

    With `may_lack` there need not be any, nor the folder. `option` is what an update that makes
    them needs to be told.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; gate takes the folder that holds the goldens")
    goldens = find_traces(folder) if folder.exists() else {}
    if not goldens and not may_lack:
        what = "holds no golden (a trace ending in .jsonl)" if folder.exists() else "does not exist"
        command = f"tracediff gate {shlex.quote(str(folder))} {option} --update"
        raise UsageError(f"{folder} {what}; `{command}` makes goldens")
    return goldens


def _refuse_own(folder: Path, goldens: Sequence[Path]) -> None:
    """Raise UsageError where goldens are traces of the user's own, which nothing can run again."""
    if any(_is_own(golden) for golden in goldens):
        raise UsageError(
            f"no fixture recorded a golden in {folder}, so none can be run again; traces of your "
            f"own are gated by `tracediff gate {shlex.quote(str(folder))} --new FOLDER`"
        )


def _is_own(golden: Path) -> bool:
    try:
        refuse_odd_file(golden)
        read_recipe(golden)
    except NoFixture:
        return True
    except TracediffError:
        return False
    return False


def _read(path: Path) -> RunRequest | Gated:
    """Return how a golden was recorded, or the result that says why nobody knows."""
    try:
        refuse_odd_file(path)
        return read_recipe(path)
    except TraceError as error:
        outcome, message = Outcome(error.outcome), str(error)
    except StorageError as error:
        outcome, message = Outcome.UNREADABLE, str(error)
    except UsageError as error:
        outcome, message = Outcome.NOTHING_COMPARED, str(error)
    return Gated(path, None, TraceDiff(outcome, str(path), MISSING, message=message))


def _missing(path: Path, recipe: RunRequest) -> Gated:
    """Return the result for a fixture or branch without a golden."""
    what = describe_recipe(recipe)
    message = f"there is no golden of {what}; --update makes it"
    if path.exists():
        message = f"there is no golden of {what}, and {path} is one of another run: rename that"
    diff = TraceDiff(Outcome.NOTHING_COMPARED, str(path), MISSING, message=message)
    return Gated(path, None, diff)


def _run_again(rules: GateRules, rerun: _Rerun) -> Gated:
    """Make a golden again and compare; a run that fails is a result too."""
    what = describe_recipe(rerun.recipe)
    try:
        rerun.new.parent.mkdir(parents=True, exist_ok=True)
        record_fixture(rerun.recipe, lambda: TraceWriter(rerun.new))
    except Exception as error:
        reason = str(error) if isinstance(error, TracediffError) else repr(error)
        message = f"the fresh run of {what} failed: {reason}"
        diff = TraceDiff(Outcome.NOTHING_COMPARED, str(rerun.golden), MISSING, message=message)
        return Gated(rerun.golden, None, diff)
    if not rerun.golden.exists():
        return Gated(rerun.golden, rerun.new, _missing(rerun.golden, rerun.recipe).diff)
    diff = compare_with_golden(rerun.golden, rerun.new, rules, f"fresh run of {what}")
    return Gated(rerun.golden, rerun.new, diff)
