"""When a request is tried again, and after how long."""

import pytest

from tracediff.client.retrying import (
    RetryPolicy,
    error_code,
    is_transient,
    next_wait,
    parse_retry_after,
)

NOW = 784111777.0
"""1994-11-06 08:49:37 UTC, the example of RFC 9110, 5.6.7."""


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        pytest.param("120", 120.0, id="seconds"),
        pytest.param(" 0 ", 0.0, id="none"),
        pytest.param("Sun, 06 Nov 1994 08:50:37 GMT", 60.0, id="date"),
        pytest.param("Sunday, 06-Nov-94 08:50:37 GMT", 60.0, id="date-of-old"),
        pytest.param("Sun, 06 Nov 1994 08:48:37 GMT", 0.0, id="date-that-has-passed"),
        pytest.param("-5", None, id="negative"),
        pytest.param("1.5", None, id="fraction"),
        pytest.param("soon", None, id="word"),
        pytest.param("", None, id="nothing"),
        pytest.param("9" * 400, 999999999.0, id="endless"),
    ],
)
def test_retry_after(value: str, seconds: float | None) -> None:
    """Retry-After is a number of seconds or an HTTP date."""
    assert parse_retry_after(value, NOW) == seconds


@pytest.mark.parametrize(
    ("status", "code", "transient"),
    [
        pytest.param(429, "rate_limit_exceeded", True, id="rate-limit"),
        pytest.param(429, "", True, id="rate-limit-without-code"),
        pytest.param(429, "insufficient_quota", False, id="quota"),
        pytest.param(429, "billing_error", False, id="billing"),
        pytest.param(500, "server_error", True, id="500"),
        pytest.param(502, "", True, id="502"),
        pytest.param(503, "", True, id="503"),
        pytest.param(504, "", True, id="504"),
        pytest.param(501, "", False, id="501"),
        pytest.param(400, "", False, id="400"),
        pytest.param(401, "", False, id="401"),
        pytest.param(408, "", False, id="408"),
        pytest.param(200, "", False, id="200"),
    ],
)
def test_transient(status: int, code: str, transient: bool) -> None:
    """Only errors that may go away by themselves are tried again."""
    assert is_transient(status, code) is transient


@pytest.mark.parametrize(
    ("body", "code"),
    [
        pytest.param(b'{"error":{"type":"t","code":"c"}}', "c", id="code-before-type"),
        pytest.param(b'{"error":{"type":"t","code":null}}', "t", id="type"),
        pytest.param(
            b'{"error":{"type":"insufficient_quota","code":"x"}}', "insufficient_quota",
            id="quota-in-the-type",
        ),
        pytest.param(b'{"type":"error","error":{"type":"rate_limit_error"}}', "rate_limit_error",
                     id="anthropic"),
        pytest.param(b'{"error":"text"}', "", id="text"),
        pytest.param(b"[]", "", id="list"),
        pytest.param(b"<html>", "", id="page"),
        pytest.param(b"", "", id="nothing"),
    ],
)  # fmt: skip
def test_error_code(body: bytes, code: str) -> None:
    """The code of an error stands in its body."""
    assert error_code(body) == code


POLICY = RetryPolicy(tries=4, total=60.0, base=0.5, longest=8.0)


@pytest.mark.parametrize(
    ("number", "spent", "retry_after", "chance", "wait"),
    [
        pytest.param(1, 0.0, None, 0.0, 0.25, id="first-at-least"),
        pytest.param(1, 0.0, None, 1.0, 0.5, id="first-at-most"),
        pytest.param(2, 0.0, None, 1.0, 1.0, id="second"),
        pytest.param(3, 0.0, None, 1.0, 2.0, id="third"),
        pytest.param(4, 0.0, None, 0.0, None, id="no-fifth"),
        pytest.param(1, 0.0, 7.0, 0.5, 7.0, id="as-told"),
        pytest.param(1, 0.0, 0.0, 0.5, 0.0, id="at-once-as-told"),
        pytest.param(1, 54.0, 7.0, 0.5, None, id="told-too-long"),
        pytest.param(1, 59.9, None, 1.0, None, id="time-is-up"),
        pytest.param(1, 53.0, 7.0, 0.5, 7.0, id="just-in-time"),
    ],
)
def test_waits(
    number: int, spent: float, retry_after: float | None, chance: float, wait: float | None
) -> None:
    """A wait is what the server says, else grows with jitter; tries and time are limited."""
    assert next_wait(POLICY, number, spent, retry_after, chance) == wait


def test_waits_stop_growing() -> None:
    """However many tries there are, a wait stays below its limit."""
    policy = RetryPolicy(tries=10_000, total=1e9)
    assert next_wait(policy, 5_000, 0.0, None, 1.0) == policy.longest
