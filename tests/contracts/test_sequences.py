"""The rule on lists that run in parallel: as many log-probabilities as ids."""

from typing import Any

import pytest
from trace_building import chain, event

from tracediff.contracts import check_trace

# the choice of the output, whether the rule applies, whether it is broken
CHOICES = {
    "one-too-many": ({"token_ids": [5, 6], "logprobs": [-1.7, -0.1, -0.2]}, True, True),
    "one-too-few": ({"token_ids": [5, 6], "logprobs": [-0.1]}, True, True),
    "other-names": ({"output_ids": [5], "token_logprobs": []}, True, True),
    "as-many": ({"token_ids": [5, 6], "logprobs": [-0.1, -0.2]}, True, False),
    "none": ({"token_ids": [], "logprobs": []}, True, False),
    "no-scores": ({"token_ids": [5, 6]}, False, False),
    "no-list": ({"token_ids": 5, "logprobs": [-0.1]}, False, False),
}


@pytest.mark.parametrize("case", CHOICES)
def test_scores_match_ids(case: str) -> None:
    """The rule applies where both lists are recorded, and names the event that breaks it."""
    choice: dict[str, Any]
    choice, applies, is_broken = CHOICES[case]
    report = check_trace(chain(event("a"), event("b", choice=choice)))
    assert ("scores-match-ids" in [rule.name for rule in report.applied]) is applies
    broken = [(found.rule, found.event_id) for found in report.violations]
    assert broken == ([("scores-match-ids", "b")] if is_broken else [])
