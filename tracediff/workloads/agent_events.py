"""The events of the agent loop: what each turn read, generated, did and was told, and the end.

Knows what the loop computed. Must not decide anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracediff.engine.kernels import record_float32
from tracediff.events.canonical_json import json_digest
from tracediff.recording.recordable import Tensor
from tracediff.recording.recorder import Recorder
from tracediff.workloads.agent_history import History
from tracediff.workloads.chat_model import TEMPLATE, ChatModel
from tracediff.workloads.definitions import Definition
from tracediff.workloads.tool_model import Generation, Prefill


class AgentTrail:
    """Records the events of one loop; `turn` is their logical step."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.turn = 0

    def started(
        self,
        definition: Definition,
        model: ChatModel,
        schema: Mapping[str, Any],
        settings: Mapping[str, Any],
    ) -> None:
        """Record what is asked, of which model, with which tool."""
        content = definition.content
        self._record(
            "agent",
            "agent.started",
            artifacts={
                "model": model.name,
                "model_weights": model.definition.weights_digest,
                "tokenizer": model.definition.content["tokenizer"]["id"],
                "template": TEMPLATE,
                "actions": json_digest(schema),
            },
            state={"instruction": content["instruction"], "request": settings["request"]},
            settings={key: value for key, value in settings.items() if key != "request"},
            ids={"request_id": content["request"]["id"]},
        )

    def compacted(self, before: int, after: int, history: History) -> None:
        """Record that the oldest rounds made room, and what stays of them."""
        self._record(
            "agent",
            "history.compacted",
            state={"prompt_tokens": before},
            choice={
                "prompt_tokens": after,
                "rounds_kept": len(history.rounds),
                "learnt": dict(history.learnt or {}),
            },
        )

    def model_started(self, call: Prefill) -> None:
        """Record what the model reads in this turn, and its prefill."""
        at = {"positions": [call.positions[0], call.positions[-1]]}
        self._record(
            "model runtime",
            "model.started",
            state={
                "text": call.prompt.text,
                "input_ids": [list(call.prompt.ids)],
                "input_token_count": len(call.prompt.ids),
                "reused_positions": call.reused,
                "cache_length": call.passed.caches[0].length,
            },
            outputs={
                "final_hidden": Tensor(record_float32(call.passed.final_hidden), at),
                "next_logits": Tensor(record_float32(call.passed.next_logits), at),
            },
        )

    def generated(self, proposal: Generation) -> None:
        """Record every choice of the turn, and the text that they make."""
        logical = {"steps": [1, len(proposal.steps)]}
        self._record(
            "decoder",
            "action.generated",
            outputs={
                "raw_logits": Tensor(proposal.raw, logical),
                "logits.grammar_mask": Tensor(proposal.processed, logical),
            },
            choice={
                "output_ids": [step.token for step in proposal.steps],
                "text": proposal.text,
                "finish_reason": proposal.end,
            },
            note={"pieces": list(proposal.pieces)},
        )

    def accepted(self, action: Mapping[str, Any]) -> None:
        """Record the action that the text spells."""
        self._record("agent", "action.accepted", choice={"action": dict(action)})

    def rejected(self, reason: str, text: str) -> None:
        """Record why the text is no action that is carried out."""
        self._record("agent", "action.rejected", state={"text": text}, choice={"reason": reason})

    def returned(self, action: Mapping[str, Any], result: str) -> None:
        """Record what the tool was called with, and what it said."""
        self._record(
            "tool",
            "tool.returned",
            state={"arguments": dict(action), "arguments_digest": json_digest(dict(action))},
            choice={"text": result},
        )

    def finished(self, choice: Mapping[str, Any]) -> None:
        """Record why the loop ended, and what it cost."""
        self._record("agent", "agent.finished", choice=choice)

    def _record(self, component: str, event_type: str, **sections: Any) -> None:
        self._recorder.event(component, event_type, logical_step=self.turn, **sections)
