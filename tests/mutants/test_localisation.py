"""Every fault is found at its event, in its section, with its cause; harmless changes are not."""

from functools import cache

import pytest
from mutants.harmless_changes import HARMLESS
from mutants.mutant import Harmless, Mutant, found_at
from mutants.tables import MUTANTS

from tracediff.diff import Outcome, diff_traces

ENGINE_TABLES = ("text-model", "text-tokens", "text-endings", "image", "tool")


@cache
def reported(mutant: Mutant) -> tuple[str, str, str]:
    return found_at(diff_traces(mutant.golden(), mutant.mutant()))


@cache
def outcome(change: Harmless) -> Outcome:
    return diff_traces(change.left(), change.right(), change.options).outcome


def is_false_alarm(change: Harmless) -> bool:
    allowed = [Outcome.EQUAL] if change.exactly else [Outcome.EQUAL, Outcome.WITHIN_TOLERANCE]
    return outcome(change) not in allowed


@pytest.mark.parametrize("mutant", [pytest.param(row, id=name) for name, row in MUTANTS])
def test_fault_is_found_where_it_is(mutant: Mutant) -> None:
    """The first divergence is at the fault, and the cause is its kind."""
    assert reported(mutant) == mutant.expected


@pytest.mark.parametrize("change", [pytest.param(row, id=row.name) for row in HARMLESS])
def test_harmless_change_is_no_divergence(change: Harmless) -> None:
    """What must not count does not."""
    assert not is_false_alarm(change), outcome(change)


def test_localisation_rate(capsys: pytest.CaptureFixture[str]) -> None:
    """All faults are found where they are, and nothing else is reported; the rate is printed."""
    found = sum(reported(mutant) == mutant.expected for _, mutant in MUTANTS)
    alarms = sum(is_false_alarm(change) for change in HARMLESS)
    kinds = len({mutant.cause for _, mutant in MUTANTS})
    with capsys.disabled():
        print(
            f"\nlocalisation: {found} of {len(MUTANTS)} faults ({found / len(MUTANTS):.1%}) with "
            f"event, section and cause ({kinds} kinds); false alarms: {alarms} of {len(HARMLESS)}"
        )
    assert found == len(MUTANTS)
    assert alarms == 0


def test_tables_are_large_enough() -> None:
    """At least 80 faults, 60 of them made by running the engine, and 15 harmless changes."""
    names = [name for name, _ in MUTANTS]
    assert len(set(names)) == len(names) >= 80
    assert sum(name.partition(":")[0] in ENGINE_TABLES for name in names) >= 60
    assert len(HARMLESS) >= 15
