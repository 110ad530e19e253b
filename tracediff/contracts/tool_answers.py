"""What tool-001 yields without overrides: its known answers, main line and branches.

Source: chapter 7, sections 7.11 to 7.15. Other tool traces are not held to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from tracediff.contracts.rule import Finding, Rule
from tracediff.contracts.tool_calls import entry, events_of
from tracediff.events import Event, Trace

FIXTURE = "tool-001"

FIRST_PROMPT, PROPOSAL, SECOND_PROMPT, REUSED = 86, 27, 132, 86
ARGUMENTS: Mapping[str, Any] = MappingProxyType(
    {
        "calendar_id": "primary",
        "title": "带护照",
        "local_date": "2026-07-20",
        "local_time": "09:00",
        "duration_minutes": 10,
    }
)
EXTERNAL_ID = "evt_6K2"
ANSWER = "已在 2026 年 7 月 20 日上午 9:00 创建“带护照”提醒。"

FINAL_STATUS: Mapping[str | None, tuple[str, bool]] = MappingProxyType(
    {
        None: ("FINISHED", True),
        "extra-field": ("validation-rejected", False),
        "confirmation-mismatch": ("confirmation-rejected", False),
        "timeout-before-commit": ("FINISHED", True),
        "response-lost-after-commit": ("FINISHED", True),
        "cancel-after-commit": ("cancelled-after-commit", True),
    }
)
"""Final status and external commit by injection."""


def _unequal(event: Event, section: str, expected: Mapping[str, Any]) -> Iterator[Finding]:
    for key, value in expected.items():
        found = entry(event, section, key)
        if found != value:
            yield event.event_id, f"{key} is {found!r:.80}, expected {value!r:.80}"


def _known_tokens(trace: Trace) -> Iterator[Finding]:
    started = events_of(trace, "model.started")
    counts: tuple[Mapping[str, Any], ...] = (
        {"input_token_count": FIRST_PROMPT, "reused_positions": 0, "cache_length": FIRST_PROMPT},
        {"input_token_count": SECOND_PROMPT, "reused_positions": REUSED},
    )
    for event, expected in zip(started, counts, strict=False):
        yield from _unequal(event, "state", expected)
    for event in events_of(trace, "proposal.generated"):
        proposed = {"generated_tokens": PROPOSAL, "finish_reason": "tool_proposal_complete"}
        yield from _unequal(event, "choice", proposed)


def _known_arguments(trace: Trace) -> Iterator[Finding]:
    for event in events_of(trace, "proposal.parsed"):
        if trace.header.get("injection") != "extra-field":
            yield from _unequal(event, "choice", {"arguments": dict(ARGUMENTS)})


def _known_effect(trace: Trace) -> Iterator[Finding]:
    for event in trace.events:
        if entry(event, "commit", "external_id") not in (None, EXTERNAL_ID):
            yield from _unequal(event, "commit", {"external_id": EXTERNAL_ID})
    for event in events_of(trace, "response.completed"):
        yield from _unequal(event, "choice", {"text": ANSWER, "finish_reason": "eos"})


def _known_end(trace: Trace) -> Iterator[Finding]:
    status, external_commit = FINAL_STATUS[trace.header.get("injection")]
    for event in events_of(trace, "trace.closed"):
        yield from _unequal(event, "choice", {"status": status})
        yield from _unequal(event, "commit", {"external_commit": external_commit})


def _is_plain(trace: Trace) -> bool:
    header = trace.header
    is_fixture = trace.kind == "tool" and header.get("fixture") == FIXTURE
    return is_fixture and not header.get("overrides") and header.get("injection") in FINAL_STATUS


TOOL_ANSWER_RULES = (
    Rule(
        "token-counts",
        "the calls read 86 and 132 tokens, 86 of them reused, and 27 are proposed",
        _is_plain,
        _known_tokens,
    ),
    Rule(
        "proposed-arguments",
        "the proposed arguments are the known ones",
        _is_plain,
        _known_arguments,
    ),
    Rule("known-effect", "the event and the answer are the known ones", _is_plain, _known_effect),
    Rule("final-status", "the branch ends as it is known to", _is_plain, _known_end),
)
