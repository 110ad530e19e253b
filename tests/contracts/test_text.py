"""Each rule on text traces is broken by a trace that breaks nothing else, and is then reported."""

import pytest
from text_runs import main_line, run
from trace_edits import Edit, both, drop, drop_tensor, payload_of, put, put_tensor, repeat

from tracediff.contracts import check_trace
from tracediff.contracts.text import TEXT_RULES
from tracediff.events import Trace


def first_logits_with(token: int, value: float) -> Edit:
    """Return an edit that sets one of the first raw logits."""

    def edit(trace: Trace) -> Trace:
        outputs = payload_of(trace, "e04")["outputs"]
        values = list(next(r["values"] for r in outputs if r["name"] == "next_logits"))
        values[token] = value
        return put_tensor("e04", "next_logits", values=values)(trace)

    return edit


IDS = [1, 2, 7, 3, 4, 8, 9, 10, 11, 12, 5, 6]
NO_ZERO = {"layer": 1, "positions": list(range(1, 13))}

# rule, event that is reported (None: the whole trace), edit of the main line
BROKEN = [
    ("input-ids", "e02", "other-id", put("e02", "choice", input_ids=[[*IDS[:-1], 7]])),
    ("parallel-arrays", "e02", "short-mask", put("e02", "choice", attention_mask=[[1] * 11])),
    ("parallel-arrays", "e02", "no-positions", put("e02", "choice", position_ids=None)),
    ("parallel-arrays", "e02", "two-rows", put("e02", "choice", attention_mask=[[1] * 12] * 2)),
    (
        "prefill-fills-caches",
        "e04",
        "positions",
        put_tensor("e04", "layer.1.cache.key", logical=NO_ZERO),
    ),
    (
        "prefill-fills-caches",
        "e04",
        "too-few-positions",
        put_tensor("e04", "layer.1.cache.key", logical={"layer": 1, "positions": [*range(11)]}),
    ),
    (
        "prefill-fills-caches",
        "e04",
        "shape",
        put_tensor("e04", "layer.0.cache.value", shape=[1, 1, 11, 4]),
    ),
    (
        "prefill-fills-caches",
        "e04",
        "huge-shape",
        put_tensor("e04", "layer.0.cache.value", shape=[1, 1, 10**15, 4]),
    ),
    ("first-raw-top", "e04", "another-highest", first_logits_with(13, 4.3)),
    (
        "selection",
        None,
        "another-token",
        both(put("e05", "choice", token_id=13), put("e07", "state", token_id=13)),
    ),
    (
        "final-text",
        "e23",
        "end-token-in-text",
        both(
            put("e23", "choice", text="短波蓝光的散射通常更强。EOS"),
            put("e18", "choice", text="。EOS"),
        ),
    ),
    (
        "caches-grow-by-one",
        "e08",
        "positions",
        put_tensor("e08", "layer.0.cache.key", logical={"layer": 0, "positions": [*range(12), 14]}),
    ),
    ("caches-grow-by-one", "e20", "length", put("e20", "state", cache_length=17)),
    ("caches-grow-by-one", "e12", "missing-cache", drop_tensor("e12", "layer.1.cache.value")),
    ("caches-grow-by-one", "e12", "missing-decode", drop("e08")),
    ("caches-grow-by-one", "e24", "missing-last-decode", drop("e20")),
    ("caches-grow-by-one", "e24", "released", put("e24", "state", cache_final_length=15)),
    ("ordinary-tokens-are-decoded", "e21", "another-token", put("e07", "state", token_id=15)),
    ("ordinary-tokens-are-decoded", "e21", "not-decoded", drop("e19")),
    ("end-token-not-returned", "e23", "count", put("e23", "choice", output_tokens_returned=5)),
    ("returned-text-is-streamed-text", "e23", "delta", put("e06", "choice", text="短波")),
    ("deltas-are-numbered", "e10", "gap", put("e10", "choice", sequence_no=2)),
    ("deltas-are-numbered", "e23", "final", put("e23", "choice", sequence_no=5)),
    ("finishes-once", "copy", "released-twice", repeat("e24")),
    ("finishes-once", "copy", "finished-twice", repeat("e23")),
    ("finishes-once", None, "never-released", drop("e24")),
    ("finishes-once", None, "never-finished", put("e23", "choice", status="FAILED")),
]


@pytest.mark.parametrize(
    ("rule", "event_id", "edit"),
    [pytest.param(rule, event, edit, id=f"{rule}-{name}") for rule, event, name, edit in BROKEN],
)
def test_broken_rule_is_reported(rule: str, event_id: str | None, edit: Edit) -> None:
    """Only the rule that the edit breaks is reported, at the event where it breaks."""
    report = check_trace(edit(main_line()))
    assert {violation.rule for violation in report.violations} == {rule}
    assert event_id in {violation.event_id for violation in report.violations}
    assert all(violation.reason for violation in report.violations)


def test_limit_means_the_limit() -> None:
    """max_tokens below the limit breaks the rule on it, and nothing else."""
    trace = run({"max_output_tokens": 3})
    assert check_trace(trace).violations == ()
    report = check_trace(put("e00", "settings", max_output_tokens=4)(trace))
    found = [(violation.rule, violation.event_id) for violation in report.violations]
    assert found == [("max-tokens-means-the-limit", "e16")]


def test_every_rule_was_broken() -> None:
    """The tables above break every rule there is, so that a new one needs a row."""
    broken = {row[0] for row in BROKEN} | {"max-tokens-means-the-limit"}
    assert broken == {rule.name for rule in TEXT_RULES}


def test_main_line_breaks_nothing() -> None:
    """All rules apply to the main line, and it keeps them."""
    report = check_trace(main_line())
    assert report.violations == ()
    assert set(TEXT_RULES) <= set(report.applied)
    assert (report.kind, report.events) == ("text", 25)


@pytest.mark.parametrize("header", [{"overrides": {"seed": 1}}, {"injection": "x"}])
def test_known_answers_hold_for_the_main_line_only(header: dict[str, object]) -> None:
    """A run with overrides or an injection is not held to the answers of the main line."""
    old = main_line().header
    report = check_trace(put("e00", "trace", **{**old, **header})(main_line()))
    known_answers = {"input-ids", "first-raw-top", "selection", "final-text"}
    assert {rule.name for rule in TEXT_RULES} - {r.name for r in report.applied} == known_answers
