"""The events of the two model calls of tool-001: t00 and t01, t11 to t13.

Knows what a model call computed. Must not know what becomes of a proposal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracediff.events.tool_states import Trigger
from tracediff.recording.recordable import Tensor
from tracediff.toolcalls.tool_spec import ToolSpec
from tracediff.workloads.definitions import Definition
from tracediff.workloads.shape_ledger import shape_ledger
from tracediff.workloads.tool_model import Generation, Prefill
from tracediff.workloads.tool_trail import ToolTrail


def record_first_call(
    trail: ToolTrail,
    definition: Definition,
    settings: Mapping[str, Any],
    spec: ToolSpec,
    call: Prefill,
) -> None:
    """Record t00: what the first call reads, and its prefill."""
    content = definition.content
    trail.record(
        Trigger.MODEL_STARTED,
        artifacts={
            "model": content["model"]["id"],
            "model_weights": definition.weights_digest,
            "tokenizer": content["tokenizer"]["id"],
            "template": content["template"]["id"],
            "tool": spec.identity,
            "tool_schema": spec.schema_digest,
        },
        state={
            "request": settings["request"],
            "subject": content["request"]["subject"],
            **_prefill_state(call),
        },
        settings=recorded_settings(settings),
        outputs=shape_ledger(call.passed, call.positions),
        ids={"request_id": trail.ids.request, "model_call_id": trail.ids.first_call},
    )


def record_second_call(
    trail: ToolTrail, definition: Definition, call: Prefill, message: str
) -> None:
    """Record t11: which call's result the second call reads, and its prefill.

    `tool_results` and `tool_call_ids` run in parallel: a result is bound by its call's id.
    """
    trail.next_turn()
    trail.record(
        Trigger.MODEL_STARTED,
        artifacts={"model": definition.content["model"]["id"]},
        state={"tool_results": [message], **_prefill_state(call)},
        outputs=shape_ledger(call.passed, call.positions),
        ids={"model_call_id": trail.ids.second_call, "tool_call_ids": [trail.ids.tool_call]},
    )


def record_proposal(trail: ToolTrail, proposal: Generation) -> None:
    """Record t01: every choice under the grammar, and the text that they make."""
    trail.record_call(
        Trigger.PROPOSAL_GENERATED,
        outputs=_logits(proposal, "grammar_mask"),
        choice={
            "steps": _steps(proposal),
            "text": proposal.text,
            "generated_tokens": len(proposal.steps),
            "finish_reason": proposal.end,
        },
        ids={"model_call_id": trail.ids.first_call, "tool_call_id": trail.ids.tool_call},
        note={"pieces": list(proposal.pieces)},
    )


def record_answer(trail: ToolTrail, answer: Generation) -> None:
    """Record t12 and t13: the fragments in order, and the end of the response."""
    ids = {"model_call_id": trail.ids.second_call}
    fragments = [
        {"sequence_no": number, "text": piece} for number, piece in enumerate(answer.pieces)
    ]
    trail.record(
        Trigger.TEXT_DELTA,
        outputs=_logits(answer, "control_token_mask"),
        choice={"steps": _steps(answer), "fragments": fragments},
        ids=ids,
    )
    trail.record(
        Trigger.RESPONSE_COMPLETED,
        choice={
            "finish_reason": answer.end,
            "text": answer.text,
            "sequence_no": len(answer.pieces),
            "output_tokens_selected": len(answer.steps),
            "output_tokens_returned": len(answer.pieces),
        },
        ids=ids,
    )


def recorded_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings but the request, which is an input."""
    return {key: value for key, value in settings.items() if key != "request"}


def _prefill_state(call: Prefill) -> dict[str, Any]:
    passed, length = call.passed, len(call.prompt.ids)
    cache = passed.caches[0]
    return {
        "text": call.prompt.text,
        "input_ids": [list(call.prompt.ids)],
        "input_token_count": length,
        "cache_length_before": call.reused,
        "reused_positions": call.reused,
        "prefilled_positions": len(call.positions),
        "cache_length": cache.length,
        "position_ids": [call.positions],
        # Of the whole call, whichever part of it came from a cache.
        "shapes": {
            "input_ids": [1, length],
            "residual": [1, cache.length, passed.embedding.shape[-1]],
            "key_value": list(cache.key.shape),
            "raw_logits": list(passed.next_logits.shape),
        },
    }


def _steps(generation: Generation) -> list[dict[str, Any]]:
    return [
        {"token_id": step.token, "allowed": step.allowed, "top": [list(pair) for pair in step.top]}
        for step in generation.steps
    ]


def _logits(generation: Generation, processor: str) -> dict[str, Tensor]:
    """Return the logits of all steps, before and after the processor: [steps, vocabulary]."""
    logical = {"steps": [1, len(generation.steps)]}
    return {
        "raw_logits": Tensor(generation.raw, logical),
        f"logits.{processor}": Tensor(generation.processed, logical),
    }
