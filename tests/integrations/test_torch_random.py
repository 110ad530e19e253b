"""The ledger of torch's random generators."""

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install 'tracediff[torch]'")

from tracediff.integrations.torch_random import RandomLedger  # noqa: E402

pytestmark = pytest.mark.torch


@pytest.mark.parametrize(
    ("use", "count"),
    [
        pytest.param(lambda: None, None, id="nothing"),
        pytest.param(lambda: torch.rand(1), 1, id="one"),
        pytest.param(lambda: torch.rand(623), 623, id="almost-a-turn"),
        pytest.param(lambda: torch.rand(624), 624, id="a-turn"),
        pytest.param(lambda: torch.rand(5000), 5000, id="several-turns"),
        pytest.param(lambda: torch.rand(100_000), 100_000, id="many-turns"),
        pytest.param(lambda: torch.rand(3, dtype=torch.float64), 6, id="two-words-each"),
    ],
)
def test_words_are_counted(use: Callable[[], Any], count: int | None) -> None:
    """A draw counts 32-bit words of the Mersenne Twister; a look without a draw finds none."""
    torch.manual_seed(7)
    ledger = RandomLedger()
    use()
    assert [draw.count for draw in ledger.draws()] == ([] if count is None else [count])
    assert ledger.draws() == []


def test_counters_go_on() -> None:
    """The counter of a draw begins where the last one ended."""
    torch.manual_seed(7)
    ledger = RandomLedger()
    found = []
    for size in (10, 700):
        torch.rand(size)
        found += ledger.draws()
    assert [(d.counter_before, d.counter_after) for d in found] == [(0, 10), (10, 710)]
    assert {d.algorithm for d in found} == {"mt19937"}
    assert {d.key and d.key[0] for d in found} == {7}


def test_looks_are_told_apart_later() -> None:
    """What was drawn before a look stands with it, whenever and in whatever order it is asked."""
    torch.manual_seed(7)
    ledger = RandomLedger()
    looks = []
    for size in (10, 0, 700):
        torch.rand(size)
        looks.append(ledger.look())
    torch.rand(3)
    assert [draw.count for draw in ledger.draws()] == [3]
    assert [[draw.count for draw in look.draws()] for look in reversed(looks)] == [[700], [], [10]]


def test_another_start_has_another_key() -> None:
    """Draws from other states of one seed are told apart by their key."""
    keys = []
    for skipped in (0, 5):
        torch.manual_seed(7)
        torch.rand(skipped)
        ledger = RandomLedger()
        torch.rand(1)
        keys.append(ledger.draws()[0].key)
    assert keys[0] != keys[1]


def test_a_replaced_state_is_said() -> None:
    """A generator that was seeded anew drew nothing: its state was replaced."""
    torch.manual_seed(7)
    ledger = RandomLedger()
    torch.manual_seed(8)
    (draw,) = ledger.draws()
    assert (draw.count, draw.transform) == (0, "replaced")


def test_generators_of_ones_own() -> None:
    """A named generator has its own ledger, and looking at it does not move it."""
    held = torch.Generator().manual_seed(3)
    ledger = RandomLedger({"noise": held})
    first = torch.rand(4, generator=held)
    assert [(draw.generator, draw.count) for draw in ledger.draws()] == [("noise", 4)]
    held.manual_seed(3)
    assert torch.equal(torch.rand(4, generator=held), first)
