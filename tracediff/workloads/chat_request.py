"""A chat request before the model reads it: steps 1 to 4, each recorded, each able to refuse.

Knows conversations, schemas and budgets. Must not know decoding, HTTP or vendors' shapes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tracediff.engine.json_grammar import JsonGrammar
from tracediff.errors import TokenizerError, TracediffError, UsageError
from tracediff.events.canonical_json import json_digest
from tracediff.recording.recorder import Recorder
from tracediff.workloads.chat_model import TEMPLATE, ChatModel, Turn
from tracediff.workloads.chat_output import check_output_schema
from tracediff.workloads.text_request import record_context, record_input, record_request

DEFAULTS: Mapping[str, Any] = {
    "minimum_output_tokens": 1,
    "max_output_tokens": None,
    "stop_sequences": [],
    "grammar": [],
    "repetition_penalty": 1.0,
    "temperature": 0.0,
    "top_k": 0,
    "top_p": 1.0,
    "seed": 0,
    "kv_cache": True,
}
"""Settings of a request that says nothing: greedy, to the end of the window."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A valid request: the conversation, settings by the names of DEFAULTS, and what is expected.

    `schema` is what the answer shall be; with `constrained` the decoder can choose nothing else.
    `tool` names the tool whose arguments the answer is. `alternatives` is how many tokens are told
    beside each chosen one, None for no probabilities at all. `recorded` are further settings.
    """

    turns: Sequence[Turn]
    settings: Mapping[str, Any]
    schema: Mapping[str, Any] | None = None
    constrained: bool = False
    tool: str | None = None
    alternatives: int | None = None
    recorded: Mapping[str, Any] = field(default_factory=dict)


class RequestRejected(TracediffError):
    """A request that the model cannot take; `field` names the part of it, `code` the kind."""

    def __init__(self, message: str, field: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.field = field
        self.code = code


def record_arrival(
    request: ChatRequest,
    settings: Mapping[str, Any],
    model: ChatModel,
    recorder: Recorder,
    request_id: str,
) -> None:
    """Record step 1: what was asked for."""
    record_request(
        recorder,
        model.definition,
        TEMPLATE,
        state={"turns": [{"role": turn.role, "text": turn.text} for turn in request.turns]},
        settings={
            **settings,
            **request.recorded,
            "schema": _schema_digest(request.schema),
            "constrained": request.constrained,
            "tool": request.tool,
        },
        request_id=request_id,
    )


def _schema_digest(schema: Mapping[str, Any] | None) -> str | None:
    """Return the digest of a schema, None where there is none or it has no canonical form."""
    try:
        return None if schema is None else json_digest(schema)
    except (ValueError, RecursionError):
        return None


def record_rejection(
    recorder: Recorder, status: int, field: str | None, code: str | None, message: str
) -> None:
    """Record that the request ends here: the status, and which part of it is to blame."""
    recorder.event(
        "gateway",
        "request.rejected",
        choice={"status": status, "field": field, "code": code},
        note={"message": message},
    )


def validate_request(
    request: ChatRequest, model: ChatModel, recorder: Recorder
) -> JsonGrammar | None:
    """Record step 2: the request's fields were valid, and the schema is one that can be kept."""
    grammar = None
    asked = "tools" if request.tool is not None else "response_format"
    if request.schema is not None:
        fault = None
        if _schema_digest(request.schema) is None:
            fault = "schema: its numbers or its depth are not what every reader of JSON sees alike"
        fault = fault or check_output_schema(request.schema, "schema")
        if fault is not None:
            raise RequestRejected(fault, asked, "unsupported_schema")
        if request.constrained:
            try:
                grammar = model.vocabulary.grammar(request.schema)
            except UsageError as error:
                reason = f"{model.name} cannot keep to the schema that {asked} asks for: {error}"
                raise RequestRejected(reason, asked, "unsupported_schema") from None
    recorder.event("validator", "request.validated", choice={"verdict": "valid"})
    return grammar


def assemble_prompt(
    request: ChatRequest, settings: Mapping[str, Any], model: ChatModel, recorder: Recorder
) -> list[int]:
    """Record steps 3 and 4: the prompt from the template, its ids, and whether they fit."""
    try:
        segments = model.vocabulary.render(request.turns)
        record_context(recorder, TEMPLATE, segments)
        ids = model.vocabulary.tokenizer.encode(segments)
    except UsageError as error:
        raise RequestRejected(str(error), "messages", "unsupported_role") from None
    except TokenizerError as error:
        raise RequestRejected(f"{model.name}: {error}", "messages", "not_tokenizable") from None
    record_input(recorder, model.definition, ids)
    window, maximum = settings["context_window"], settings["max_output_tokens"]
    fits = len(ids) + (maximum or 0) <= window
    recorder.event(
        "scheduler",
        "budget.checked",
        state={"prompt_tokens": len(ids)},
        choice={"verdict": "fits" if fits else "too-long"},
    )
    if not fits:
        added = "" if maximum is None else f" and at most {maximum} for the answer"
        raise RequestRejected(
            f"prompt is too long: {len(ids)} tokens{added} are more than the {window} of the "
            f"context window of {model.name}",
            "messages" if len(ids) > window else "max_tokens",
            "context_length_exceeded",
        )
    return ids
