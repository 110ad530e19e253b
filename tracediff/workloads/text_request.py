"""The first events of a text run: the request as it arrived, the rendered context, its ids.

Knows a definition and the recorder. Must not know models or how a prompt came about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracediff.engine.tokenizer import Segment
from tracediff.recording.recorder import Recorder
from tracediff.workloads.definitions import Definition


def record_request(
    recorder: Recorder,
    definition: Definition,
    template: str,
    *,
    state: Mapping[str, Any],
    settings: Mapping[str, Any],
    request_id: str,
) -> None:
    """Record what was asked for, and which model answers it."""
    content = definition.content
    recorder.event(
        "gateway",
        "request.accepted",
        artifacts={
            "model": content["model"]["id"],
            "model_weights": definition.weights_digest,
            "tokenizer": content["tokenizer"]["id"],
            "template": template,
        },
        state=state,
        settings=settings,
        ids={"request_id": request_id},
    )


def record_context(recorder: Recorder, template: str, segments: Sequence[Segment]) -> None:
    """Record the text that the template makes of a request."""
    rendered = "".join(segment.text for segment in segments)
    recorder.event(
        "application",
        "context.rendered",
        artifacts={"template": template},
        choice={
            "text": rendered,
            # A lone surrogate is the tokenizer's to refuse, with its place.
            "utf8_bytes": len(rendered.encode(errors="surrogatepass")),
        },
    )


def record_input(recorder: Recorder, definition: Definition, ids: Sequence[int]) -> None:
    """Record the ids of the rendered text."""
    recorder.event(
        "tokenizer",
        "input.tokenized",
        artifacts={"tokenizer": definition.content["tokenizer"]["id"]},
        choice={
            "input_ids": [list(ids)],
            "attention_mask": [[1] * len(ids)],
            "position_ids": [list(range(len(ids)))],
        },
    )
