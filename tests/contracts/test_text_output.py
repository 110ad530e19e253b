"""Each rule on what is returned is broken by a trace that breaks nothing else, and is reported."""

import pytest
from contracts.text_edits import Row, broken, labelled
from text_runs import main_line, run
from trace_edits import Edit, put

from tracediff.contracts.text_output import OUTPUT_RULES

ALONE: list[Row] = [
    ("returned-text-is-streamed-text", "e23", "delta", put("e06", "choice", text="短波")),
    ("deltas-are-numbered", "e10", "gap", put("e10", "choice", sequence_no=2)),
    ("deltas-are-numbered", "e23", "final", put("e23", "choice", sequence_no=5)),
    (
        *("stop-sequences-are-not-returned", "e23", "second-of-two"),
        put("e00", "settings", stop_sequences=["X", "光的"]),
    ),
    (
        *("selections-are-counted", "e23", "one-more"),
        put("e23", "choice", output_tokens_selected=6, output_tokens_returned=5),
    ),
    ("end-token-not-returned", "e23", "count", put("e23", "choice", output_tokens_returned=5)),
]


@pytest.mark.parametrize(("rule", "event_id", "edit"), labelled(ALONE))
def test_rule_is_broken_alone(rule: str, event_id: str, edit: Edit) -> None:
    """Only the rule that the edit breaks is reported, at the event where it breaks."""
    assert broken(edit(main_line())) == {(rule, event_id)}


@pytest.mark.parametrize(
    ("overrides", "returned", "rules"),
    [
        ({"max_output_tokens": 3}, 3, set()),
        ({"max_output_tokens": 3}, 2, {("other-tokens-are-returned", "e16")}),
        ({"context_window": 13}, 1, {("other-tokens-are-returned", "e12")}),
        ({"stop_sequences": ["光的"]}, 0, set()),
        ({"stop_sequences": ["光的"]}, 3, {("other-tokens-are-returned", "e11")}),
        ({"stop_sequences": ["光的"]}, -1, {("other-tokens-are-returned", "e11")}),
    ],
)
def test_only_a_stop_sequence_takes_tokens_away(
    overrides: dict[str, object], returned: int, rules: set[tuple[str, str]]
) -> None:
    """Of a run that ends otherwise, all tokens are returned."""
    trace = run(overrides)
    (completed,) = (e for e in trace.events if e.event_type == "response.completed")
    edit = put(completed.event_id, "choice", output_tokens_returned=returned)
    assert broken(edit(trace)) == rules


def test_an_empty_stop_sequence_stops_nothing() -> None:
    """Every text contains the empty one, so it says nothing."""
    settings = put("e00", "settings", stop_sequences=["", 3])
    assert broken(settings(main_line())) == set()


def test_every_rule_was_broken() -> None:
    """The tables above break every rule there is, so that a new one needs a row."""
    names = {row[0] for row in ALONE} | {"other-tokens-are-returned"}
    assert names == {rule.name for rule in OUTPUT_RULES}
