"""Faults by name and number, and which requests meet them."""

import pytest

from tracediff.errors import UsageError
from tracediff.serving.faults import (
    MEANINGS,
    NUMBERED,
    Disturbance,
    Fault,
    FaultName,
    FaultPlan,
    parse_fault,
    parse_faults,
)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("rate-limit", Fault(FaultName.RATE_LIMIT)),
        ("rate-limit:2", Fault(FaultName.RATE_LIMIT, 2)),
        ("server-error:1", Fault(FaultName.SERVER_ERROR, 1)),
        ("drop-after", Fault(FaultName.DROP_AFTER, 1)),
        ("drop-after:3", Fault(FaultName.DROP_AFTER, 3)),
        ("split-utf8", Fault(FaultName.SPLIT_UTF8)),
    ],
)
def test_parse(text: str, fault: Fault) -> None:
    """A name, with a number where it takes one."""
    assert parse_fault(text) == fault
    assert parse_fault(str(fault)) == fault


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("drop", "there is no fault 'drop'"),
        ("", "there is no fault ''"),
        ("drop-after:", "drop-after:N with N from 1 to 1000000 is"),
        ("drop-after:0", "the fault 'drop-after:0' is not allowed"),
        ("drop-after:-1", "is not allowed"),
        ("drop-after:1000001", "is not allowed"),
        ("drop-after:٣", "is not allowed"),
        ("split-utf8:2", "the fault 'split-utf8:2' is not allowed; split-utf8 is"),
        ("rate-limit:" + "9" * 5000, "is not allowed"),
    ],
)
def test_refused(text: str, message: str) -> None:
    """What is no fault is refused in one sentence."""
    with pytest.raises(UsageError, match=message):
        parse_fault(text)


def test_twice() -> None:
    """A fault with two numbers would mean one of them."""
    with pytest.raises(UsageError, match="the fault drop-after is given twice"):
        parse_faults(["drop-after:1", "drop-after:2"])


def test_every_fault_is_explained() -> None:
    """No name is without a meaning; what has a number says what it counts."""
    assert set(MEANINGS) == set(FaultName)
    assert all((" N " in MEANINGS[name]) == (name in NUMBERED) for name in FaultName)


def test_faults_of_the_first_requests() -> None:
    """A counted fault strikes so many requests and no more; others strike always."""
    plan = FaultPlan(parse_faults(["rate-limit:2", "split-utf8"]), by_header=False)
    struck = [str(plan.for_request(None)) for _ in range(3)]
    assert struck == ["rate-limit:2,split-utf8", "rate-limit:2,split-utf8", "split-utf8"]


def test_faults_by_header() -> None:
    """A request may ask for faults where that is allowed, and only there."""
    asked = FaultPlan([], by_header=True).for_request("drop-after:2, duplicate-finish")
    assert asked.after(FaultName.DROP_AFTER) == 2
    assert asked.has(FaultName.DUPLICATE_FINISH)
    assert not asked.has(FaultName.REFUSAL)
    with pytest.raises(UsageError, match="--allow-faults"):
        FaultPlan([], by_header=False).for_request("refusal")
    with pytest.raises(UsageError, match="there is no fault"):
        FaultPlan([], by_header=True).for_request("nonsense")


def test_no_faults() -> None:
    """A request without faults is recorded without an injection."""
    assert str(Disturbance()) == ""
