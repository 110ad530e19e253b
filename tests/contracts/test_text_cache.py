"""Each rule on forward passes is broken by a trace that breaks nothing else, and is reported."""

from dataclasses import replace

import pytest
from contracts.text_edits import Row, broken, broken_rules, labelled, put_step, reshaped
from text_runs import main_line
from trace_edits import Edit, both, drop, drop_tensor, put, put_tensor

from tracediff.contracts.text_cache import CACHE_RULES
from tracediff.events import Trace

IDS = [1, 2, 7, 3, 4, 8, 9, 10, 11, 12, 5, 6]
NO_ZERO = {"layer": 1, "positions": list(range(1, 13))}
FROM_ONE = [list(range(1, 13))]
KEYS = "layer.0.cache.key"


def put_mask(mask: list[int]) -> Edit:
    """Return an edit that sets the attention mask of the prompt."""
    return put("e02", "choice", attention_mask=[mask])


def decoded_late(trace: Trace) -> Trace:
    """Return the main line with its first token decoded only after the second was selected."""
    late = put("e07", "state", position=13)(put_step("e07", 2)(trace)).events[7]
    others = [event for event in trace.events if event.event_id != "e07"]
    return replace(trace, events=(*others[:9], late, *others[9:]))


ALONE: list[Row] = [
    ("parallel-arrays", "e02", "short-mask", put("e02", "choice", attention_mask=[[1] * 11])),
    ("parallel-arrays", "e02", "two-rows", put("e02", "choice", attention_mask=[[1] * 12] * 2)),
    ("mask-hides-only-padding", "e02", "first", put_mask([0] + [1] * 11)),
    ("mask-hides-only-padding", "e02", "within", put_mask([1] * 5 + [0] + [1] * 6)),
    ("mask-hides-only-padding", "e02", "all", put_mask([0] * 12)),
    ("mask-hides-only-padding", "e02", "two", put_mask([2] * 12)),
    (
        *("positions-count-from-zero", "e02", "both-from-one"),
        both(
            put("e02", "choice", position_ids=FROM_ONE), put("e04", "state", position_ids=FROM_ONE)
        ),
    ),
    (
        *("positions-count-from-zero", "e04", "prefill-from-one"),
        put("e04", "state", position_ids=FROM_ONE),
    ),
    (
        *("prefill-reads-the-prompt", "e04", "other-id"),
        put("e04", "state", input_ids=[[*IDS[:-1], 7]]),
    ),
    ("prefill-reads-the-prompt", "e04", "fewer", put("e04", "state", input_ids=[IDS[:-1]])),
    ("prefill-reads-the-prompt", "e03", "length", put("e03", "state", logical_length=11)),
    (
        *("prefill-fills-caches", "e04", "positions"),
        put_tensor("e04", "layer.1.cache.key", logical=NO_ZERO),
    ),
    (
        *("prefill-fills-caches", "e04", "too-few-positions"),
        put_tensor("e04", "layer.1.cache.key", logical={"layer": 1, "positions": [*range(11)]}),
    ),
    (
        *("prefill-fills-caches", "e04", "shape"),
        reshaped("e04", "layer.0.cache.value", [1, 1, 11, 4]),
    ),
    (
        *("prefill-fills-caches", "e04", "huge-shape"),
        reshaped("e04", "layer.0.cache.value", [1, 1, 10**15, 4]),
    ),
    (
        *("caches-grow-by-one", "e08", "positions"),
        put_tensor("e08", KEYS, logical={"layer": 0, "positions": [*range(12), 14]}),
    ),
    ("caches-grow-by-one", "e12", "missing-cache", drop_tensor("e12", "layer.1.cache.value")),
    ("caches-grow-by-one", "e24", "released", put("e24", "state", cache_final_length=15)),
    (
        *("pass-begins-where-the-last-ended", "e12", "twice"),
        put("e12", "state", cache_length_before=12),
    ),
    (
        *("pass-begins-where-the-last-ended", "e04", "not-empty"),
        put("e04", "state", cache_length_before=1),
    ),
    ("positions-fit-the-window", "e20", "by-one", put("e00", "settings", context_window=15)),
    ("ordinary-tokens-are-decoded", "e21", "not-decoded", drop("e19")),
    (
        *("decode-continues-the-cache", "e07", "position"),
        both(
            put("e07", "state", position=13),
            put("e08", "state", position_ids=[[13]]),
        ),
    ),
    ("decode-takes-the-last-token", "e07", "late", decoded_late),
    ("decode-reads-what-was-started", "e08", "id", put("e08", "state", input_ids=[[15]])),
    ("decode-reads-what-was-started", "e08", "two", put("e08", "state", input_ids=[[14, 15]])),
    (
        *("decode-reads-what-was-started", "e16", "position"),
        put("e16", "state", position_ids=[[13]]),
    ),
]

AMONG_OTHERS: list[Row] = [
    ("parallel-arrays", "e02", "no-positions", put("e02", "choice", position_ids=None)),
    ("caches-grow-by-one", "e20", "length", put("e20", "state", cache_length=17)),
    ("caches-grow-by-one", "e12", "missing-decode", drop("e08")),
    ("caches-grow-by-one", "e24", "missing-last-decode", drop("e20")),
    (
        *("decode-takes-the-last-token", "e07", "another-token"),
        both(put("e07", "state", token_id=15), put("e08", "state", input_ids=[[15]])),
    ),
    ("ordinary-tokens-are-decoded", "e21", "another-token", put("e07", "state", token_id=15)),
]
"""What two rules see: each says another part of it."""


@pytest.mark.parametrize(("rule", "event_id", "edit"), labelled(ALONE))
def test_rule_is_broken_alone(rule: str, event_id: str, edit: Edit) -> None:
    """Only the rule that the edit breaks is reported, at the event where it breaks."""
    trace = edit(main_line())
    assert broken_rules(trace) == {rule}
    assert (rule, event_id) in broken(trace)


@pytest.mark.parametrize(("rule", "event_id", "edit"), labelled(AMONG_OTHERS))
def test_rule_is_broken_among_others(rule: str, event_id: str, edit: Edit) -> None:
    """The rule is reported, at the event where it breaks."""
    assert (rule, event_id) in broken(edit(main_line()))


def test_swapped_decodes_take_the_wrong_tokens() -> None:
    """A decode of an earlier token is seen also where every token is decoded once."""
    trace = both(put("e07", "state", token_id=15), put("e11", "state", token_id=14))(main_line())
    assert {("decode-takes-the-last-token", e) for e in ("e07", "e11")} <= broken(trace)


def test_every_rule_was_broken() -> None:
    """The table above breaks every rule there is, so that a new one needs a row."""
    assert {row[0] for row in ALONE} == {rule.name for rule in CACHE_RULES}


@pytest.mark.parametrize(
    ("ids", "mask", "holds"),
    [
        pytest.param([[7, 8, 9], [7, 0, 0]], [[1, 1, 1], [1, 0, 0]], True, id="right"),
        pytest.param([[7, 8, 9], [0, 0, 7]], [[1, 1, 1], [0, 0, 1]], True, id="left"),
        pytest.param([[7, 8, 9], [0, 1, 7]], [[1, 1, 1], [0, 0, 1]], False, id="two-paddings"),
        pytest.param([[7, 8, 9], [7, 0, 0]], [[1, 1, 1], [1, 1, 0]], False, id="shown-padding"),
        pytest.param([[7, 8, 9], [7, 0, 7]], [[1, 1, 1], [1, 0, 1]], False, id="within"),
        pytest.param([[7, 8, 0], [7, 0, 0]], [[1, 1, 0], [1, 0, 0]], False, id="no-longest-row"),
    ],
)
def test_padding_may_be_hidden(ids: list[list[int]], mask: list[list[int]], holds: bool) -> None:
    """In a batch, a shorter row is filled up with one id, and only that is hidden."""
    trace = put("e02", "choice", input_ids=ids, attention_mask=mask)(main_line())
    assert ("mask-hides-only-padding" in broken_rules(trace)) is not holds
