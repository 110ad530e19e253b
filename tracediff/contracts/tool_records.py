"""Rules on what a tool trace records: that states, digests, results and texts fit together.

Knows the recorded calls and the state table. Whether an effect was allowed is `effects`' matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import zip_longest
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tracediff.contracts.rule import Finding, Rule
from tracediff.contracts.tool_calls import Call, CallEvent, entry, events_of, find_calls
from tracediff.events import Event, Trace
from tracediff.events.canonical_json import json_digest
from tracediff.events.tool_states import ToolState, Trigger, next_state

DIGEST_PREFIX = "sha256:"
"""Digests of JSON that this project can recompute; others are compared as they are."""


def _states_follow_the_table(trace: Trace) -> Iterator[Finding]:
    for call in find_calls(trace):
        recorded = [found.get("state", "status") for found in call.events]
        if any(status is not None for status in recorded):
            yield from _illegal_steps(call)


def _illegal_steps(call: Call) -> Iterator[Finding]:
    state = ToolState.GENERATING
    for found in call.events:
        following = next_state(state, found.trigger)
        if following is None:
            yield found.event_id, f"{found.trigger} is not allowed in state {state}"
            return
        state = following
        status = found.get("state", "status")
        if status is not None and status != state.status:
            yield found.event_id, f"{found.trigger} leads to {state.status}, recorded is {status}"


def _digests_are_of_the_content(trace: Trace) -> Iterator[Finding]:
    for call in find_calls(trace):
        for found in call.of(Trigger.INVOCATION_NORMALIZED):
            content = found.get("choice", "invocation")
            if not isinstance(content, dict):
                continue
            whole = {"invocation_id": found.get("ids", "invocation_id"), **content}
            arguments = content.get("normalized_arguments")
            stated = (("invocation_digest", whole), ("request_digest", arguments))
            for key, value in stated:
                yield from _wrong_digest(found, found.get("choice", key), value)
        for found in call.of(Trigger.INVOCATION_STARTED):
            arguments = found.get("state", "arguments")
            yield from _wrong_digest(found, found.get("commit", "request_digest"), arguments)


def _wrong_digest(found: CallEvent, stated: Any, content: Any) -> Iterator[Finding]:
    if content is None or not isinstance(stated, str) or not stated.startswith(DIGEST_PREFIX):
        return
    actual = json_digest(content)
    if stated != actual:
        yield found.event_id, f"states the digest {stated}, the content's is {actual}"


def _results_are_bound_by_call(trace: Trace) -> Iterator[Finding]:
    told = {
        call.call_id: found.get("choice", "text")
        for call in find_calls(trace)
        for found in call.of(Trigger.RESULT_ENCODED)
    }
    for event in events_of(trace, "model.started"):
        results = entry(event, "state", "tool_results") or []
        calls = entry(event, "ids", "tool_call_ids") or []
        for call_id, text in zip_longest(calls, results):
            if told.get(str(call_id)) != text:
                yield (
                    event.event_id,
                    f"reads {text!r:.80} as the result of {call_id}, which was "
                    f"{told.get(str(call_id))!r:.80}",
                )


def _local_times_keep_their_zone(trace: Trace) -> Iterator[Finding]:
    for call in find_calls(trace):
        written: Any = None
        for found in call.of(Trigger.PROPOSAL_PARSED, Trigger.INVOCATION_NORMALIZED):
            if found.trigger is Trigger.PROPOSAL_PARSED:
                written = found.get("choice", "arguments")
                continue
            meant = (found.get("choice", "invocation") or {}).get("normalized_arguments")
            if isinstance(written, dict) and isinstance(meant, dict) and "local_date" in written:
                yield from _moved_time(found, written, meant.get("start"))


def _moved_time(found: CallEvent, written: dict[str, Any], start: Any) -> Iterator[Finding]:
    local = f"{written['local_date']}T{written['local_time']}"
    moment = datetime.fromisoformat(str(start))
    if moment.tzinfo is None:
        yield found.event_id, f"start {start} has no offset, so it is no moment"
    elif not str(start).startswith(local):
        yield found.event_id, f"start is {start}, written was {local}"
    else:
        offset = _offset_in(found.get("state", "timezone"), moment)
        if offset is not None and offset != moment.utcoffset():
            yield found.event_id, f"start is {start}, the zone's offset then is {offset}"


def _offset_in(timezone: Any, moment: datetime) -> timedelta | None:
    """Return a zone's offset at a moment, None where the zone is not known here."""
    try:
        return moment.astimezone(ZoneInfo(str(timezone))).utcoffset()
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _answers_are_streamed(trace: Trace) -> Iterator[Finding]:
    fragments: list[Any] = []
    for event in events_of(trace, "text.delta"):
        fragments.extend(entry(event, "choice", "fragments") or [])
        numbers = [fragment["sequence_no"] for fragment in fragments]
        if numbers != list(range(len(fragments))):
            yield event.event_id, f"fragments are numbered {numbers}, expected 0, 1, 2, …"
    streamed = "".join(str(fragment["text"]) for fragment in fragments)
    for event in events_of(trace, "response.completed"):
        if entry(event, "choice", "text") != streamed:
            text = entry(event, "choice", "text")
            yield event.event_id, f"returns {text!r:.80}, streamed was {streamed!r:.80}"
        number = entry(event, "choice", "sequence_no")
        if number is not None and number != len(fragments):
            yield event.event_id, f"final sequence number {number}, expected {len(fragments)}"


def _reused_positions_are_a_common_prefix(trace: Trace) -> Iterator[Finding]:
    earlier: list[Any] = []
    for event in events_of(trace, "model.started"):
        ids = (entry(event, "state", "input_ids") or [[]])[0]
        reused = entry(event, "state", "reused_positions")
        if reused is None:
            continue
        yield from _wrong_lengths(event, len(ids), reused)
        if reused and not any(ids[:reused] == known[:reused] for known in earlier):
            yield event.event_id, f"reuses {reused} positions of ids that no earlier call had"
        earlier.append(ids)


def _wrong_lengths(event: Event, count: int, reused: int) -> Iterator[Finding]:
    prefilled = entry(event, "state", "prefilled_positions")
    length = entry(event, "state", "cache_length")
    stated = entry(event, "state", "input_token_count")
    if not reused + prefilled == length == stated == count:
        yield (
            event.event_id,
            f"{count} ids, {stated} stated, {reused} reused and {prefilled} prefilled positions, "
            f"cache length {length} do not fit together",
        )


def _is_tool(trace: Trace) -> bool:
    return trace.kind == "tool"


TOOL_RECORD_RULES = (
    Rule(
        "states-follow-the-table",
        "where states are recorded, each is the one that the state table gives",
        _is_tool,
        _states_follow_the_table,
    ),
    Rule(
        "digests-are-of-the-content",
        "a digest beside the content that it names is that content's",
        _is_tool,
        _digests_are_of_the_content,
    ),
    Rule(
        "results-are-bound-by-call",
        "the model reads each result under the id of the call that had it",
        _is_tool,
        _results_are_bound_by_call,
    ),
    Rule(
        "local-time-keeps-its-zone",
        "a local time becomes the moment at which clocks in the stated zone show it",
        _is_tool,
        _local_times_keep_their_zone,
    ),
    Rule(
        "answer-is-streamed-text",
        "the answer is the text of its fragments, which count 0, 1, 2, …",
        _is_tool,
        _answers_are_streamed,
    ),
    Rule(
        "reused-prefix",
        "reused positions hold the ids of an earlier call, and all lengths agree",
        _is_tool,
        _reused_positions_are_a_common_prefix,
    ),
)
