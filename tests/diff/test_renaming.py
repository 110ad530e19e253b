"""Comparing under a name map: the right trace read under the left one's names."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from trace_building import chain, event, tensor

from tracediff.diff import DiffOptions, Outcome, TraceDiff, diff_traces
from tracediff.diff.name_map import parse_name_map
from tracediff.errors import UsageError
from tracediff.events import Trace


def model(*names: str, values: float = 1.0, component: str = "module", **options: Any) -> Trace:
    """Return a trace that calls modules of these names, each with its weight and its output."""
    events = [event("r", state={"n": 1})]
    for number, name in enumerate(names):
        output = tensor(f"{name}.out", np.full(3, number + values, np.float32))
        events.append(
            event(
                f"e{number}",
                event_type=name,
                component=component,
                artifacts={f"{name}.weight": f"b3:{number}"},
                outputs=[output],
            )
        )
    return chain(*events, **options)


def compared(left: Trace, right: Trace, *rules: str, **options: Any) -> TraceDiff:
    name_map = parse_name_map("\n".join(rules), "names.map")
    return diff_traces(left, right, DiffOptions(name_map=name_map, **options))


def test_names_line_up() -> None:
    """One map covers event types, tensors and parameter names, and is printed as applied."""
    left, right = model("layers.0.attn", "norm"), model("blocks.0.attention", "norm")
    assert diff_traces(left, right).outcome is Outcome.DIVERGED
    rules = "layers.*.attn -> blocks.*.attention", "layers.*.attn.* -> blocks.*.attention.*"
    found = compared(left, right, *rules)
    assert found.outcome is Outcome.EQUAL
    assert found.normalisers == (
        "names.map: 1 event name, 1 tensor name, 1 key of the right trace read as left's",
    )
    assert (found.warnings, found.unused_rules) == ((), ())


def test_differences_keep_left_names() -> None:
    """What differs under a map is reported by the left trace's names."""
    found = compared(model("a"), model("b", values=2.0), "a -> b", "a.* -> b.*")
    assert found.first is not None
    assert found.first.difference.field == "payload.outputs[a.out]"


def test_what_stays_unmatched_is_listed() -> None:
    """Names without a counterpart are warnings, rules that fit nothing are unused rules."""
    found = compared(model("a"), model("b"), "a -> b", "zzz -> y")
    assert found.outcome is Outcome.DIVERGED
    assert found.warnings == (
        "only in the left trace: 1 tensor name: a.out",
        "only in the right trace: 1 tensor name: b.out",
        "only in the left trace: 1 key: a.weight",
        "only in the right trace: 1 key: b.weight",
    )
    assert found.unused_rules == ("zzz -> y",)


def test_a_shadowed_rule_is_a_warning() -> None:
    """The comparison stands, and says which earlier rule takes all that a rule fits."""
    found = compared(model("a"), model("b"), "a -> b", "a.* -> b.*", "a.out -> c")
    assert (found.outcome, found.unused_rules) == (Outcome.EQUAL, ())
    assert found.warnings == (
        "names.map: the rule 'a.out -> c' decides no name: 'a.* -> b.*' before it takes what it "
        "fits; remove it or put it first",
    )


def test_a_swap_of_names() -> None:
    """Two names may change places: every name is rewritten once."""
    rules = "a -> b", "b -> a", "a.* -> b.*", "b.* -> a.*"
    assert compared(model("a", "b"), model("b", "a"), *rules).outcome is Outcome.EQUAL


def test_a_right_name_does_not_pass_for_a_mapped_one() -> None:
    """Where left's `a` is right's `b`, right's own `a` is something else."""
    left, right = model("a"), model("a")
    found = compared(left, right, "event:a -> b")
    assert found.outcome is Outcome.DIVERGED
    assert found.warnings[:2] == (
        "only in the left trace: 1 event name: a",
        "only in the right trace: 1 event name: a",
    )


def test_declared_tolerances_go_on_to_fit() -> None:
    """The left trace's rules name its own tensors, whatever the right one calls them."""
    declared = [{"match": "a.out", "mode": "allclose", "atol": 1.0}]
    left = model("a", header={"tolerances": declared})
    right = model("b", values=1.5, header={"tolerances": declared})
    found = compared(left, right, "a -> b", "a.* -> b.*")
    assert found.outcome is Outcome.WITHIN_TOLERANCE
    assert found.worst_within is not None
    assert found.worst_within.rule_source == "declared: a.out"


def test_the_module_that_a_recorder_puts_into_the_state() -> None:
    """Module paths in the state are event names, keys of objects in it are keys."""
    left = chain(
        event("r", state={"module": "a", "training": ["a", "c"], "sums": {"a.w": 1}, "other": "a"})
    )
    right = chain(
        event("r", state={"module": "b", "training": ["b", "c"], "sums": {"b.w": 1}, "other": "a"})
    )
    found = compared(left, right, "a -> b", "a.* -> b.*")
    assert (found.outcome, found.warnings) == (Outcome.EQUAL, ())
    assert compared(left, right, "key:a.* -> b.*").outcome is Outcome.DIVERGED


def described(*names: str, eps: str = "1e-05", last: float = 3.0) -> Trace:
    """Return a trace of modules that says of each what it is, as a recorder of modules does."""
    loaded = event(
        "r",
        event_type="module.loaded",
        state={"training": list(names), "parameter_sums": {f"{name}.w": [1] for name in names}},
        artifacts={f"{name}.w": "b3:1" for name in names},
        settings={"modules": dict.fromkeys(names, f"Norm(eps={eps})")},
    )
    called = [
        event(
            f"e{number}",
            component=name,
            event_type="module.called",
            outputs=[tensor(f"{name}.output", np.array([1.0, 2.0, last]))],
        )
        for number, name in enumerate(names)
    ]
    return chain(loaded, *called)


def test_settings_by_module_are_read_under_the_map() -> None:
    """The same model under other names has no other settings, and none that count."""
    left, right = described("blocks.0", "blocks.1"), described("layers.0", "layers.1")
    found = compared(left, right, "blocks.* -> layers.*", strict_settings=True)
    assert (found.outcome, found.triggers, found.warnings) == (Outcome.EQUAL, (), ())
    narrow = compared(left, right, "event:blocks.* -> layers.*")
    assert not narrow.triggers


def test_another_setting_of_a_renamed_module_is_the_cause() -> None:
    """What a module is called does not hide what it is."""
    left, right = described("blocks.0"), described("layers.0", eps="0.001", last=3.5)
    found = compared(left, right, "blocks.* -> layers.*")
    assert [trigger.field for trigger in found.triggers] == ["payload.settings.modules.blocks.0"]
    assert found.cause is not None
    assert found.cause.explanation.endswith("Norm(eps=1e-05) -> Norm(eps=0.001)")


def test_a_module_of_which_one_side_says_nothing_has_no_other_setting() -> None:
    """Without a map nothing is known of the right module's settings, and nothing is said."""
    left, right = described("a"), described("a", last=3.5)
    root = right.root
    silent = replace(root, payload={**root.payload, "settings": {"modules": {}}})
    found = diff_traces(left, replace(right, events=(silent, *right.events[1:])))
    assert found.cause is not None
    assert "settings" not in found.cause.explanation


@pytest.mark.parametrize("value", [None, 1, "a", ["a", 1], {"a": 1}], ids=str)
def test_settings_of_that_name_may_hold_anything(value: Any) -> None:
    """Other recorders may have a setting `modules` too, which need not name modules."""
    left, right = chain(event("a", state={"n": 1})), chain(event("a", settings={"modules": value}))
    found = compared(left, right, "zzz -> y")
    assert [trigger.right for trigger in found.triggers] == [value]


def test_options_look_at_mapped_names() -> None:
    """--only and --skip name events as left does."""
    found = compared(model("a", "c"), model("b", "d"), "a -> b", "a.* -> b.*", only=("a",))
    assert found.outcome is Outcome.EQUAL
    assert found.normalisers[-1] == "only a compared"


def test_a_map_that_makes_two_names_one_is_refused() -> None:
    """Two left names for one right name would hide a difference."""
    with pytest.raises(UsageError, match="would both stand for 'c'"):
        compared(model("a", "b"), model("c"), "a -> c", "b -> c")
