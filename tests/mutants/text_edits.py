"""Mutations of recorded traces of text-001: one event, link, field or bit that is another one."""

from collections.abc import Callable

import numpy as np
from mutants.graph_edits import (
    at,
    bit,
    cut_after,
    exchanged,
    inserted,
    repeated,
    with_fields,
    with_section,
    with_values,
    without,
    without_key,
)
from mutants.mutant import Mutant
from text_runs import main_line, sampled_run
from trace_edits import Edit, both, drop_tensor, put, put_draw, put_tensor

from tracediff.events import Trace

FINAL_TEXT = "短波蓝光的散射通常更强"
OTHER_DIGEST = "b3:" + "0" * 32


def row(
    name: str,
    event: str,
    check: str,
    cause: str,
    edit: Edit,
    golden: Callable[[], Trace] = main_line,
) -> Mutant:
    return Mutant(name, golden, lambda: edit(golden()), event, check, cause)


EVENT_EDITS = (
    row("drop-tokenized", "e02", "structure", "missing-event", without("e02")),
    row("drop-selected", "e09", "structure", "missing-event", without("e09")),
    row("drop-delta", "e10", "structure", "missing-event", without("e10")),
    row("drop-decode-started", "e15", "structure", "missing-event", without("e15")),
    row("drop-decode-completed", "e12", "structure", "missing-event", without("e12")),
    row("drop-draining", "e22", "structure", "missing-event", without("e22")),
    row("cut-before-the-last", "e24", "structure", "truncated", cut_after("e23")),
    row("cut-in-the-middle", "e13", "structure", "truncated", cut_after("e12")),
    row("duplicate-selected", "copy", "structure", "extra-event", repeated("e13")),
    row("duplicate-decode", "copy", "structure", "extra-event", repeated("e12")),
    row("insert-event", "new", "structure", "extra-event", inserted("e12", "cache.evicted")),
    row("exchange-render-and-tokenize", "e02", "structure", "reordered", exchanged("e01", "e02")),
    row("exchange-draining-and-end", "e23", "structure", "reordered", exchanged("e22", "e23")),
    row(
        "delta-of-another-parent",
        "e10",
        "structure",
        "reordered",
        with_fields("e10", parent_event_id="e08"),
    ),
    row("retime", "e14", "structure", "reordered", with_fields("e14", logical_step=4)),
    row(
        "other-type",
        "e10",
        "structure",
        "replaced-event",
        with_fields("e10", event_type="stream.chunk"),
    ),
    row(
        "other-component",
        "e10",
        "structure",
        "replaced-event",
        with_fields("e10", component="gateway"),
    ),
    row("lane-added", "e10", "structure", "reordered", with_section("e10", lane={"request": 2})),
    row("join-added", "e13", "structure", "reordered", with_section("e13", joins=["e10"])),
)

FIELD_EDITS = (
    row("artifact", "e04", "artifacts", "artifact-changed", put("e04", "artifacts", model="b")),
    row(
        "artifact-missing",
        "e02",
        "artifacts",
        "artifact-changed",
        with_section("e02", artifacts=None),
    ),
    row("prompt", "e00", "state", "input-changed", put("e00", "state", prompt="天空")),
    row("decoded-token", "e07", "state", "input-changed", put("e07", "state", token_id=15)),
    row("fed-token", "e08", "state", "input-changed", put("e08", "state", input_ids=[[15]])),
    row("history", "e13", "state", "input-changed", put("e13", "state", chosen_ids=[14, 14])),
    row("position", "e11", "state", "cache-position", put("e11", "state", position=26)),
    row("position-ids", "e12", "state", "cache-position", put("e12", "state", position_ids=[[14]])),
    row("position-as-float", "e11", "state", "cache-position", put("e11", "state", position=13.0)),
    row("cache-length", "e09", "state", "cache-length", put("e09", "state", cache_length=12)),
    row("final-length", "e24", "state", "cache-length", put("e24", "state", cache_final_length=15)),
    row("slot", "e03", "state", "unknown", put("e03", "state", slot=1)),
    row("new-state", "e11", "state", "missing-field", put("e11", "state", retries=0)),
    row("request-id-missing", "e00", "ids", "identifier", with_section("e00", ids=None)),
    row(
        "input-id",
        "e02",
        "choice",
        "tokenizer",
        put("e02", "choice", input_ids=[[1, 2, 7, 3, 4, 8, 9, 10, 11, 12, 5, 5]]),
    ),
    row(
        "attention-mask",
        "e02",
        "choice",
        "tokenizer",
        put("e02", "choice", attention_mask=[[0] + [1] * 11]),
    ),
    row("chosen-token", "e05", "choice", "sampler", put("e05", "choice", token_id=15)),
    row("strategy", "e05", "choice", "sampler", put("e05", "choice", strategy="sampled")),
    row(
        "top-order",
        "e05",
        "choice",
        "unknown",
        put("e05", "choice", top=[[15, 4.2], [14, 3.8], [17, 1.1]]),
    ),
    row("delta-text", "e14", "choice", "detokenizer", put("e14", "choice", text="通常更弱")),
    row("delta-bytes", "e14", "choice", "detokenizer", put("e14", "choice", text={"b64": "6YCa"})),
    row(
        "finish-reason",
        "e22",
        "choice",
        "stop-rule",
        put("e22", "choice", finish_reason="max_tokens"),
    ),
    row("final-text", "e23", "choice", "detokenizer", put("e23", "choice", text=FINAL_TEXT)),
    row("status", "e23", "choice", "unknown", put("e23", "choice", status="CANCELLED")),
    row(
        "effect",
        "e23",
        "commit",
        "commit-identity",
        with_section("e23", commit={"status": "committed"}),
    ),
)

TENSOR_EDITS = (
    row(
        "flip-exponent-bit",
        "e08",
        "outputs",
        "numeric-path",
        with_values("e08", "next_logits", bit((0, 7), 24)),
    ),
    row(
        "flip-sign-bit",
        "e08",
        "outputs",
        "numeric-path",
        with_values("e08", "next_logits", bit((0, 7), 31)),
    ),
    row(
        "flip-mantissa-bit",
        "e16",
        "outputs",
        "numeric-path",
        with_values("e16", "final_hidden", bit((0, 0, 3), 15)),
    ),
    row(
        "nan",
        "e08",
        "outputs",
        "nan-born",
        with_values("e08", "layer.1.query", at((0, 1, 0, 2), np.nan)),
    ),
    row(
        "infinity",
        "e08",
        "outputs",
        "infinity-sign",
        with_values("e08", "layer.0.value", at((0, 0, 0, 0), np.inf)),
    ),
    row(
        "unmasked-logit",
        "e05",
        "outputs",
        "processor",
        with_values("e05", "logits.control_token_mask", at((0, 3), 0.0)),
    ),
    row(
        "input-tensor",
        "e09",
        "inputs",
        "input-changed",
        with_values("e09", "next_logits", at((0, 3), 0.25), "inputs"),
    ),
    row(
        "input-nan",
        "e09",
        "inputs",
        "nan-born",
        with_values("e09", "next_logits", at((0, 3), np.nan), "inputs"),
    ),
    row(
        "factor",
        "e12",
        "outputs",
        "constant-factor",
        with_values("e12", "layer.0.value", lambda a: a * np.float32(0.5)),
    ),
    row(
        "reversed",
        "e12",
        "outputs",
        "permuted",
        with_values("e12", "layer.0.value", lambda a: a[..., ::-1]),
    ),
    row(
        "transposed",
        "e08",
        "outputs",
        "layout-only",
        with_values("e08", "layer.0.cache.key", lambda a: a.transpose(0, 1, 3, 2)),
    ),
    row(
        "reshaped",
        "e08",
        "outputs",
        "layout-only",
        with_values("e08", "next_logits", lambda a: a[0]),
    ),
    row(
        "other-shape",
        "e08",
        "outputs",
        "shape",
        with_values("e08", "next_logits", lambda a: a[:, :19]),
    ),
    row(
        "other-element-type",
        "e08",
        "outputs",
        "dtype",
        with_values("e08", "next_logits", lambda a: a.astype(np.float16)),
    ),
    row("tensor-missing", "e08", "outputs", "missing-field", drop_tensor("e08", "final_hidden")),
    row(
        "layer-of-another-place",
        "e08",
        "outputs",
        "missing-field",
        put_tensor("e08", "embedding", logical={"layer": 9, "positions": [12, 12]}),
    ),
    row(
        "cache-of-other-positions",
        "e08",
        "outputs",
        "cache-position",
        put_tensor("e08", "layer.0.cache.key", logical={"layer": 0, "positions": [*range(12), 13]}),
    ),
    row(
        "digest-without-sketch",
        "e04",
        "outputs",
        "undecidable",
        both(
            put_tensor("e04", "layer.0.query", digest=OTHER_DIGEST),
            without_key("e04", "layer.0.query", "sketch"),
        ),
    ),
)

ZERO = with_values("e08", "next_logits", at((0, 3), 0.0))
INFINITE = with_values("e08", "layer.0.value", at((0, 0, 0, 0), np.inf))
EXACT = put("e00", "trace", tolerances=[{"match": "*", "mode": "exact"}])


def exact_zero() -> Trace:
    """Return the main line with a zero among the logits, and no tolerance."""
    return both(EXACT, ZERO)(main_line())


def infinite_value() -> Trace:
    """Return the main line with an infinite value."""
    return INFINITE(main_line())


SIGN_EDITS = (
    row(
        "zero-of-the-other-sign",
        *("e08", "outputs", "sign-of-zero"),
        with_values("e08", "next_logits", at((0, 3), -0.0)),
        exact_zero,
    ),
    row(
        "infinity-of-the-other-sign",
        *("e08", "outputs", "infinity-sign"),
        with_values("e08", "layer.0.value", at((0, 0, 0, 0), -np.inf)),
        infinite_value,
    ),
    row(
        "lowest-bit-without-tolerance",
        *("e08", "outputs", "numeric-path"),
        with_values("e08", "next_logits", bit((0, 7), 0)),
        exact_zero,
    ),
)

DRAW_EDITS = (
    row(
        "counter-before",
        "e09",
        "rng",
        "rng-counter",
        put_draw("e09", counter_before=2),
        sampled_run,
    ),
    row(
        "counter-after", "e09", "rng", "rng-counter", put_draw("e09", counter_after=3), sampled_run
    ),
    row("seed", "e09", "rng", "seed", put_draw("e09", key=[2, 0]), sampled_run),
    row(
        "algorithm",
        "e09",
        "rng",
        "rng-algorithm",
        put_draw("e09", algorithm="Philox4x64-10"),
        sampled_run,
    ),
    row(
        "transform",
        "e09",
        "rng",
        "rng-algorithm",
        put_draw("e09", transform="inverse-cdf-v2"),
        sampled_run,
    ),
    row(
        "count",
        "e09",
        "rng",
        "rng-counter",
        put_draw("e09", draws={"count": 2, "shape": [1]}),
        sampled_run,
    ),
    row("draw-missing", "e09", "rng", "rng-counter", with_section("e09", rng=None), sampled_run),
)
TEXT_EDITS = (*EVENT_EDITS, *FIELD_EDITS, *TENSOR_EDITS, *SIGN_EDITS, *DRAW_EDITS)
