"""Rules on what a tool trace records: each is broken by an edit that breaks nothing else."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from contracts.tool_traces import BEFORE, ROOT, closed, tool
from tool_runs import BRANCHES, branch, main_line
from trace_building import event
from trace_edits import Edit, both, payload_of, put

from tracediff.contracts import check_trace
from tracediff.contracts.tool_answers import TOOL_ANSWER_RULES
from tracediff.contracts.tool_records import TOOL_RECORD_RULES
from tracediff.events import Event, Trace
from tracediff.events.canonical_json import json_digest


def retold(**entries: Any) -> Edit:
    """Return an edit that shows, commits and tells other values under the same names."""

    def edit(trace: Trace) -> Trace:
        shown = payload_of(trace, "t06")["choice"]["shown"]
        told = payload_of(trace, "t10")["choice"]
        text = json.dumps({**json.loads(told["text"]), **entries})
        known = {key: value for key, value in entries.items() if key in shown}
        return both(
            put("t06", "choice", shown={**shown, **known}),
            put("t09", "commit", **known),
            put("t10", "choice", result={**told["result"], **entries}, text=text),
            put("t11", "state", tool_results=[text]),
        )(trace)

    return edit


def invocation(**arguments: Any) -> Edit:
    """Return an edit that gives the invocation other arguments and the digests of these."""

    def edit(trace: Trace) -> Trace:
        old = payload_of(trace, "t04")["choice"]["invocation"]
        new = {**old, "normalized_arguments": {**old["normalized_arguments"], **arguments}}
        digest = json_digest({"invocation_id": "inv_01", **new})
        request_digest = json_digest(new["normalized_arguments"])
        edits = [
            put("t04", "choice", invocation=new, invocation_digest=digest),
            put("t04", "choice", request_digest=request_digest),
            put("t06", "state", invocation_digest=digest),
            put("t07", "state", invocation_digest=digest, confirmed_digest=digest),
            put("t08", "state", invocation_digest=digest, arguments=new["normalized_arguments"]),
            put("t08", "commit", request_digest=request_digest),
            put("t09", "commit", request_digest=request_digest),
            retold(start=new["normalized_arguments"]["start"]),
        ]
        return both(*edits)(trace)

    return edit


def fragments(*texts: str, first: int = 0) -> list[dict[str, Any]]:
    return [{"sequence_no": first + i, "text": text} for i, text in enumerate(texts)]


ANSWER = "已在 2026 年 7 月 20 日上午 9:00 创建“带护照”提醒。"

# rule, event that is reported, edit of the main line
BROKEN: dict[str, tuple[str, str, Edit]] = {
    "wrong-state": ("states-follow-the-table", "t09", put("t09", "state", status="EXECUTING")),
    "state-too-early": ("states-follow-the-table", "t05", put("t05", "state", status="PREPARED")),
    "digest-of-other-arguments": (
        "digests-are-of-the-content",
        "t08",
        put("t08", "state", arguments={"title": "x"}),
    ),
    "digest-of-another-invocation": (
        "digests-are-of-the-content",
        "t04",
        put("t04", "ids", invocation_id="inv_02"),
    ),
    "argument-dropped": (
        "digests-are-of-the-content",
        "t08",
        put("t08", "state", arguments={"calendar_id": "primary"}),
    ),
    "result-of-another-call": (
        "results-are-bound-by-call",
        "t11",
        put("t11", "ids", tool_call_ids=["p_02"]),
    ),
    "another-result": (
        "results-are-bound-by-call",
        "t11",
        put("t11", "state", tool_results=['{"status":"ok"}']),
    ),
    "result-without-call": (
        "results-are-bound-by-call",
        "t11",
        put("t11", "ids", tool_call_ids=[]),
    ),
    "naive-time": (
        "local-time-keeps-its-zone",
        "t04",
        invocation(start="2026-07-20T09:00:00"),
    ),
    "naive-time-in-another-zone": (
        "local-time-keeps-its-zone",
        "t04",
        invocation(start="2026-07-20T09:00:00+00:00"),
    ),
    "moved-time": (
        "local-time-keeps-its-zone",
        "t04",
        invocation(start="2026-07-20T10:00:00+08:00"),
    ),
    "fragment-lost": (
        "answer-is-streamed-text",
        "t13",
        put("t12", "choice", fragments=fragments("已在")),
    ),
    "fragments-misnumbered": (
        "answer-is-streamed-text",
        "t12",
        both(
            put("t12", "choice", fragments=fragments(ANSWER, first=1)),
            put("t13", "choice", sequence_no=1),
        ),
    ),
    "reused-too-much": (
        "reused-prefix",
        "t11",
        put("t11", "state", reused_positions=87, prefilled_positions=45),
    ),
    "cache-too-long": ("reused-prefix", "t11", put("t11", "state", cache_length=133)),
    "prefilled-nothing": ("reused-prefix", "t00", put("t00", "state", prefilled_positions=0)),
}


def overridden(trace: Trace) -> Trace:
    """Return the trace as one with overrides: the fixture's known answers do not bind it."""
    return put("t00", "trace", overrides={"service_seed": 107131})(trace)


@pytest.mark.parametrize(("rule", "place", "edit"), BROKEN.values(), ids=BROKEN)
def test_rules_are_broken_alone(rule: str, place: str, edit: Edit) -> None:
    """The edited main line breaks its rule at its event, and no other rule."""
    violations = check_trace(edit(overridden(main_line()))).violations
    assert {violation.rule for violation in violations} == {rule}, violations
    assert place in {violation.event_id for violation in violations}


def test_every_rule_is_broken_by_some_edit() -> None:
    """No rule on records is without its edit."""
    assert {rule for rule, _, _ in BROKEN.values()} == {rule.name for rule in TOOL_RECORD_RULES}


KNOWN: dict[str, tuple[str, Edit]] = {
    "other-finish": ("token-counts", put("t01", "choice", finish_reason="eos")),
    "other-count": ("token-counts", put("t01", "choice", generated_tokens=28)),
    "other-arguments": (
        "proposed-arguments",
        both(
            put("t01", "choice", text="{}"),
            put("t02", "state", arguments_text="{}"),
            put("t02", "choice", arguments={}),
        ),
    ),
    "other-effect": (
        "known-effect",
        both(
            put("t09", "commit", external_id="evt_AAA"),
            retold(event_id="evt_AAA"),
            put("t14", "commit", external_ids=["evt_AAA"]),
        ),
    ),
    "other-finish-of-the-answer": (
        "known-effect",
        put("t13", "choice", finish_reason="max_tokens"),
    ),
    "other-end": ("final-status", put("t14", "choice", status="DONE")),
}


@pytest.mark.parametrize(("rule", "edit"), KNOWN.values(), ids=KNOWN)
def test_known_answers_bind_the_fixture(rule: str, edit: Edit) -> None:
    """A run without overrides is held to the chapter's facts."""
    violations = check_trace(edit(main_line())).violations
    assert {violation.rule for violation in violations} == {rule}, violations


def test_every_known_answer_is_checked() -> None:
    """No rule on known answers is without its edit."""
    assert {rule for rule, _ in KNOWN.values()} == {rule.name for rule in TOOL_ANSWER_RULES}


@pytest.mark.parametrize("make", [main_line, *(lambda n=n: branch(n) for n in BRANCHES)])
def test_runs_keep_every_rule(make: Callable[[], Trace]) -> None:
    """Main line and branches break nothing."""
    report = check_trace(make())
    assert report.violations == ()
    assert {rule.name for rule in (*TOOL_RECORD_RULES, *TOOL_ANSWER_RULES)} <= {
        rule.name for rule in report.applied
    }


def with_status(found: Event, status: str) -> Event:
    """Return an event that records a status."""
    state = {**found.payload.get("state", {}), "status": status}
    return event(found.event_id, None, found.event_type, **{**found.payload, "state": state})


def test_a_step_that_the_table_does_not_have() -> None:
    """Where states are recorded, an event out of its order is reported, and only the first."""
    order = [BEFORE[index] for index in (1, 2, 4, 3, 5)]
    words = ["PROPOSED", "PARSED", "VALIDATED", "VALIDATED", "AUTHORIZED"]
    trace = tool(ROOT, *map(with_status, order, words), closed(False))
    violations = check_trace(trace).violations
    assert [(v.rule, v.event_id) for v in violations] == [("states-follow-the-table", "normal")]
    assert "not allowed in state PARSED" in violations[0].reason


def test_parallel_results_may_arrive_in_any_order() -> None:
    """Results are bound by id: another order of arrival is in order, another binding is not."""
    calls = ["w", "t"]
    texts = {"w": "22C", "t": "14:05"}

    def reading(order: list[str], told: list[str]) -> list[str]:
        arrived = [
            event(
                f"result-{name}",
                None,
                "result.encoded",
                choice={"text": texts[name]},
                ids={"tool_call_id": name},
            )
            for name in order
        ]
        model = event(
            "reads",
            None,
            "model.started",
            state={"tool_results": told},
            ids={"tool_call_ids": calls},
        )
        report = check_trace(tool(ROOT, *arrived, model, closed(False)))
        return [v.rule for v in report.violations if v.rule == "results-are-bound-by-call"]

    right, swapped = [texts[name] for name in calls], [texts[name] for name in reversed(calls)]
    assert reading(["w", "t"], right) == reading(["t", "w"], right) == []
    assert reading(["w", "t"], swapped) == reading(["t", "w"], swapped) != []


def test_foreign_digests_are_compared_and_not_recomputed() -> None:
    """A digest of another form beside its content is taken as it is."""
    foreign = event(
        "started",
        None,
        "invocation.started",
        state={"arguments": {"amount": 5}},
        commit={"request_digest": "crc32:cafe"},
    )
    own = event(
        "started",
        None,
        "invocation.started",
        state={"arguments": {"amount": 5}},
        commit={"request_digest": "sha256:cafe"},
    )
    rules = [
        {violation.rule for violation in check_trace(tool(ROOT, found, closed(False))).violations}
        for found in (foreign, own)
    ]
    assert "digests-are-of-the-content" not in rules[0]
    assert "digests-are-of-the-content" in rules[1]
