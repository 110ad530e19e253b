"""Rules on lists that run in parallel, for every kind of trace.

Knows which lists of a choice belong together. Two runs that are out of step in the same way agree
with each other: only a rule inside one trace finds that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tracediff.contracts.rule import Finding, Rule
from tracediff.events import Trace

_IDS: Final = ("token_ids", "output_ids")
_SCORES: Final = ("logprobs", "token_logprobs")


def _pairs(trace: Trace) -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
    for event in trace.events:
        choice = event.payload.get("choice", {})
        for ids in _IDS:
            for scores in _SCORES:
                if isinstance(choice.get(ids), list) and isinstance(choice.get(scores), list):
                    yield event.event_id, ids, scores, choice


def _scores_match_ids(trace: Trace) -> Iterator[Finding]:
    for event_id, ids, scores, choice in _pairs(trace):
        lengths = len(choice[ids]), len(choice[scores])
        if lengths[0] != lengths[1]:
            yield event_id, f"{lengths[1]} {scores} for {lengths[0]} {ids}"


def _has_scores(trace: Trace) -> bool:
    return next(_pairs(trace), None) is not None


SEQUENCE_RULES = (
    Rule(
        "scores-match-ids",
        "there are as many log-probabilities as token ids",
        _has_scores,
        _scores_match_ids,
    ),
)
