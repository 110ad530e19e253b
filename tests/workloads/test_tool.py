"""tool-001, the main line: the events t00 to t14 with the facts of chapter 7, 7.10 to 7.14."""

from typing import Any

import pytest
from tool_runs import choice, definition, main_line, the
from toolcalls.calendar_tool import ARGUMENTS, NORMALIZED, SPEC

from tracediff.engine.json_grammar import JsonGrammar
from tracediff.events.canonical_json import json_digest
from tracediff.workloads.run import run_fixture
from tracediff.workloads.tool_model import ToolText

# Chapter 7, 7.11 to 7.14; `components` of 7.12 and 7.13 are the project's words.
EVENTS = [
    ("t00", "model runtime", "model.started", None, 1),
    ("t01", "decoder", "proposal.generated", "PROPOSED", 1),
    ("t02", "JSON parser", "proposal.parsed", "PARSED", 1),
    ("t03", "validator", "schema.validated", "VALIDATED", 1),
    ("t04", "normalizer", "invocation.normalized", "VALIDATED", 1),
    ("t05", "authorizer", "authorization.allowed", "AUTHORIZED", 1),
    ("t06", "confirmation", "confirmation.requested", "PREPARED", 1),
    ("t07", "confirmation", "confirmation.approved", "PREPARED", 1),
    ("t08", "executor", "invocation.started", "EXECUTING", 1),
    ("t09", "calendar", "external.committed", "COMMITTED", 1),
    ("t10", "encoder", "result.encoded", "OBSERVED", 1),
    ("t11", "model runtime", "model.started", None, 2),
    ("t12", "transport", "text.delta", None, 2),
    ("t13", "runtime", "response.completed", None, 2),
    ("t14", "tracing", "trace.closed", None, 2),
]
ANSWER = "已在 2026 年 7 月 20 日上午 9:00 创建“带护照”提醒。"
SMALLEST_MARGIN = 0.01


def payload(event_id: str) -> Any:
    return next(e.payload for e in main_line().events if e.event_id == event_id)


def shapes(event_id: str) -> dict[str, list[int]]:
    return {record["name"]: record["shape"] for record in payload(event_id)["outputs"]}


def test_events() -> None:
    """Fifteen events in a chain, with the chapter's components, types and states."""
    found = [
        (e.event_id, e.component, e.event_type, e.payload.get("state", {}).get("status"), step)
        for e in main_line().events
        for step in [e.logical_step]
    ]
    assert found == EVENTS
    parents = [event.parent_event_id for event in main_line().events]
    assert parents == [None, *(event_id for event_id, *_ in EVENTS[:-1])]


def test_first_call_reads_86_tokens() -> None:
    """7.11: the first prompt's ids, and its prefill's shapes."""
    state = payload("t00")["state"]
    assert len(state["input_ids"][0]) == state["input_token_count"] == state["cache_length"] == 86
    assert (state["reused_positions"], state["prefilled_positions"]) == (0, 86)
    assert state["shapes"] == {
        "input_ids": [1, 86],
        "residual": [1, 86, 16],
        "key_value": [1, 2, 86, 4],
        "raw_logits": [1, 256],
    }
    found = shapes("t00")
    for layer in (0, 1):
        assert found[f"layer.{layer}.residual_in"] == [1, 86, 16]
        assert found[f"layer.{layer}.query"] == [1, 4, 86, 4]
        assert found[f"layer.{layer}.score"] == [1, 4, 86, 86]
        assert found[f"layer.{layer}.residual_out"] == [1, 86, 16]
        assert found[f"layer.{layer}.cache.key"] == [1, 2, 86, 4]
        assert found[f"layer.{layer}.cache.value"] == [1, 2, 86, 4]
    assert found["next_logits"] == [1, 256]
    assert payload("t00")["ids"] == {"request_id": "req-42", "model_call_id": "mc_01"}


def test_the_prompt_holds_instruction_tool_and_request() -> None:
    """The template serialises the instruction, the whole tool and the user's message."""
    text = payload("t00")["state"]["text"]
    assert text.startswith("<bos><system>今天：2026-07-19。")
    assert '<tools>{"name":"calendar.create_event","version":"v1"' in text
    assert r'"pattern":"^(?:[01][0-9]|2[0-3]):[0-5][0-9]$"' in text
    assert text.endswith("<user>明天上午九点提醒我带护照，提交前让我确认。</user><assistant>")


def test_the_vocabulary_has_256_pieces() -> None:
    """The fixed list has 256 different pieces, and a single one for every ASCII character."""
    pieces = definition().content["tokenizer"]["pieces"]
    assert len(set(pieces)) == len(pieces) == 256
    assert {chr(code) for code in range(32, 127)} <= set(pieces)


def test_27_tokens_are_proposed() -> None:
    """7.11: the grammar's acceptance ends the proposal after 27 tokens."""
    found = choice(main_line(), "proposal.generated")
    assert len(found["steps"]) == found["generated_tokens"] == 27
    assert found["finish_reason"] == "tool_proposal_complete"
    assert payload("t01")["ids"] == {"model_call_id": "mc_01", "tool_call_id": "p_01"}


def grammar() -> JsonGrammar:
    return ToolText(definition(), SPEC).grammar(SPEC["input_schema"])


def test_the_model_really_chooses() -> None:
    """At least ten steps leave two or more pieces, and each winner leads by a margin."""
    steps = choice(main_line(), "proposal.generated")["steps"]
    answer = choice(main_line(), "text.delta")["steps"]
    mask = grammar()
    chosen: tuple[int, ...] = ()
    pieces = definition().content["tokenizer"]["pieces"]
    for step in steps:
        allowed = mask.allowed(chosen)
        assert step["token_id"] in allowed
        assert step["allowed"] == len(allowed)
        chosen = (*chosen, step["token_id"])
        print(f"{step['allowed']:4} allowed, {pieces[step['token_id']]!r}")
    assert mask.is_complete(chosen)
    assert sum(step["allowed"] >= 2 for step in steps) >= 10
    margins = [step["top"][0][1] - step["top"][1][1] for step in (*steps, *answer)]
    print(f"smallest winning margin {min(margins):.4f} of {len(margins)} steps")
    assert min(margins) >= SMALLEST_MARGIN


@pytest.mark.parametrize("event_type", ["proposal.generated", "text.delta"])
def test_longest_match_gives_the_generated_ids_back(event_type: str) -> None:
    """Tokenising what was generated gives the ids that were chosen."""
    text = ToolText(definition(), SPEC)
    chosen = [step["token_id"] for step in choice(main_line(), event_type)["steps"]]
    chosen = [token for token in chosen if token != text.eos]
    spelled = "".join(text.pieces[token] for token in chosen)
    assert text.encode(spelled) == chosen


def test_arguments_are_parsed_and_valid() -> None:
    """7.11: the proposed bytes are these arguments, and they fit the schema."""
    assert choice(main_line(), "proposal.parsed")["arguments"] == dict(ARGUMENTS)
    text = choice(main_line(), "proposal.generated")["text"]
    assert payload("t02")["state"]["arguments_text"] == text
    assert choice(main_line(), "schema.validated") == {"verdict": "valid", "breaches": []}
    assert payload("t03")["artifacts"]["dialect"] == "Draft 2020-12"


def test_the_invocation_is_normalised() -> None:
    """7.12: the invocation, by which clock and zone, and its digests."""
    found = choice(main_line(), "invocation.normalized")
    assert found["invocation"] == {
        "tool": "calendar.create_event@v1",
        "normalized_arguments": dict(NORMALIZED),
        "subject": "user-42",
        "required_capability": "calendar.write:primary",
    }
    whole = {"invocation_id": "inv_01", **found["invocation"]}
    assert found["invocation_digest"] == json_digest(whole)
    assert found["request_digest"] == json_digest(dict(NORMALIZED))
    assert payload("t04")["ids"] == {"tool_call_id": "p_01", "invocation_id": "inv_01"}
    assert payload("t04")["state"] == {
        "status": "VALIDATED",
        "reference_clock": "2026-07-19T14:00:00+08:00",
        "timezone": "Asia/Shanghai",
    }


def test_authorised_and_confirmed() -> None:
    """7.12: by which capability it is allowed, what is shown, and what is approved."""
    assert payload("t05")["state"]["subject"] == "user-42"
    assert payload("t05")["state"]["scope"] == "primary"
    assert payload("t05")["choice"]["granted_by"] == "calendar.write:primary"
    digest = payload("t04")["choice"]["invocation_digest"]
    assert payload("t06")["state"]["invocation_digest"] == digest
    assert payload("t06")["choice"]["shown"]["timezone"] == "Asia/Shanghai"
    assert payload("t06")["choice"]["shown"]["start"] == NORMALIZED["start"]
    assert payload("t07")["state"]["confirmed_digest"] == digest
    assert payload("t07")["choice"] == {"decision": "approve"}
    assert payload("t07")["ids"]["confirmation_id"] == "confirm_01"


def test_the_effect_is_committed() -> None:
    """7.13: key and digest before, the external id after; t09 is the commit boundary."""
    request = {
        "scope": "user-42/primary",
        "tool_version": "calendar.create_event@v1",
        "idempotency_key": "req-42:create-event:1",
        "request_digest": json_digest(dict(NORMALIZED)),
        "attempt": 1,
    }
    assert payload("t08")["commit"] == {
        "status": "pending",
        **request,
        "at": "2026-07-19T14:00:03+08:00",
    }
    assert payload("t09")["commit"] == {
        "status": "committed",
        **request,
        "external_id": "evt_6K2",
        "committed_at": "2026-07-19T14:00:04+08:00",
        "start": "2026-07-20T09:00:00+08:00",
        "at": "2026-07-19T14:00:04+08:00",
    }
    assert payload("t08")["state"]["arguments"] == dict(NORMALIZED)
    executed = payload("t08")["state"]["invocation_digest"]
    assert executed == payload("t07")["state"]["confirmed_digest"]


def test_the_result_is_told() -> None:
    """7.13: the result, and the message that the model reads."""
    assert payload("t10")["choice"]["result"] == {
        "status": "ok",
        "event_id": "evt_6K2",
        "committed_at": "2026-07-19T14:00:04+08:00",
        "start": "2026-07-20T09:00:00+08:00",
    }
    message = payload("t10")["choice"]["text"]
    assert payload("t11")["state"]["tool_results"] == [message]
    assert payload("t11")["ids"]["tool_call_ids"] == ["p_01"]
    for local in ("p_01", "inv_01", "confirm_01", "req-42"):
        assert local not in payload("t11")["state"]["text"], "a local id reached the prompt"


def test_second_call_reuses_the_prefix() -> None:
    """7.14: 132 tokens, 86 of them from the cache, 46 prefilled."""
    first, second = payload("t00")["state"], payload("t11")["state"]
    assert len(second["input_ids"][0]) == second["input_token_count"] == 132
    assert second["input_ids"][0][:86] == first["input_ids"][0]
    assert (second["reused_positions"], second["prefilled_positions"]) == (86, 46)
    assert second["position_ids"] == [list(range(86, 132))]
    assert second["shapes"] == {
        "input_ids": [1, 132],
        "residual": [1, 132, 16],
        "key_value": [1, 2, 132, 4],
        "raw_logits": [1, 256],
    }
    found = shapes("t11")
    assert found["layer.1.residual_out"] == [1, 46, 16]
    assert found["layer.1.score"] == [1, 4, 46, 132]
    assert found["layer.0.cache.key"] == [1, 2, 132, 4]


def test_the_answer_is_streamed_in_order() -> None:
    """7.14: ordered fragments make the sentence; the end token is not among them."""
    delta, completed = (choice(main_line(), name) for name in ("text.delta", "response.completed"))
    assert "".join(fragment["text"] for fragment in delta["fragments"]) == ANSWER
    numbers = [fragment["sequence_no"] for fragment in delta["fragments"]]
    assert numbers == list(range(len(numbers)))
    assert completed == {
        "finish_reason": "eos",
        "text": ANSWER,
        "sequence_no": len(numbers),
        "output_tokens_selected": len(numbers) + 1,
        "output_tokens_returned": len(numbers),
    }


def test_the_trace_closes_with_the_effect() -> None:
    """7.14: external commit is true, and the effect is named."""
    assert payload("t14")["choice"] == {"status": "FINISHED"}
    assert payload("t14")["commit"] == {"external_commit": True, "external_ids": ["evt_6K2"]}


def test_only_one_line_holds_a_commit_that_happened() -> None:
    """The commit is t09's; no text commits anything."""
    committed = [
        e.event_id
        for e in main_line().events
        if e.payload.get("commit", {}).get("status") == "committed"
    ]
    assert committed == ["t09"]
    assert "commit" not in the(main_line(), "text.delta").payload


def test_a_run_repeats_itself() -> None:
    """A second run gives the same events."""
    assert run_fixture("tool-001").events == main_line().events
