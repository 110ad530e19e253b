"""agent-001: a model that calls a tool until it answers, or until something else stops it.

The loop of a decoder one level up: what a turn returns becomes what the next one reads. Drives
engine and tool, and tells a recorder. Must not know files or the command line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tracediff.engine.kernels import Kernel
from tracediff.recording.recorder import Recorder
from tracediff.toolcalls.parse import parse_arguments
from tracediff.toolcalls.rejection import Rejection
from tracediff.workloads.agent_events import AgentTrail
from tracediff.workloads.agent_history import History, Round, spell
from tracediff.workloads.chat_model import load_chat_model
from tracediff.workloads.definitions import Definition
from tracediff.workloads.tool_model import CallEnd, Prefill, Prompt, generate_proposal, prefill


class AgentStop(StrEnum):
    """Why a loop ended."""

    FINAL_ANSWER = "final_answer"
    MAX_TURNS = "max_turns"
    BUDGET = "budget"
    REPEATED_CALL = "repeated_call"
    CONTEXT_WINDOW = "context_window"
    TRUNCATED = "truncated"


@dataclass(frozen=True, slots=True)
class AgentResult:
    """How a loop ended: why, with which answer (None without one), after how many turns."""

    stop: AgentStop
    answer: str | None
    turns: int
    total_tokens: int


def run_agent(
    definition: Definition,
    settings: Mapping[str, Any],
    kernel: Kernel,
    recorder: Recorder,
    on_text: Callable[[str], None] = lambda text: None,
) -> AgentResult:
    """Run the fixture and tell `recorder` every event; `on_text` gets the answer.

    Raises TokenizerError where the vocabulary does not cover the request.
    """
    loop = _AgentLoop(definition, settings, kernel, recorder)
    stop = loop.run()
    result = loop.close(stop)
    on_text(result.answer or "")
    return result


def action_schema(definition: Definition) -> dict[str, Any]:
    """Return the schema of what the model may write: look at an option, or answer with one."""
    content = definition.content
    names = content["actions"]
    return {
        "type": "object",
        "properties": {
            "action": {"enum": [names["look"], names["answer"]]},
            content["option"]: {"enum": list(content["world"])},
        },
        "required": ["action", content["option"]],
    }


class _AgentLoop:
    """One loop: its history, its cache, what it has spent, and which calls it has made."""

    def __init__(
        self,
        definition: Definition,
        settings: Mapping[str, Any],
        kernel: Kernel,
        recorder: Recorder,
    ) -> None:
        content = definition.content
        self._definition = definition
        self._settings = settings
        self._model = load_chat_model(content["model_of"], kernel)
        self._schema = action_schema(definition)
        self._grammar = self._model.vocabulary.grammar(self._schema)
        self._trail = AgentTrail(recorder)
        self._history = History(content["instruction"], settings["request"])
        self._last: Prefill | None = None
        self._calls = 0
        self._spent = 0
        self._made: list[str] = []
        self._answer: str | None = None

    def run(self) -> AgentStop:
        """Take turns until one of them, or a limit before it, ends the loop."""
        self._trail.started(self._definition, self._model, self._schema, self._settings)
        while self._trail.turn < self._settings["max_turns"]:
            self._trail.turn += 1
            prompt = self._make_room()
            stop = self._limit_before(prompt) or self._take_turn(prompt)
            if stop is not None:
                return stop
        return AgentStop.MAX_TURNS

    def close(self, stop: AgentStop) -> AgentResult:
        """Record the end; return the result."""
        choice = {
            "stop_reason": stop,
            "turns": self._calls,
            "answer": self._answer,
            "total_tokens": self._spent,
        }
        self._trail.finished(choice)
        return AgentResult(stop, self._answer, self._calls, self._spent)

    def _make_room(self) -> Prompt:
        """Return the turn's prompt; drop the oldest rounds while it leaves no room for a turn."""
        history, vocabulary = self._history, self._model.vocabulary
        prompt = before = history.prompt(vocabulary)
        while not self._has_room(prompt) and history.rounds:
            history = history.compact()
            prompt = history.prompt(vocabulary)
        if history is not self._history:
            self._trail.compacted(len(before.ids), len(prompt.ids), history)
            self._history = history
        return prompt

    def _has_room(self, prompt: Prompt) -> bool:
        window: int = self._settings["context_window"]
        room: int = self._settings["max_turn_tokens"]
        return len(prompt.ids) + room <= window

    def _limit_before(self, prompt: Prompt) -> AgentStop | None:
        if not self._has_room(prompt):
            return AgentStop.CONTEXT_WINDOW
        # Every call is billed for all that it reads, so the history is paid for in each turn.
        most = self._spent + len(prompt.ids) + self._settings["max_turn_tokens"]
        return AgentStop.BUDGET if most > self._settings["budget_tokens"] else None

    def _take_turn(self, prompt: Prompt) -> AgentStop | None:
        call = prefill(self._model.decoder, prompt, self._last)
        self._last = call
        self._calls += 1
        self._trail.model_started(call)
        limit = self._settings["max_turn_tokens"]
        vocabulary = self._model.vocabulary
        proposal = generate_proposal(self._model.decoder, vocabulary, call, self._grammar, limit)
        self._spent += len(prompt.ids) + len(proposal.steps)
        self._trail.generated(proposal)
        if proposal.end is not CallEnd.PROPOSAL_COMPLETE:
            # Never repaired and never executed, even where the text so far happens to be JSON.
            self._trail.rejected(AgentStop.TRUNCATED, proposal.text)
            return AgentStop.TRUNCATED
        action = parse_arguments(proposal.text.encode())
        assert not isinstance(action, Rejection), "the grammar allows JSON only"
        return self._act(action, proposal.text)

    def _act(self, action: Mapping[str, Any], text: str) -> AgentStop | None:
        content = self._definition.content
        option = action[content["option"]]
        if action["action"] == content["actions"]["answer"]:
            self._trail.accepted(action)
            self._answer = option
            return AgentStop.FINAL_ANSWER
        if self._made.count(text) > self._settings["repeats_allowed"]:
            self._trail.rejected(AgentStop.REPEATED_CALL, text)
            return AgentStop.REPEATED_CALL
        self._trail.accepted(action)
        self._made.append(text)
        result = spell({"status": content["world"][option]})
        self._trail.returned(action, result)
        self._history = self._history.add(Round(text, option, result))
        return None
