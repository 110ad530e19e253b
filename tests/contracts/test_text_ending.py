"""Each rule on endings is broken by a trace that breaks nothing else, and is reported."""

from typing import Any

import pytest
from contracts.text_edits import Row, broken, broken_rules, labelled, put_numbers
from text_runs import main_line, run
from trace_building import chain, event
from trace_edits import Edit, both, drop, put, repeat

from tracediff.contracts.text_ending import ENDING_RULES
from tracediff.events import Trace

ALONE: list[Row] = [
    ("output-is-within-the-limit", "e21", "by-one", put("e00", "settings", max_output_tokens=4)),
    ("minimum-is-kept", "e23", "by-one", put("e00", "settings", minimum_output_tokens=5)),
    (
        *("stop-means-a-sequence", "e22", "with-eos"),
        both(
            put("e22", "choice", stop_sequence="X"),
            put("e00", "settings", stop_sequences=["X"]),
        ),
    ),
    (
        *("reasons-agree", "e23", "draining"),
        put("e22", "choice", finish_reason="cancelled"),
    ),
    ("reasons-agree", "e23", "words", put("e23", "choice", finish_reason_openai="length")),
    ("reasons-agree", "e23", "more-words", put("e23", "choice", finish_reason_anthropic="x")),
    ("finishes-once", "copy", "released-twice", repeat("e24")),
    ("finishes-once", None, "never-finished", put("e23", "choice", status="FAILED")),
]


@pytest.mark.parametrize(("rule", "event_id", "edit"), labelled(ALONE))
def test_rule_is_broken_alone(rule: str, event_id: str, edit: Edit) -> None:
    """Only the rule that the edit breaks is reported, at the event where it breaks."""
    trace = edit(main_line())
    assert broken_rules(trace) == {rule}
    assert (rule, event_id) in broken(trace)


# overrides of a true run, edit of it, what is broken
OTHER_ENDINGS = [
    pytest.param(
        {"max_output_tokens": 3},
        put("e00", "settings", max_output_tokens=4),
        {("max-tokens-means-the-limit", "e16")},
        id="max-tokens-below-the-limit",
    ),
    pytest.param(
        {"context_window": 13},
        put("e00", "settings", context_window=14),
        {("context-window-means-the-window", "e13")},
        id="context-window-not-full",
    ),
    pytest.param(
        {"stop_sequences": ["光的"]},
        put("e00", "settings", stop_sequences=["蓝色"]),
        {("stop-means-a-sequence", "e10")},
        id="another-stop-sequence",
    ),
    pytest.param(
        *({"max_output_tokens": 1}, drop("e04"), {("text-run-is-whole", None)}),
        id="no-prefill",
    ),
    *(
        pytest.param({}, drop(event_id), {("text-run-is-whole", None)}, id=f"no-{name}")
        for event_id, name in (("e01", "context"), ("e03", "start"), ("e22", "draining"))
    ),
    pytest.param(
        {"max_output_tokens": 5},
        both(
            put("e22", "choice", finish_reason="max_tokens"),
            put(
                *("e23", "choice"),
                finish_reason="max_tokens",
                finish_reason_openai="length",
                finish_reason_anthropic="max_tokens",
                output_tokens_returned=5,
            ),
        ),
        {("eos-means-the-end-token", "e23")},
        id="end-token-called-max-tokens",
    ),
    pytest.param(
        {"max_output_tokens": 3, "minimum_output_tokens": 1},
        both(
            put("e15", "choice", finish_reason="eos"),
            put(
                *("e16", "choice"),
                finish_reason="eos",
                finish_reason_openai="stop",
                finish_reason_anthropic="end_turn",
                output_tokens_returned=2,
            ),
        ),
        {("eos-means-the-end-token", "e16")},
        id="max-tokens-called-end-token",
    ),
]


@pytest.mark.parametrize(("overrides", "edit", "rules"), OTHER_ENDINGS)
def test_other_endings(
    overrides: dict[str, object], edit: Edit, rules: set[tuple[str, str | None]]
) -> None:
    """A true run of another ending holds; one fault of it breaks its one rule."""
    trace = run(overrides)
    assert broken(trace) == set()
    assert broken(edit(trace)) == rules


@pytest.mark.parametrize(
    ("missing", "rules"),
    [
        pytest.param("e24", {"text-run-is-whole", "finishes-once"}, id="release"),
        pytest.param("e23", {"text-run-is-whole", "finishes-once"}, id="response"),
    ],
)
def test_what_is_missing_at_the_end(missing: str, rules: set[str]) -> None:
    """A run without its end is not whole, and finishes less than once."""
    assert broken_rules(drop(missing)(main_line())) == rules


REJECTION = event("f", event_type="request.rejected")
ACCEPTED = event("a", event_type="request.accepted")


@pytest.mark.parametrize(
    ("trace", "found"),
    [
        pytest.param(chain(REJECTION, kind="text"), set(), id="at-once"),
        pytest.param(chain(ACCEPTED, REJECTION, kind="text"), set(), id="after-a-look"),
        pytest.param(
            chain(REJECTION, ACCEPTED, kind="text"), {("text-run-is-whole", "f")}, id="goes-on"
        ),
        pytest.param(
            chain(event("p", event_type="prefill.completed"), REJECTION, kind="text"),
            {("text-run-is-whole", "p")},
            id="answered-before",
        ),
    ],
)
def test_a_rejected_request(trace: Trace, found: set[tuple[str, str]]) -> None:
    """A rejected request needs no answer; it must not have one, and nothing may follow."""
    assert broken(trace) == found


def test_selections_of_nothing() -> None:
    """A run that selects nothing is not whole, and the other rules still give a report."""
    trace = main_line()
    for selected in ("e05", "e09", "e13", "e17", "e21"):
        trace = drop(selected)(trace)
    assert ("text-run-is-whole", None) in broken(trace)


def test_an_end_token_in_the_middle() -> None:
    """What the minimum length forbids is the end token: selected before the last, it ended nothing.

    Here the mask of the first step names the token of the third.
    """
    edit = both(
        put_numbers("e05", "outputs", "logits.minimum_length_eos_mask", {16: float("-inf")}),
        put_numbers("e05", "outputs", "logits.control_token_mask", {16: -2.0}),
    )
    assert broken(edit(main_line())) == {("eos-means-the-end-token", "e23")}


def test_another_vocabulary() -> None:
    """A trace of kind text that holds none of a run's events does not hold: it says nothing."""
    foreign = chain(event("a"), event("b", choice={"finish_reason": "stop"}), kind="text")
    assert broken(foreign) == {("no-text-events", None)}


def parts(row: Any) -> Any:
    """Return what a row of parameters holds."""
    return row.values


def test_every_rule_was_broken() -> None:
    """The tables above break every rule there is, so that a new one needs a row."""
    in_tests = {rule for _, _, rules in map(parts, OTHER_ENDINGS) for rule, _ in rules}
    names = {row[0] for row in ALONE} | in_tests | {"no-text-events"}
    assert names == {rule.name for rule in ENDING_RULES}
