"""Rules on what a text run makes of its request before the model reads it.

Knows prompt and rendered context. Must not know ids or templates.
"""

from __future__ import annotations

from collections.abc import Iterator

from tracediff.contracts.rule import Finding, Rule
from tracediff.contracts.text_events import choice_of, has_text_events, of_type, state_of
from tracediff.events import Trace


def _context_contains_the_prompt(trace: Trace) -> Iterator[Finding]:
    prompt = state_of(trace.root, "prompt")
    if not isinstance(prompt, str):
        return
    for event in of_type(trace, "context.rendered"):
        text = choice_of(event, "text")
        if isinstance(text, str) and prompt not in text:
            yield event.event_id, f"renders {text!r:.80}, without the prompt {prompt!r:.80}"


INPUT_RULES = (
    Rule(
        "context-contains-the-prompt",
        "the rendered context contains the prompt of the request",
        has_text_events,
        _context_contains_the_prompt,
    ),
)
