"""Each rule on the request's way to the model is broken by a trace that breaks nothing else."""

import pytest
from contracts.text_edits import Row, broken, labelled
from text_runs import main_line
from trace_edits import Edit, put

from tracediff.contracts.text_input import INPUT_RULES

ALONE: list[Row] = [
    (
        *("context-contains-the-prompt", "e01", "another-text"),
        put("e01", "choice", text="<bos><user>天空</user><assistant>"),
    ),
    (
        *("context-contains-the-prompt", "e01", "another-prompt"),
        put("e00", "state", prompt="海为什么是蓝色？"),
    ),
]


@pytest.mark.parametrize(("rule", "event_id", "edit"), labelled(ALONE))
def test_rule_is_broken_alone(rule: str, event_id: str, edit: Edit) -> None:
    """Only the rule that the edit breaks is reported, at the event where it breaks."""
    assert broken(edit(main_line())) == {(rule, event_id)}


@pytest.mark.parametrize("prompt", [None, 3, ""])
def test_a_prompt_that_is_no_text_says_nothing(prompt: object) -> None:
    """Without a prompt to look for, no context is wrong."""
    assert broken(put("e00", "state", prompt=prompt)(main_line())) == set()


def test_every_rule_was_broken() -> None:
    """The table above breaks every rule there is, so that a new one needs a row."""
    assert {row[0] for row in ALONE} == {rule.name for rule in INPUT_RULES}
