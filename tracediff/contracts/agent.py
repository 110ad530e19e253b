"""The contract of agent loops: limits are kept, and nothing runs that was not whole and accepted.

Knows the event types of agent-001. What a turn's numbers are is not its matter.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tracediff.contracts.rule import Finding, Rule
from tracediff.events import Event, Trace
from tracediff.events.canonical_json import json_digest

COMPLETE = "tool_proposal_complete"
REJECTIONS = ("truncated", "repeated_call")
"""Reasons for which an action is not carried out; the loop ends by the same word."""


def _is_agent(trace: Trace) -> bool:
    return trace.kind == "loop" and trace.root.event_type == "agent.started"


def _of_type(trace: Trace, event_type: str) -> list[Event]:
    return [event for event in trace.events if event.event_type == event_type]


def _entry(event: Event, section: str, key: str) -> Any:
    return event.payload.get(section, {}).get(key)


def _setting(trace: Trace, key: str) -> Any:
    return _entry(trace.root, "settings", key)


def _finishes_once(trace: Trace) -> Iterator[Finding]:
    finished = _of_type(trace, "agent.finished")
    if len(finished) != 1 or finished[0] is not trace.events[-1]:
        yield None, f"agent.finished occurs {len(finished)} times, expected once, at the end"


def _turns_are_counted(trace: Trace) -> Iterator[Finding]:
    calls = _of_type(trace, "model.started")
    for number, event in enumerate(calls, 1):
        if event.logical_step != number:
            yield event.event_id, f"is turn {event.logical_step}, expected {number}"
    for event in _of_type(trace, "agent.finished"):
        told, most = _entry(event, "choice", "turns"), _setting(trace, "max_turns")
        if told != len(calls) or told > most:
            yield event.event_id, f"tells {told} turns, {len(calls)} were taken, {most} are allowed"


def _budget_is_kept(trace: Trace) -> Iterator[Finding]:
    read = sum(_entry(e, "state", "input_token_count") for e in _of_type(trace, "model.started"))
    written = sum(
        len(_entry(e, "choice", "output_ids")) for e in _of_type(trace, "action.generated")
    )
    for event in _of_type(trace, "agent.finished"):
        told, most = _entry(event, "choice", "total_tokens"), _setting(trace, "budget_tokens")
        if told != read + written or told > most:
            yield (
                event.event_id,
                f"tells {told} tokens, counted are {read + written}, the budget is {most}",
            )


def _prompts_fit(trace: Trace) -> Iterator[Finding]:
    window, room = _setting(trace, "context_window"), _setting(trace, "max_turn_tokens")
    for event in _of_type(trace, "model.started"):
        count = _entry(event, "state", "input_token_count")
        if count + room > window:
            yield event.event_id, f"reads {count} tokens; {room} more do not fit into {window}"


def _actions_are_the_text(trace: Trace) -> Iterator[Finding]:
    generated: Event | None = None
    for event in trace.events:
        if event.event_type == "action.generated":
            generated = event
        if event.event_type != "action.accepted":
            continue
        if generated is None or _entry(generated, "choice", "finish_reason") != COMPLETE:
            yield event.event_id, "is an action of a text that is not whole"
            continue
        text, action = _entry(generated, "choice", "text"), _entry(event, "choice", "action")
        # By digest, since Python calls 1, 1.0 and true equal.
        if json_digest(json.loads(text)) != json_digest(action):
            yield event.event_id, f"is {action!r:.80}, the text is {text!r:.80}"


def _calls_were_accepted(trace: Trace) -> Iterator[Finding]:
    parents = {event.event_id: event for event in trace.events}
    for event in _of_type(trace, "tool.returned"):
        parent = parents.get(event.parent_event_id or "")
        action = None if parent is None else _entry(parent, "choice", "action")
        arguments = _entry(event, "state", "arguments")
        if parent is None or parent.event_type != "action.accepted" or action != arguments:
            yield event.event_id, f"is called with {arguments!r:.80}, accepted was {action!r:.80}"


def _calls_are_not_repeated(trace: Trace) -> Iterator[Finding]:
    allowed, made = _setting(trace, "repeats_allowed"), Counter[str]()
    for event in _of_type(trace, "tool.returned"):
        digest = _entry(event, "state", "arguments_digest")
        made[digest] += 1
        if made[digest] > allowed + 1:
            yield event.event_id, f"is call {made[digest]} with these arguments"


def _the_reason_is_true(trace: Trace) -> Iterator[Finding]:
    rejected = [_entry(e, "choice", "reason") for e in _of_type(trace, "action.rejected")]
    for event in _of_type(trace, "agent.finished"):
        reason, answer = _entry(event, "choice", "stop_reason"), _entry(event, "choice", "answer")
        if (reason == "final_answer") != (answer is not None):
            yield event.event_id, f"ends by {reason} with the answer {answer!r:.40}"
        if rejected != ([reason] if reason in REJECTIONS else []):
            yield event.event_id, f"ends by {reason}, rejected was {rejected}"
        at_limit = _entry(event, "choice", "turns") == _setting(trace, "max_turns")
        if reason == "max_turns" and not at_limit:
            yield event.event_id, "ends by max_turns before the limit"


AGENT_RULES = (
    Rule(
        "agent-finishes-once",
        "an agent loop ends once, and nothing follows",
        _is_agent,
        _finishes_once,
    ),
    Rule(
        "agent-turns-are-counted",
        "turns are 1, 2, 3, … and no more than max_turns",
        _is_agent,
        _turns_are_counted,
    ),
    Rule(
        "agent-budget-is-kept",
        "all calls together read and write what is told, within the budget",
        _is_agent,
        _budget_is_kept,
    ),
    Rule(
        "agent-prompts-fit",
        "each prompt leaves room for its turn in the context window",
        _is_agent,
        _prompts_fit,
    ),
    Rule(
        "agent-actions-are-the-text",
        "an accepted action is what a whole generated text spells",
        _is_agent,
        _actions_are_the_text,
    ),
    Rule(
        "agent-calls-were-accepted",
        "the tool is called only by an accepted action, with its arguments",
        _is_agent,
        _calls_were_accepted,
    ),
    Rule(
        "agent-calls-are-not-repeated",
        "no call is repeated more often than allowed",
        _is_agent,
        _calls_are_not_repeated,
    ),
    Rule(
        "agent-reason-is-true",
        "the reason for the end is what the events say",
        _is_agent,
        _the_reason_is_true,
    ),
)
