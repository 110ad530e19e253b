"""The verdict on an answer: valid, broken, cut off or refused."""

from typing import Any

import pytest

from tracediff.engine.stopping import FinishReason
from tracediff.workloads.chat_output import Judgement, Verdict, check_output_schema, judge_output

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

JUDGED = [
    pytest.param("hello", "eos", None, Judgement(Verdict.UNSTRUCTURED), id="no-schema"),
    pytest.param('{"n":1}', "eos", SCHEMA, Judgement(Verdict.VALID), id="valid"),
    pytest.param('{"n":1}', "tool_calls", SCHEMA, Judgement(Verdict.VALID), id="valid-call"),
    pytest.param('{"n":1}', "stop_sequence", SCHEMA, Judgement(Verdict.VALID), id="stopped"),
    pytest.param("{", "eos", SCHEMA, Judgement(Verdict.MALFORMED, "malformed"), id="malformed"),
    pytest.param("", "eos", SCHEMA, Judgement(Verdict.MALFORMED, "malformed"), id="empty"),
    pytest.param(
        '{"n":1,"n":1}', "eos", SCHEMA, Judgement(Verdict.MALFORMED, "duplicate-key"), id="twice"
    ),
    pytest.param(
        '{"n":"1"}',
        "eos",
        SCHEMA,
        Judgement(
            Verdict.INVALID, None, ({"path": "$.n", "keyword": "type", "detail": '"integer"'},)
        ),
        id="invalid",
    ),
    # Cut off is never read, even where what is there happens to be whole.
    pytest.param('{"n":1}', "max_tokens", SCHEMA, Judgement(Verdict.TRUNCATED), id="truncated"),
    pytest.param('{"n":', "context_window", SCHEMA, Judgement(Verdict.TRUNCATED), id="window"),
    pytest.param("x", "max_tokens", None, Judgement(Verdict.TRUNCATED), id="truncated-text"),
    pytest.param("", "refusal", SCHEMA, Judgement(Verdict.REFUSED), id="refused"),
    pytest.param("{", "content_filter", SCHEMA, Judgement(Verdict.REFUSED), id="filtered"),
    pytest.param("{", "cancelled", SCHEMA, Judgement(Verdict.CANCELLED), id="cancelled"),
]


@pytest.mark.parametrize(("text", "reason", "schema", "judgement"), JUDGED)
def test_judgements(text: str, reason: str, schema: Any, judgement: Judgement) -> None:
    """Each way in which an answer fails has its own verdict."""
    assert judge_output(text, FinishReason(reason), schema) == judgement


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        pytest.param(SCHEMA, None, id="fine"),
        pytest.param(True, "f: a schema object is expected here", id="no-object"),
        pytest.param({"$ref": "#"}, "f.$ref: references are not followed, not to '#'", id="ref"),
        pytest.param({"if": {}}, "f.if: this keyword is not understood", id="unknown"),
        pytest.param({"type": "x"}, "f.type: no valid Draft 2020-12 schema", id="invalid"),
    ],
)
def test_schemas(schema: Any, message: str | None) -> None:
    """A schema that could not be kept is refused by the name of its field."""
    assert check_output_schema(schema, "f") == message
