"""Each rule on selections is broken by a trace that breaks nothing else, and is reported."""

import pytest
from contracts.text_edits import Row, broken, broken_rules, labelled, put_numbers, put_step
from text_runs import main_line, sampled_run
from trace_building import changed
from trace_edits import Edit, both, payload_of, put, put_draw

from tracediff.contracts.text_selection import SELECTION_RULES
from tracediff.events import Trace

PROCESSED = "logits.minimum_length_eos_mask"
TOP = [[14, 4.2], [15, 3.8], [17, 1.0999999]]

ALONE: list[Row] = [
    ("steps-count-selections", "e09", "same-again", put_step("e09", 1)),
    ("steps-count-selections", "e06", "delta", put_step("e06", 2)),
    ("steps-count-selections", "e04", "prefill", put_step("e04", 1)),
    ("steps-count-selections", "e24", "release", put_step("e24", 0)),
    (
        *("history-is-what-was-chosen", "e13", "other-order"),
        put("e13", "state", chosen_ids=[15, 14]),
    ),
    ("history-is-what-was-chosen", "e21", "shorter", put("e21", "state", chosen_ids=[14, 15, 16])),
    ("history-is-what-was-chosen", "e05", "none", put("e05", "state", chosen_ids=None)),
    ("selection-follows-the-pass", "e09", "length", put("e09", "state", cache_length=12)),
    (
        *("selection-reads-the-last-logits", "e05", "lower"),
        put_numbers("e05", "inputs", "next_logits", {0: -9.0}),
    ),
    (
        *("greedy-takes-the-highest", "e05", "tie"),
        both(
            put_numbers("e05", "outputs", PROCESSED, {13: 4.2}),
            put("e05", "choice", top=[[13, 4.2], [14, 4.2], [15, 3.8]]),
        ),
    ),
    (
        *("top-is-of-the-logits", "e05", "order"),
        put("e05", "choice", top=[TOP[0], TOP[2], TOP[1]]),
    ),
    ("top-is-of-the-logits", "e05", "value", put("e05", "choice", top=[[14, 4.3], *TOP[1:]])),
]

BY_SAMPLING: list[Row] = [
    ("key-is-the-seed", "e05", "another-seed", put_draw("e05", key=[2, 0])),
    ("key-is-the-seed", "e05", "words-exchanged", put_draw("e05", key=[0, 1])),
    ("key-is-the-seed", "e05", "one-word", put_draw("e05", key=[1])),
    ("temperature-decides-the-strategy", "e05", "zero", put("e00", "settings", temperature=0.0)),
    (
        *("strategy-follows-the-draws", "e17", "nothing-drawn"),
        put_draw("e17", counter_before=3, counter_after=3, draws={"count": 0, "shape": [1]}),
    ),
]


def forbidding_the_choice(trace: Trace) -> Trace:
    """Return a sampled run whose first choice was forbidden."""
    token = payload_of(trace, "e05")["choice"]["token_id"]
    trace = put_numbers("e05", "outputs", "logits.temperature", {token: float("-inf")})(trace)
    return put("e05", "choice", top=[])(trace)


@pytest.mark.parametrize(("rule", "event_id", "edit"), labelled(ALONE))
def test_rule_is_broken_alone(rule: str, event_id: str, edit: Edit) -> None:
    """Only the rule that the edit breaks is reported, at the event where it breaks."""
    trace = edit(main_line())
    assert broken_rules(trace) == {rule}
    assert (rule, event_id) in broken(trace)


@pytest.mark.parametrize(("rule", "event_id", "edit"), labelled(BY_SAMPLING))
def test_rule_is_broken_alone_by_sampling(rule: str, event_id: str, edit: Edit) -> None:
    """The same for a run that draws random numbers."""
    trace = edit(sampled_run())
    assert broken_rules(trace) == {rule}
    assert (rule, event_id) in broken(trace)


def test_forbidden_choice() -> None:
    """A sampled id whose processed logit is -inf had no probability."""
    assert broken(forbidding_the_choice(sampled_run())) == {("forbidden-is-not-chosen", "e05")}


def test_every_rule_was_broken() -> None:
    """The tables above break every rule there is, so that a new one needs a row."""
    broken_here = {row[0] for row in (*ALONE, *BY_SAMPLING)} | {"forbidden-is-not-chosen"}
    assert broken_here == {rule.name for rule in SELECTION_RULES}


@pytest.mark.parametrize(
    ("edit", "rules"),
    [
        pytest.param(
            put("e05", "choice", strategy="sampled"),
            {"strategy-follows-the-draws", "temperature-decides-the-strategy"},
            id="greedy-called-sampled",
        ),
        pytest.param(
            put("e00", "settings", temperature=0.5),
            {"temperature-decides-the-strategy"},
            id="greedy-at-a-temperature",
        ),
        pytest.param(
            put("e05", "choice", strategy="beam"),
            {"strategy-follows-the-draws", "temperature-decides-the-strategy"},
            id="unknown-strategy",
        ),
        pytest.param(
            put("e05", "choice", top=[TOP[1], TOP[0], TOP[2]]),
            {"greedy-takes-the-highest", "top-is-of-the-logits"},
            id="second-is-listed-first",
        ),
        pytest.param(
            put("e21", "choice", token_id=40),
            {"selection", "greedy-takes-the-highest", "forbidden-is-not-chosen"}
            | {"eos-means-the-end-token"},
            id="no-id",
        ),
    ],
)
def test_what_several_rules_see(edit: Edit, rules: set[str]) -> None:
    """Some faults are seen from several sides."""
    assert broken_rules(edit(main_line())) == rules


def test_logits_with_nan_say_nothing() -> None:
    """NaN has no place in an order, so neither choice nor top is held against it."""
    nan = put_numbers("e05", "outputs", PROCESSED, {3: float("nan")})
    assert broken_rules(nan(main_line())) == set()


def test_without_logits_the_top_decides() -> None:
    """Where logits are not kept, the chosen id is still the first of the listed top."""

    def edit(trace: Trace) -> Trace:
        for section in ("inputs", "outputs"):
            records = payload_of(trace, "e05")[section]
            kept = [{k: v for k, v in record.items() if k != "values"} for record in records]
            trace = changed(trace, "e05", **{section: kept})
        return put("e05", "choice", top=[TOP[1], TOP[0], TOP[2]])(trace)

    assert broken(edit(main_line())) == {("greedy-takes-the-highest", "e05")}
