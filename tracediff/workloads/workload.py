"""What every workload is to those who run it.

Knows the pieces of a run. Must not know any one workload.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tracediff.engine.kernels import Kernel
from tracediff.events import Tolerances
from tracediff.recording.recorder import Recorder
from tracediff.workloads.definitions import Definition
from tracediff.workloads.settings import Setting


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run returned: one line for people, and facts by name.

    `attachments` are files to keep beside the trace: the end of the file's name (`png`) -> content.
    """

    headline: str
    facts: Mapping[str, Any]
    attachments: Mapping[str, bytes] = field(default_factory=dict)


Run = Callable[
    [Definition, Mapping[str, Any], Kernel, Recorder, Callable[[str], None], str | None], RunResult
]
"""Runs a fixture: definition, settings, kernel, recorder, what to do with text, injection."""


@dataclass(frozen=True, slots=True)
class Workload:
    """One fixture: its settings, the injections it knows, and the function that runs it.

    `validate` raises for settings that are allowed one by one and impossible together, before
    anything is recorded. Event ids start with `event_prefix`. `nan_tensors` are globs of tensors in
    which NaN is meant to be: a golden with NaN in any other fails the gate.
    """

    name: str
    run: Run
    settings: Sequence[Setting]
    injections: Sequence[str] = ()
    tolerances: Tolerances = Tolerances()
    validate: Callable[[Definition, Mapping[str, Any]], object] = lambda definition, settings: None
    event_prefix: str = "e"
    nan_tensors: Sequence[str] = ()
