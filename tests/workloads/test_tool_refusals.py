"""tool-001 with inputs that must be refused: a clear rejection in the trace, nothing executed."""

from typing import Any

import pytest
from tool_runs import GENERATED, choice, ending, proposing, run_with, states, the
from toolcalls.calendar_tool import ARGUMENTS, SPEC

from tracediff.contracts import check_trace
from tracediff.workloads.run import run_fixture
from tracediff.workloads.tool import World
from tracediff.workloads.tool_injections import Injection


def arguments(**changes: str) -> bytes:
    found = {**ARGUMENTS, **changes}
    members = (
        f'"{key}":{value}' if isinstance(value, int) else f'"{key}":"{value}"'
        for key, value in found.items()
    )
    return f"{{{','.join(members)}}}".encode()


NEW_YORK = {"timezone": "America/New_York"}

BAD_PROPOSALS: dict[str, tuple[bytes, dict[str, Any], str, str]] = {
    "ten-megabytes": (b'{"title":"' + b"x" * 10_000_000 + b'"}', {}, "proposal", "too-large"),
    "nested-arrays": (b"[" * 10_000 + b"]" * 10_000, {}, "proposal", "too-deep"),
    "duplicate-key": (
        arguments()[:-1] + b',"local_time":"10:00"}',
        {},
        "proposal",
        "duplicate-key",
    ),
    "nan": (b'{"duration_minutes":NaN}', {}, "proposal", "not-a-number"),
    "lone-surrogate": (arguments(title="\\ud83d"), {}, "proposal", "lone-surrogate"),
    "bytes-of-a-surrogate": (
        arguments().replace("带".encode(), b"\xed\xa0\xbd"),
        {},
        "proposal",
        "not-utf-8",
    ),
    "cut-off-bytes": (arguments()[:-1], {}, "proposal", "malformed"),
    "skipped-time": (
        arguments(local_date="2026-03-08", local_time="02:30"),
        NEW_YORK,
        "normalization",
        "nonexistent-time",
    ),
    "time-that-comes-twice": (
        arguments(local_date="2026-11-01", local_time="01:30"),
        NEW_YORK,
        "normalization",
        "ambiguous-time",
    ),
    "unknown-zone": (
        arguments(),
        {"timezone": "Mars/Olympus_Mons"},
        "normalization",
        "unknown-timezone",
    ),
}


@pytest.mark.parametrize(
    ("content", "overrides", "stage", "reason"), BAD_PROPOSALS.values(), ids=BAD_PROPOSALS
)
def test_bad_proposals_are_refused_and_nothing_is_executed(
    content: bytes, overrides: dict[str, Any], stage: str, reason: str
) -> None:
    """A clear rejection stands in the trace, and then only the end."""
    trace = proposing(content, **overrides)
    rejected, closed = trace.events[-2:]
    assert rejected.event_type == f"{stage}.rejected"
    assert rejected.payload["choice"]["reason"] == reason
    assert rejected.payload["note"]
    assert closed.payload["commit"] == {"external_commit": False, "external_ids": []}
    assert "invocation.started" not in {event.event_type for event in trace.events}
    assert check_trace(trace).violations == ()


def test_a_huge_proposal_does_not_fill_the_trace() -> None:
    """Of bytes that are not read, length and digest are kept."""
    trace = proposing(b"x" * 10_000_000)
    state = the(trace, "proposal.rejected").payload["state"]
    assert state["arguments_bytes"] == 10_000_000
    assert "arguments_text" not in state


def test_a_bad_date_is_the_schemas_matter() -> None:
    """30 February is refused by the format, before anything is normalised."""
    trace = proposing(arguments(local_date="2026-02-30"))
    assert states(trace)[-1] == ("schema.rejected", "VALIDATION_REJECTED")
    (breach,) = choice(trace, "schema.rejected")["breaches"]
    assert breach == {"path": "$.local_date", "keyword": "format", "detail": '"date"'}


def test_a_cut_off_proposal_is_not_executed_even_if_it_parses() -> None:
    """Whatever the bytes look like, a generation that hit its limit is refused."""
    trace = proposing(arguments(), max_proposal_tokens=5)
    assert choice(trace, "proposal.generated")["finish_reason"] == "max_tokens"
    assert choice(trace, "proposal.rejected")["reason"] == "truncated"
    assert states(trace) == [*GENERATED, ("proposal.rejected", "PROPOSAL_REJECTED")]


@pytest.mark.parametrize("limit", range(1, 27))
def test_cut_off_at_every_length(limit: int) -> None:
    """Wherever max_tokens cuts the arguments: truncated in the trace, and never executed."""
    trace = run_fixture("tool-001", {"max_proposal_tokens": limit})
    assert choice(trace, "proposal.generated")["finish_reason"] == "max_tokens"
    assert choice(trace, "proposal.rejected")["reason"] == "truncated"
    assert states(trace) == [*GENERATED, ("proposal.rejected", "PROPOSAL_REJECTED")]
    assert ending(trace) == ("proposal-rejected", False)


def with_title(**keywords: Any) -> dict[str, Any]:
    """Return the tool with other keywords for the title."""
    inner = SPEC["input_schema"]
    properties = {**inner["properties"], "title": {"type": "string", **keywords}}
    return {**SPEC, "input_schema": {**inner, "properties": properties}}


@pytest.mark.parametrize(
    ("keywords", "reason"),
    [
        pytest.param({"$ref": "https://example.com/s.json"}, "reference", id="remote-reference"),
        pytest.param({"pattern": "(?=(a+)+$)"}, "pattern", id="pattern-that-looks-around"),
        pytest.param({"pattern": "(a{1000}){1000}"}, "pattern", id="pattern-too-large"),
        pytest.param({"minLength": -1}, "invalid-schema", id="no-schema"),
    ],
)
def test_bad_tools_are_refused_before_a_model_sees_them(
    keywords: dict[str, Any], reason: str
) -> None:
    """A tool that is not understood is rejected in the trace; no model is called."""
    trace = run_with(World(tool=with_title(**keywords)))
    assert [event.event_type for event in trace.events] == ["tool.rejected", "trace.closed"]
    assert trace.root.payload["choice"]["reason"] == reason
    assert ending(trace) == ("tool-rejected", False)
    assert check_trace(trace).violations == ()


def test_a_catastrophic_pattern_is_bounded() -> None:
    """A pattern on which others never end is matched in linear time, and the text refused."""
    content = arguments(title="a" * 20_000 + "!")
    tool = with_title(pattern="^(a+)+$")
    trace = run_with(World(Injection(proposal=lambda proposed: content), tool=tool))
    (breach,) = choice(trace, "schema.rejected")["breaches"]
    assert breach["keyword"] == "pattern"
