"""The known answers of text-001, and what holds for the table of all rules on text traces."""

import pytest
from contracts.text_edits import (
    broken,
    broken_rules,
    choosing,
    disguised,
    put_header,
    put_numbers,
    without_logits,
)
from text_runs import main_line, run
from trace_edits import Edit, both, put

from tracediff.contracts import check_trace
from tracediff.contracts.text import KNOWN_ANSWERS, TEXT_RULES
from tracediff.workloads.run import run_fixture

OTHER_IDS = [[1, 2, 7, 3, 4, 8, 9, 10, 11, 12, 5, 7]]
FULL_TEXT = "短波蓝光的散射通常更强。"

# rule, event that is reported (None: the whole trace), edit of the main line
BROKEN = [
    pytest.param(
        *("input-ids", "e02"),
        both(put("e02", "choice", input_ids=OTHER_IDS), put("e04", "state", input_ids=OTHER_IDS)),
        id="other-id",
    ),
    pytest.param(
        *("first-raw-top", "e04"),
        both(
            put_numbers("e04", "outputs", "next_logits", {6: 4.3}),
            put_numbers("e05", "inputs", "next_logits", {6: 4.3}),
        ),
        id="another-highest",
    ),
    pytest.param(
        *("final-text", "e23"),
        both(
            put("e23", "choice", text=f"{FULL_TEXT}EOS"),
            put("e18", "choice", text="。EOS"),
        ),
        id="end-token-in-text",
    ),
]


@pytest.mark.parametrize(("rule", "event_id", "edit"), BROKEN)
def test_broken_answer_is_reported(rule: str, event_id: str, edit: Edit) -> None:
    """Only the answer that the edit changes is reported, at the event where it is."""
    assert broken(edit(main_line())) == {(rule, event_id)}


def test_another_selection_is_reported() -> None:
    """So is another token that leads to the same text."""
    assert broken(choosing(14, 13)(without_logits())) == {("selection", None)}


def test_a_run_that_denies_its_overrides_is_found_out() -> None:
    """A run of another prompt does not give the answers of the main line."""
    assert broken_rules(disguised({"prompt": "是？"})) >= {"input-ids", "selection", "final-text"}


def test_main_line_breaks_nothing() -> None:
    """All rules apply to the main line, and it keeps them."""
    report = check_trace(main_line())
    assert report.violations == ()
    assert set(TEXT_RULES) <= set(report.applied)
    assert (report.kind, report.events) == ("text", 25)


@pytest.mark.parametrize("kernel", ["ordered", "blas", "float64"])
@pytest.mark.parametrize("level", ["digest", "sketch", "values", "full"])
@pytest.mark.parametrize(
    "overrides",
    [
        pytest.param({}, id="main-line"),
        pytest.param({"temperature": 2.5, "seed": 2**64 - 1, "top_p": 0.9}, id="sampled"),
        pytest.param({"repetition_penalty": 2.0, "kv_cache": False}, id="recomputed"),
        pytest.param({"stop_sequences": ["光的", "EOS"]}, id="stopped"),
    ],
)
def test_true_runs_keep_the_contract(overrides: dict[str, object], level: str, kernel: str) -> None:
    """Every numeric path keeps every rule, whatever is recorded of tensors."""
    trace = run_fixture("text-001", overrides, kernel=kernel, tensors=level)
    assert check_trace(trace).violations == ()


@pytest.mark.parametrize("header", [{"overrides": {"seed": 1}}, {"injection": "x"}])
def test_known_answers_hold_for_the_main_line_only(header: dict[str, object]) -> None:
    """A run with overrides or an injection is not held to the answers of the main line."""
    report = check_trace(put_header(**header)(main_line()))
    assert set(TEXT_RULES) - set(report.applied) == set(KNOWN_ANSWERS)


def test_names_of_rules_are_told_once() -> None:
    """No two rules of a trace have one name, so that a name says which one is broken."""
    names = [rule.name for rule in check_trace(run({"temperature": 0.7})).applied]
    assert len(set(names)) == len(names)
