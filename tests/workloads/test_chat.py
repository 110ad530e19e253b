"""Chat requests through their nine steps: what is yielded, what is recorded, how they end."""

from collections.abc import Generator
from typing import Any

import pytest
from chat_runs import ANSWER, QUESTION, TEXT, TOOL_CALLS, asking, begin, choice, run_chat, text_of

from tracediff.contracts import check_trace
from tracediff.diff import Outcome, diff_traces
from tracediff.engine.stopping import FinishReason
from tracediff.workloads.chat import Cut, Delta, Finished, Started
from tracediff.workloads.chat_model import ASSISTANT, SYSTEM, TOOL, USER, Turn
from tracediff.workloads.chat_request import ChatRequest, RequestRejected

STEPS = [
    "request.accepted",
    "request.validated",
    "context.rendered",
    "input.tokenized",
    "budget.checked",
    "prefill.started",
    "prefill.completed",
    *["token.selected", "stream.delta", "decode.started", "decode.completed"] * 4,
    "token.selected",
    "generation.draining",
    "response.completed",
    "output.validated",
    "usage.recorded",
    "resources.released",
]

FLAGS = {
    "type": "object",
    "properties": {"a": {"enum": ["x", "y"]}, "ok": {"type": "boolean"}},
    "required": ["a", "ok"],
}
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def test_nine_steps() -> None:
    """Every step leaves its events, and the ids are those of the fixture's own run."""
    progress, trace = run_chat(asking())
    assert [event.event_type for event in trace.events] == STEPS
    assert text_of(progress) == ANSWER
    assert progress[0] == Started(12)
    assert progress[-1] == Finished(FinishReason.EOS, None, 5)
    usage = {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17}
    assert choice(trace, "usage.recorded") == usage
    assert check_trace(trace).violations == ()


def test_the_same_request_twice_is_equal() -> None:
    """Nothing but what was asked decides the trace."""
    request = asking(settings={"temperature": 0.8, "seed": 7})
    first, second = run_chat(request)[1], run_chat(request)[1]
    assert diff_traces(first, second).outcome is Outcome.EQUAL
    assert first.events == second.events


# settings, cut, text, reason, stop sequence, verdict
ENDINGS = [
    pytest.param({}, None, ANSWER, "eos", None, "unstructured", id="eos"),
    pytest.param(
        {"stop_sequences": ["。"]}, None, ANSWER[:-1], "stop_sequence", "。", "unstructured",
        id="stop",
    ),
    pytest.param(
        {"stop_sequences": ["光的"]}, None, "短波蓝", "stop_sequence", "光的", "unstructured",
        id="stop-across-a-border",
    ),
    pytest.param(
        {"stop_sequences": ["。!"]}, None, ANSWER, "eos", None, "unstructured", id="held-back"
    ),
    pytest.param(
        {"max_output_tokens": 2}, None, ANSWER[:7], "max_tokens", None, "truncated", id="max-tokens"
    ),
    pytest.param(
        {"context_window": 13}, None, ANSWER[:7], "context_window", None, "truncated",
        id="context-window",
    ),
    pytest.param({}, Cut(FinishReason.REFUSAL, 0), "", "refusal", None, "refused", id="refusal"),
    pytest.param(
        {}, Cut(FinishReason.CONTENT_FILTER, 1), ANSWER[:4], "content_filter", None, "refused",
        id="content-filter",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("settings", "cut", "text", "reason", "stop", "verdict"), ENDINGS)
def test_endings(
    settings: dict[str, Any],
    cut: Cut | None,
    text: str,
    reason: str,
    stop: str | None,
    verdict: str,
) -> None:
    """Each reason is told, recorded, and its answer judged; the contract holds."""
    progress, trace = run_chat(asking(settings=settings), cut=cut)
    assert text_of(progress) == text
    finished = progress[-1]
    assert isinstance(finished, Finished)
    assert (finished.reason, finished.stop_sequence) == (reason, stop)
    assert choice(trace, "response.completed")["finish_reason"] == reason
    assert choice(trace, "output.validated")["verdict"] == verdict
    assert check_trace(trace).violations == ()


@pytest.mark.parametrize("taken", range(1, 6))
def test_a_caller_that_goes_away(taken: int) -> None:
    """Closing the generator stops the decode; the trace is whole and says `cancelled`."""
    progress, sink = begin(asking())
    assert isinstance(progress, Generator)
    items = [next(progress) for _ in range(taken)]
    progress.close()
    trace = sink.trace("gone")
    selections = [event for event in trace.events if event.event_type == "token.selected"]
    assert len(selections) == taken - 1 == sum(isinstance(item, Delta) for item in items)
    assert choice(trace, "response.completed")["finish_reason"] == "cancelled"
    assert choice(trace, "output.validated")["verdict"] == "cancelled"
    assert trace.events[-1].event_type == "resources.released"
    assert check_trace(trace).violations == ()


def test_a_caller_that_goes_away_at_the_end() -> None:
    """Once the finish was told, the answer is whole, whoever is left."""
    progress, sink = begin(asking())
    assert isinstance(progress, Generator)
    assert any(isinstance(item, Finished) for item in iter(lambda: next(progress), None))
    progress.close()
    assert choice(sink.trace("late"), "response.completed")["finish_reason"] == "eos"


def test_an_answer_that_nobody_began() -> None:
    """A generator that is closed before its first step records nothing."""
    progress, sink = begin(asking())
    assert isinstance(progress, Generator)
    progress.close()
    with pytest.raises(ValueError, match="not finished"):
        sink.trace("nothing")


# request, fixture, verdict, text (None: any)
STRUCTURED = [
    pytest.param(
        asking("hi", schema=FLAGS, constrained=True), TOOL_CALLS, "valid", '{"a":"y","ok":false}',
        id="constrained",
    ),
    pytest.param(
        asking("hi", {"max_output_tokens": 5}, schema=FLAGS, constrained=True), TOOL_CALLS,
        "truncated", None,
        id="cut-in-the-middle",
    ),
    pytest.param(
        asking("hi", {"max_output_tokens": 30}, schema=NUMBER, constrained=True), TOOL_CALLS,
        "truncated", None,
        id="digits-without-end",
    ),
    pytest.param(asking(schema=FLAGS), TEXT, "malformed", ANSWER, id="not-constrained"),
    pytest.param(
        asking("0", {"stop_sequences": ["0"]}, schema=FLAGS), TOOL_CALLS, "malformed", None,
        id="not-constrained-and-stopped",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("request_", "fixture", "verdict", "text"), STRUCTURED)
def test_structured_answers(
    request_: ChatRequest, fixture: str, verdict: str, text: str | None
) -> None:
    """An answer that shall be JSON is judged after its end, and cut off is not broken."""
    progress, trace = run_chat(request_, fixture)
    assert text is None or text_of(progress) == text
    assert choice(trace, "output.validated")["verdict"] == verdict
    assert check_trace(trace).violations == ()


def test_a_tool_call_ends_with_its_arguments() -> None:
    """The grammar's acceptance ends a call; no end token is chosen."""
    progress, trace = run_chat(asking("hi", schema=FLAGS, constrained=True, tool="f"), TOOL_CALLS)
    assert text_of(progress) == '{"a":"y","ok":false}'
    assert isinstance(progress[-1], Finished)
    assert progress[-1].reason is FinishReason.TOOL_CALLS
    completed = choice(trace, "response.completed")
    words = (completed["finish_reason_openai"], completed["finish_reason_anthropic"])
    assert words == ("tool_calls", "tool_use")
    assert check_trace(trace).violations == ()


REJECTED = [
    pytest.param(asking("hello"), TEXT, "messages", "not_tokenizable", id="vocabulary"),
    pytest.param(
        asking(settings={"max_output_tokens": 53}), TEXT, "max_tokens", "context_length_exceeded",
        id="answer-too-long",
    ),
    pytest.param(
        asking(QUESTION * 12), TEXT, "messages", "context_length_exceeded", id="prompt-too-long"
    ),
    pytest.param(
        ChatRequest((Turn(TOOL, "天空"),), {}), TEXT, "messages", "unsupported_role", id="role"
    ),
    pytest.param(
        asking(schema=FLAGS, constrained=True), TEXT, "response_format", "unsupported_schema",
        id="schema-cannot-be-spelled",
    ),
    pytest.param(
        asking(schema={"type": "object", "$ref": "x"}), TEXT, "response_format",
        "unsupported_schema", id="reference",
    ),
    pytest.param(
        asking(schema={"type": "nonsense"}), TEXT, "response_format",
        "unsupported_schema", id="no-schema",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("request_", "fixture", "field", "code"), REJECTED)
def test_rejections(request_: ChatRequest, fixture: str, field: str, code: str) -> None:
    """What the model cannot take is refused before anything is yielded, and recorded."""
    progress, sink = begin(request_, fixture)
    with pytest.raises(RequestRejected) as caught:
        next(progress)
    assert (caught.value.field, caught.value.code) == (field, code)
    trace = sink.trace("rejected")
    assert choice(trace, "request.rejected") == {"status": 400, "field": field, "code": code}
    assert trace.events[-1].event_type == "request.rejected"
    assert check_trace(trace).violations == ()


def test_the_window_to_its_last_position() -> None:
    """A prompt and an answer that just fit are taken."""
    progress, _ = run_chat(asking(settings={"max_output_tokens": 52}))
    assert progress[0] == Started(12)


@pytest.mark.parametrize(
    ("turns", "rendered"),
    [
        pytest.param(
            [Turn(USER, "天空")],
            "<bos><system>简洁回答</system><user>天空</user><assistant>",
            id="fixed-instruction",
        ),
        pytest.param(
            [Turn(SYSTEM, "大气"), Turn(USER, "天空")],
            "<bos><system>大气</system><user>天空</user><assistant>",
            id="own-instruction",
        ),
        pytest.param(
            [Turn(USER, "天空"), Turn(ASSISTANT, "蓝色"), Turn(USER, "为什么")],
            "<bos><system>简洁回答</system><user>天空</user><assistant>蓝色EOS<user>为什么</user>"
            "<assistant>",
            id="history",
        ),
    ],
)
def test_prompts_are_assembled(turns: list[Turn], rendered: str) -> None:
    """The template makes one text of all turns; the whole history is read each time."""
    _, trace = run_chat(ChatRequest(tuple(turns), {}))
    assert choice(trace, "context.rendered")["text"] == rendered


def test_likelihoods() -> None:
    """Each token is told with its probability among all, and the likeliest of its step."""
    progress, _ = run_chat(asking(alternatives=20))
    tokens = [item.token for item in progress if isinstance(item, Delta) and item.token]
    assert [token.chosen.text for token in tokens] == ["短波蓝光", "的散射", "通常更强", "。"]
    for token in tokens:
        assert token.likeliest[0] == token.chosen
        values = [found.logarithm for found in token.likeliest]
        assert values == sorted(values, reverse=True)
        assert sum(2.718281828459045**value for value in values) == pytest.approx(1)
