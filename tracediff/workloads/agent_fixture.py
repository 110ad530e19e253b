"""agent-001 as a workload: its settings, and what a run of it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tracediff.engine.kernels import Kernel
from tracediff.recording.recorder import Recorder
from tracediff.workloads.agent import run_agent
from tracediff.workloads.agent_history import History
from tracediff.workloads.chat_model import ChatVocabulary
from tracediff.workloads.definitions import Definition, read_definition
from tracediff.workloads.settings import integer, text
from tracediff.workloads.workload import RunResult, Workload

SETTINGS = (
    text("request", "the user's text; the vocabulary must cover it"),
    integer("max_turns", 1, 100, "end after so many calls of the model"),
    integer("max_turn_tokens", 1, 1000, "stop one call of the model after so many tokens"),
    integer("budget_tokens", 1, 1_000_000, "end before all calls read and write more tokens"),
    integer("context_window", 1, 4096, "positions that a prompt and its turn share"),
    integer("repeats_allowed", 0, 100, "end when one call was repeated more often than this"),
)


def _validate(definition: Definition, settings: Mapping[str, Any]) -> None:
    """Raise TokenizerError where the vocabulary does not cover the request."""
    model = read_definition(definition.folder.parent / definition.content["model_of"])
    history = History(definition.content["instruction"], settings["request"])
    history.prompt(ChatVocabulary(model.content))


def _run(
    definition: Definition,
    settings: Mapping[str, Any],
    kernel: Kernel,
    recorder: Recorder,
    on_text: Callable[[str], None],
    injection: str | None,
) -> RunResult:
    result = run_agent(definition, settings, kernel, recorder, on_text)
    return RunResult(
        result.answer or f"no answer: {result.stop}",
        {"stop": str(result.stop), "turns": result.turns, "total_tokens": result.total_tokens},
    )


WORKLOAD = Workload("agent-001", _run, SETTINGS, validate=_validate, event_prefix="a")
