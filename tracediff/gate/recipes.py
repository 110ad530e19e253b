"""How a golden was recorded, read from its header, and which goldens there have to be.

Knows headers and fixtures. Must not run anything.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tracediff.errors import IncompleteTrace, Place, UsageError
from tracediff.storage import read_events
from tracediff.storage.names import PARTIAL
from tracediff.workloads.fixtures import WORKLOADS
from tracediff.workloads.run import RunRequest, find_workload

PLAIN: Final = RunRequest("")
LONGEST_VALUE: Final = 60
"""Characters of an override that a label shows."""


class NoFixture(UsageError):
    """A trace of the user's own, which no fixture recorded."""


def read_recipe(path: Path) -> RunRequest:
    """Return how the trace at `path` was recorded.

    Raises NoFixture where no fixture recorded it, UsageError for an unknown one, StorageError and
    TraceError where it cannot be read.
    """
    if path.name.endswith(PARTIAL):
        raise IncompleteTrace(Place(str(path)), "a recording that was not finished; remove it")
    for located in read_events(path):
        if located.event.parent_event_id is not None:
            continue
        header = located.event.payload.get("trace", {})
        if "fixture" not in header:
            raise NoFixture(
                f"{Place(str(path), located.line)}: no fixture recorded it, so it cannot be run "
                "again; `tracediff gate --new FOLDER` holds traces of your own against goldens"
            )
        recipe = RunRequest(
            header["fixture"],
            header.get("overrides", {}),
            header.get("injection"),
            header.get("kernel", PLAIN.kernel),
            header.get("tensors", PLAIN.tensors),
        )
        try:
            find_workload(recipe.fixture)
        except UsageError as error:
            raise UsageError(f"{Place(str(path), located.line)}: {error}") from None
        return recipe
    raise UsageError(f"{path}: it has no root event, so nothing says how it was recorded")


def describe_recipe(recipe: RunRequest) -> str:
    """Return `text-001 (max_output_tokens=3, kernel blas)`: the fixture and what is special."""
    special = [f"{key}={_spelled(value)}" for key, value in recipe.overrides.items()]
    if recipe.injection is not None:
        special.append(f"injection {recipe.injection}")
    special += [
        f"{name} {value}"
        for name, value, usual in (
            ("kernel", recipe.kernel, PLAIN.kernel),
            ("tensors", recipe.tensors, PLAIN.tensors),
        )
        if value != usual
    ]
    return f"{recipe.fixture} ({', '.join(special)})" if special else recipe.fixture


def required_recipes(fixtures: Sequence[str]) -> Iterator[tuple[str, RunRequest]]:
    """Yield name and recipe of the goldens that there have to be: each fixture and its branches.

    Of all fixtures where none is named. Raises UsageError for an unknown one.
    """
    for fixture in fixtures or WORKLOADS:
        for injection in (None, *find_workload(fixture).injections):
            name = fixture if injection is None else f"{fixture}.{injection}"
            yield name, RunRequest(fixture, {}, injection)


def is_covered(required: RunRequest, recorded: Sequence[RunRequest]) -> bool:
    """Whether one of the recorded recipes is the required one, with any kernel and level."""
    return any(
        (recipe.fixture, recipe.injection) == (required.fixture, required.injection)
        and not recipe.overrides
        for recipe in recorded
    )


def _spelled(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"
