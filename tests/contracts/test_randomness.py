"""Each rule on random numbers is broken by a trace with one fault, and kept by true ones."""

import pytest
from text_runs import main_line, sampled_run
from trace_edits import Edit, both, put_draw

from tracediff.contracts import check_trace
from tracediff.contracts.randomness import RANDOMNESS_RULES
from tracediff.events import Trace

# rule, event that is reported, edit of the sampled run
BROKEN_DRAWS = [
    ("rng-counter-advances", "e09", "stays", put_draw("e09", counter_after=1)),
    ("rng-counter-advances", "e09", "goes-back", put_draw("e09", counter_after=0)),
    ("rng-counter-advances", "e09", "moves-for-nothing", put_draw("e09", draws={"count": 0})),
    (
        "rng-counter-advances",
        "e09",
        "digest-stays",
        put_draw("e09", counter_before="b3:1", counter_after="b3:1"),
    ),
    (
        "rng-counters-do-not-overlap",
        "e09",
        "again",
        put_draw("e09", counter_before=0, counter_after=1),
    ),
    (
        "rng-counters-do-not-overlap",
        "e09",
        "again-as-text",
        put_draw("e09", counter_before="0", counter_after="1"),
    ),
    ("rng-counters-do-not-overlap", "e17", "into-a-later-one", put_draw("e05", counter_after=4)),
    (
        "rng-counters-do-not-overlap",
        "e17",
        "far-behind",
        both(put_draw("e17", counter_before=0, counter_after=1), put_draw("e05", counter_after=2)),
    ),
    (
        "rng-counters-leave-no-gap",
        "e09",
        "blocks-left-out",
        put_draw("e09", counter_before=7, counter_after=9),
    ),
    (
        "rng-counters-leave-no-gap",
        "e13",
        "blocks-left-out-after",
        put_draw("e09", counter_before=1, counter_after=1, draws={"count": 0}),
    ),
    (
        "rng-counters-leave-no-gap",
        "e09",
        "nothing-drawn-elsewhere",
        put_draw("e09", counter_before=5, counter_after=5, draws={"count": 0}),
    ),
    (
        "rng-counters-leave-no-gap",
        "e13",
        "as-text",
        put_draw("e13", counter_before="3", counter_after="4"),
    ),
]


def broken_draws(trace: Trace) -> set[tuple[str, str | None]]:
    """Return which rules on draws are broken, and where; text runs have rules of their own."""
    names = {rule.name for rule in RANDOMNESS_RULES}
    violations = check_trace(trace).violations
    return {(found.rule, found.event_id) for found in violations if found.rule in names}


@pytest.mark.parametrize(
    ("rule", "event_id", "edit"),
    [pytest.param(rule, ev, edit, id=f"{rule}-{name}") for rule, ev, name, edit in BROKEN_DRAWS],
)
def test_broken_draw_is_reported(rule: str, event_id: str, edit: Edit) -> None:
    """A counter that stays, goes back, moves for nothing, jumps or is used twice is reported."""
    assert (rule, event_id) in broken_draws(edit(sampled_run()))


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(put_draw("e17", counter_before=0, counter_after=1, key=[2, 0]), id="key"),
        pytest.param(put_draw("e17", counter_before=0, counter_after=1, generator="g"), id="name"),
        pytest.param(
            put_draw("e17", counter_before=3, counter_after=3, draws={"count": 0}), id="nothing"
        ),
        pytest.param(
            put_draw("e09", counter_before="b3:1", counter_after="b3:2"), id="digest-of-a-state"
        ),
    ],
)
def test_separate_streams_may_share_counters(edit: Edit) -> None:
    """Another key or generator is another stream; a draw of nothing uses nothing."""
    assert broken_draws(edit(sampled_run())) == set()


def test_every_rule_was_broken() -> None:
    """The table above breaks every rule there is, so that a new one needs a row."""
    assert {row[0] for row in BROKEN_DRAWS} == {rule.name for rule in RANDOMNESS_RULES}


def test_rules_apply_where_something_is_drawn() -> None:
    """A sampled run is held to the rules and keeps them; a greedy one has nothing to check."""
    report = check_trace(sampled_run())
    assert report.violations == ()
    assert set(RANDOMNESS_RULES) <= set(report.applied)
    assert not set(RANDOMNESS_RULES) & set(check_trace(main_line()).applied)
