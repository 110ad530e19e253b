"""How runs of text-001 end: each stop reason, and text that is held back or flushed."""

from typing import Any

import pytest
from text_runs import deltas, of_type, run, selected

from tracediff.contracts import check_trace

FULL_TEXT = "短波蓝光的散射通常更强。"

# overrides, selected ids, deltas, reason, its words (OpenAI, Anthropic), tokens returned, cache
ENDINGS = [
    pytest.param(
        {},
        [14, 15, 16, 17, 18],
        ["短波蓝光", "的散射", "通常更强", "。"],
        ("eos", "stop", "end_turn"),
        (4, 16),
        id="eos",
    ),
    pytest.param(
        {"minimum_output_tokens": 0},
        [14, 15, 16, 17, 18],
        ["短波蓝光", "的散射", "通常更强", "。"],
        ("eos", "stop", "end_turn"),
        (4, 16),
        id="no-minimum",
    ),
    pytest.param(
        {"stop_sequences": ["。"]},
        [14, 15, 16, 17],
        ["短波蓝光", "的散射", "通常更强"],
        ("stop_sequence", "stop", "stop_sequence"),
        (3, 15),
        id="stop-sequence",
    ),
    pytest.param(
        {"stop_sequences": ["光的"]},
        [14, 15],
        ["短波蓝"],
        ("stop_sequence", "stop", "stop_sequence"),
        (1, 13),
        id="stop-sequence-across-a-border",
    ),
    pytest.param(
        {"stop_sequences": ["射通常更强。"]},
        [14, 15, 16, 17],
        ["短波蓝光", "的散"],
        ("stop_sequence", "stop", "stop_sequence"),
        (2, 15),
        id="stop-sequence-across-two-borders",
    ),
    pytest.param(
        # The first sequence holds back 散射; then the second one begins at 射.
        {"stop_sequences": ["散射。", "射通"]},
        [14, 15, 16],
        ["短波蓝光", "的", "散"],
        ("stop_sequence", "stop", "stop_sequence"),
        (2, 14),
        id="stop-sequence-within-what-is-held-back",
    ),
    pytest.param(
        {"stop_sequences": ["短"]},
        [14],
        [],
        ("stop_sequence", "stop", "stop_sequence"),
        (0, 12),
        id="stop-sequence-at-once",
    ),
    pytest.param(
        {"stop_sequences": ["光X", "EOS"]},
        [14, 15, 16, 17, 18],
        ["短波蓝", "光的散射", "通常更强", "。"],
        ("eos", "stop", "end_turn"),
        (4, 16),
        id="false-starts-are-returned",
    ),
    pytest.param(
        {"max_output_tokens": 3},
        [14, 15, 16],
        ["短波蓝光", "的散射", "通常更强"],
        ("max_tokens", "length", "max_tokens"),
        (3, 14),
        id="max-tokens",
    ),
    pytest.param(
        {"max_output_tokens": 1},
        [14],
        ["短波蓝光"],
        ("max_tokens", "length", "max_tokens"),
        (1, 12),
        id="one-token",
    ),
    pytest.param(
        {"max_output_tokens": 5},
        [14, 15, 16, 17, 18],
        ["短波蓝光", "的散射", "通常更强", "。"],
        ("eos", "stop", "end_turn"),
        (4, 16),
        id="eos-at-the-limit",
    ),
    pytest.param(
        {"context_window": 13},
        [14, 15],
        ["短波蓝光", "的散射"],
        ("context_window", "length", "model_context_window_exceeded"),
        (2, 13),
        id="context-window",
    ),
    pytest.param(
        {"context_window": 12},
        [14],
        ["短波蓝光"],
        ("context_window", "length", "model_context_window_exceeded"),
        (1, 12),
        id="context-window-full-of-prompt",
    ),
]


@pytest.mark.parametrize(("overrides", "ids", "pieces", "words", "counts"), ENDINGS)
def test_endings(
    overrides: dict[str, Any],
    ids: list[int],
    pieces: list[str],
    words: tuple[str, str, str],
    counts: tuple[int, int],
) -> None:
    """Each stop reason is reached, recorded in all words, and nothing held back gets out."""
    trace = run(overrides)
    returned, cache_length = counts
    (completed,) = of_type(trace, "response.completed")
    assert selected(trace) == ids
    assert deltas(trace) == pieces
    assert completed.payload["choice"] == {
        "status": "FINISHED",
        "text": "".join(pieces),
        "sequence_no": len(pieces),
        "output_tokens_selected": len(ids),
        "output_tokens_returned": returned,
        "finish_reason": words[0],
        "finish_reason_openai": words[1],
        "finish_reason_anthropic": words[2],
    }
    assert trace.events[-1].payload["state"] == {"cache_final_length": cache_length}
    assert check_trace(trace).violations == ()


@pytest.mark.parametrize(
    ("sequences", "matched"),
    [(["。"], "。"), (["x", "光的"], "光的"), (["x"], None), ([], None)],
)
def test_matched_sequence_is_recorded(sequences: list[str], matched: str | None) -> None:
    """The draining event names the sequence that matched."""
    (draining,) = of_type(run({"stop_sequences": sequences}), "generation.draining")
    assert draining.payload["choice"]["stop_sequence"] == matched


def test_what_is_held_back_at_the_end_is_flushed() -> None:
    """Text that might have become a stop sequence comes after the draining, caused by it."""
    trace = run({"stop_sequences": ["。!"]})
    types = [event.event_type for event in trace.events[-5:]]
    assert types[0] == "token.selected"
    assert types[1:] == [
        "generation.draining",
        "stream.delta",
        "response.completed",
        "resources.released",
    ]
    draining, delta, completed = trace.events[-4:-1]
    assert delta.parent_event_id == completed.parent_event_id == draining.event_id
    assert delta.payload["choice"] == {"sequence_no": 3, "text": "。"}
    assert completed.payload["choice"]["text"] == FULL_TEXT
