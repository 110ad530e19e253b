"""Nothing that a server tells is left out of the comparison, but for a short list."""

import pytest
from streaming.reading import traced
from streaming.told_rows import EQUAL, UNEQUAL

from tracediff.diff import DiffOptions, Outcome, diff_traces

VIEWS = [(), ("joined-text",)]


def rows(table: list[tuple[str, str, bytes, bytes]]) -> list[object]:
    return [pytest.param(*row[1:], id=row[0]) for row in table]


@pytest.mark.parametrize("views", VIEWS, ids=["plain", "joined"])
@pytest.mark.parametrize(("api", "left", "right"), rows(UNEQUAL))
def test_unequal(api: str, left: bytes, right: bytes, views: tuple[str, ...]) -> None:
    """Captures that tell something else are not equal, under no view."""
    for one, two in ((left, right), (right, left)):
        found = diff_traces(traced(one, api), traced(two, api), options=DiffOptions(views=views))
        assert found.outcome is Outcome.DIVERGED
        assert found.cause is not None
        says_the_same = "is the same" in found.cause.explanation
        assert says_the_same is not found.cause.evidence["top_differs"]


@pytest.mark.parametrize(("api", "left", "right"), rows(EQUAL))
def test_equal(api: str, left: bytes, right: bytes) -> None:
    """What a server tells otherwise each time is no difference."""
    assert diff_traces(traced(left, api), traced(right, api)).outcome is Outcome.EQUAL
