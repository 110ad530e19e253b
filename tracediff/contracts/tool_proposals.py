"""Rules on what the model of a tool trace says: greedy choices, and arguments that are its text.

Knows the recorded calls. What is done with a proposal is `effects`' matter.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tracediff.contracts.rule import Finding, Rule
from tracediff.contracts.tool_calls import entry, events_of, find_calls
from tracediff.events import Trace
from tracediff.events.canonical_json import json_digest
from tracediff.events.tool_states import Trigger


def _arguments_are_the_text(trace: Trace) -> Iterator[Finding]:
    for call in find_calls(trace):
        text: Any = None
        is_executed = bool(call.of(Trigger.INVOCATION_STARTED))
        for found in call.of(Trigger.PROPOSAL_GENERATED, Trigger.PROPOSAL_PARSED):
            if found.trigger is Trigger.PROPOSAL_GENERATED:
                text = found.get("choice", "text")
                continue
            read = found.get("state", "arguments_text")
            # Bytes put in the text's place must be refused; refused they may stand in a trace.
            if is_executed and None not in (text, read) and text != read:
                yield found.event_id, f"reads {read!r:.80}, generated was {text!r:.80}"
            written = text if read is None else read
            arguments = found.get("choice", "arguments")
            if written is None or arguments is None:
                continue
            # By digest, since Python calls 1, 1.0 and true equal.
            if json_digest(json.loads(written)) != json_digest(arguments):
                yield found.event_id, f"parses {arguments!r:.80}, the text is {written!r:.80}"


def _steps_take_the_first(trace: Trace) -> Iterator[Finding]:
    for event in events_of(trace, "proposal.generated", "text.delta"):
        for number, step in enumerate(entry(event, "choice", "steps") or []):
            top = step.get("top")
            if top is not None and (not top or top[0][0] != step.get("token_id")):
                token = step.get("token_id")
                yield event.event_id, f"step {number} takes {token}, its top is {top!r:.80}"


def _is_tool(trace: Trace) -> bool:
    return trace.kind == "tool"


TOOL_PROPOSAL_RULES = (
    Rule(
        "arguments-are-the-text",
        "the parsed arguments are those that the generated text spells",
        _is_tool,
        _arguments_are_the_text,
    ),
    Rule(
        "greedy-steps",
        "where a step lists its best tokens, the first of them is taken",
        _is_tool,
        _steps_take_the_first,
    ),
)
