"""text-001: one request through tokenizer, prefill, decode loop and streaming, told to a recorder.

Knows the fixture's definition and the parts of a text run. Must not know files or the command line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tracediff.engine.decoder import build_decoder
from tracediff.engine.kernels import Kernel
from tracediff.recording.recorder import Recorder
from tracediff.workloads.definitions import Definition
from tracediff.workloads.text_model import TextModel, decoder_config
from tracediff.workloads.text_request import record_context, record_input, record_request
from tracediff.workloads.text_run import TextResult, TextRun
from tracediff.workloads.text_settings import build_processors, tokenize_prompt


def run_text(
    definition: Definition,
    settings: Mapping[str, Any],
    kernel: Kernel,
    recorder: Recorder,
    on_text: Callable[[str], None] = lambda text: None,
) -> TextResult:
    """Run the fixture and tell `recorder` every event; `on_text` gets each returned piece.

    Raises UsageError where the prompt leaves no room in the context window, TokenizerError where
    the vocabulary does not cover it.
    """
    model = TextModel(definition)
    decoder = build_decoder(decoder_config(definition), definition.weights, kernel)
    processors = build_processors(model, settings)
    run = TextRun(definition, model, decoder, settings, processors, recorder, on_text)
    run.prefill(_accept(definition, model, settings, recorder))
    reason = run.step()
    while reason is None:
        reason = run.step()
    result = run.complete(reason)
    run.release()
    return result


def _accept(
    definition: Definition, model: TextModel, settings: Mapping[str, Any], recorder: Recorder
) -> list[int]:
    """Record e00 to e02; return the prompt's ids."""
    content = definition.content
    template = content["template"]["id"]
    record_request(
        recorder,
        definition,
        template,
        state={"prompt": settings["prompt"]},
        settings={key: value for key, value in settings.items() if key != "prompt"},
        request_id=content["request"]["id"],
    )
    record_context(recorder, template, model.render(settings["prompt"]))
    ids = tokenize_prompt(definition, settings)
    record_input(recorder, definition, ids)
    return ids
