"""What a user may override in tool-001, and what is impossible together.

Knows values and the tokenizer. Must not load what only a run needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from tracediff.errors import UsageError
from tracediff.toolcalls.confirm import Decision
from tracediff.workloads.definitions import Definition
from tracediff.workloads.settings import Setting, integer, switch, text

FIRST_YEAR, LAST_YEAR = 1900, 9000
DECISIONS = tuple(decision.value for decision in Decision)


def validate(definition: Definition, settings: Mapping[str, Any]) -> None:
    """Raise where the first prompt cannot be read.

    TokenizerError where the vocabulary does not cover the request, UsageError where it is too long.
    """
    from tracediff.workloads.tool_model import ToolText

    text = ToolText(definition, definition.content["tool"]["spec"])
    count = len(text.first_prompt(settings).ids)
    longest = definition.content["model"]["longest_prompt"]
    if count > longest:
        raise UsageError(
            f"the request makes a prompt of {count} tokens; at most {longest} are allowed"
        )


def is_moment(value: Any) -> bool:
    """Whether a value is a moment that a trace can hold: ISO 8601 to the second, with offset."""
    if type(value) is not str:
        return False
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return False
    in_range = FIRST_YEAR <= moment.year <= LAST_YEAR
    spelled = moment.isoformat(timespec="seconds")
    return moment.tzinfo is not None and in_range and spelled == value


def _is_capability_list(value: Any) -> bool:
    return type(value) is list and all(type(item) is str and item != "" for item in value)


SETTINGS: Sequence[Setting] = (
    text("request", "the user's text; the vocabulary must cover it"),
    Setting(
        "clock",
        "the moment at which the request arrives; its date is told to the model",
        f"a moment of {FIRST_YEAR} to {LAST_YEAR} with offset, such as 2026-07-19T14:00:00+08:00",
        is_moment,
    ),
    text("timezone", "zone of the local times that the model writes, such as Asia/Shanghai"),
    Setting(
        "capabilities",
        "what the subject may do",
        'a JSON list of capabilities, such as ["calendar.write:primary"]',
        _is_capability_list,
    ),
    Setting(
        "decision",
        "what the person answers when asked to confirm",
        " or ".join(DECISIONS),
        lambda value: type(value) is str and value in DECISIONS,
    ),
    integer("retry_budget", 0, 100, "attempts that may follow the first"),
    integer("service_seed", 0, 2**63 - 1, "seed of the calendar service: its ids and its delays"),
    integer("max_proposal_tokens", 1, 1000, "stop the first model call after so many tokens"),
    integer("max_answer_tokens", 1, 1000, "stop the second model call after so many tokens"),
    switch("prefix_cache", "false recomputes the common prefix in the second model call"),
)
