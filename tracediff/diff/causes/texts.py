"""Causes seen in text: how it was made of tokens, held back, cut into pieces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tracediff.diff.causes.findings import Findings
from tracediff.diff.result import Cause
from tracediff.events import Event
from tracediff.events.text import text_from_json, text_to_json

_TEXT_LEAVES: Final = ("text", "b64")
_PIECE_LEAVES: Final = (*_TEXT_LEAVES, "sequence_no")
_ID_LEAVES: Final = ("input_ids", "attention_mask")
_PROMPTS: Final = (("text_ids", "prompt"), ("negative_ids", "negative_prompt"))
"""The beginning of the names of ids in a state, and of the texts they are made of."""

_TEXT: Final = "text"
_RENDERED: Final = "context.rendered"
_TRANSPORT: Final = "transport"
_NEAREST: Final = 3
"""How many ancestors are looked at: a choice, the end of the generation, its summary."""


def tokenizer(findings: Findings) -> Cause | None:
    """The same text gave other ids, or the ids differ because their text does."""
    if not _are_ids(findings) or not all(
        findings.leaf in section for section in findings.sections(findings.first.check)
    ):
        return None
    texts = _texts_of_ids(findings)
    if texts is None:
        text = "other ids go in, and no text is recorded that they were made of"
        return Cause("input-changed", findings.component, text, findings.values)
    if texts[0] != texts[1]:
        names = [key for key in {**texts[0], **texts[1]} if texts[0].get(key) != texts[1].get(key)]
        text = f"the ids are those of another text: {names[0]} differs"
        evidence = {"field": names[0]} | {
            side: held.get(names[0]) for side, held in zip(("left", "right"), texts, strict=True)
        }
        return Cause("input-changed", findings.component, text, evidence)
    edit = _edit(*findings.sections(findings.first.check), findings.leaf)
    what = "".join(f": {edit[k]} {k} at {edit['at']}" for k in ("inserted", "removed") if k in edit)
    text = f"the same text was tokenized to other ids{what}"
    return Cause("tokenizer", findings.component, text, {**findings.values, **edit})


def _are_ids(findings: Findings) -> bool:
    if findings.first.check == "choice":
        return findings.leaf in _ID_LEAVES
    return findings.first.check == "state" and findings.leaf.startswith(
        tuple(ids for ids, _ in _PROMPTS)
    )


def _texts_of_ids(findings: Findings) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return the texts that the differing ids were made of, by side and name; None for none.

    In a state they stand beside the ids. Before a choice an ancestor has rendered the text, and it
    is the same, since a difference in it would have come first; or it says that there is none.
    """
    if findings.first.check == "choice":
        rendered = (event for event in _earlier(findings) if event.event_type == _RENDERED)
        is_there = all(_TEXT in event.payload.get("choice", {}) for event in rendered)
        return ({}, {}) if is_there else None
    prompt = next(text for ids, text in _PROMPTS if findings.leaf.startswith(ids))
    mine, other = (
        {key: value for key, value in state.items() if key.startswith(prompt)}
        for state in findings.sections("state")
    )
    return mine, other


def _earlier(findings: Findings) -> Iterator[Event]:
    """Yield the nearest ancestors of left's event."""
    known = {event.event_id: event for event in findings.left_trace.events()}
    event = findings.left
    for _ in range(_NEAREST):
        event = None if event is None else known.get(event.parent_event_id or "")
        if event is not None:
            yield event


def rendered_input(findings: Findings) -> Cause | None:
    """A text differs that goes into a model: ids are made of it afterwards."""
    if findings.first.check != "choice" or findings.leaf not in _TEXT_LEAVES:
        return None
    if _is_made_of_tokens(findings) or not _is_read_later(findings):
        return None
    text = "what the model is given is rendered otherwise"
    return Cause("input-changed", findings.component, text, findings.values)


def held_back(findings: Findings) -> Cause | None:
    """One side returns the stop sequence or a part of it, which is to be held back."""
    texts = _joined(findings)
    if texts is None:
        return None
    shorter, longer = sorted(texts, key=len)
    extra = longer[len(shorter) :]
    if not extra or not longer.startswith(shorter):
        return None
    for stop in findings.last_choices("stop_sequence"):
        sought = stop.encode(errors="surrogatepass") if isinstance(stop, str) else b""
        if sought and (sought.startswith(extra) or extra.startswith(sought)):
            return Cause(
                "stop-rule",
                findings.component,
                "one side returns what belongs to the stop sequence, the other one holds it back",
                {"stop_sequence": stop, "returned": text_to_json(extra)},
            )
    return None


def chunking(findings: Findings) -> Cause | None:
    """The same text arrives in other pieces."""
    texts = _joined(findings)
    if texts is None or texts[0] != texts[1] or not texts[0]:
        return None
    return Cause(
        "transport-chunking",
        findings.component,
        "the text arrives in other pieces and is the same in the end",
        {"joined_text": text_to_json(texts[0])},
    )


def detokenizer(findings: Findings) -> Cause | None:
    """The same tokens gave other text."""
    if findings.first.check != "choice" or findings.leaf not in _TEXT_LEAVES:
        return None
    if not _is_made_of_tokens(findings):
        return None
    return Cause(
        "detokenizer",
        findings.component,
        "everything before agrees, the tokens too, but the text differs",
        findings.values,
    )


def _edit(mine: Any, other: Any, leaf: str) -> dict[str, Any]:
    """Return the one inserted or removed run of ids, where that is all that differs."""
    left, right = (_flat(section.get(leaf)) for section in (mine, other))
    short, long = sorted((left, right), key=len)
    run = len(long) - len(short)
    start = next((i for i, x in enumerate(short) if x != long[i]), len(short))
    if not run or short[start:] != long[start + run :]:
        return {}
    return {"inserted" if long is right else "removed": long[start : start + run], "at": start}


def _flat(ids: Any) -> list[Any]:
    if isinstance(ids, list) and len(ids) == 1 and isinstance(ids[0], list):
        ids = ids[0]
    return ids if isinstance(ids, list) else []


def _is_made_of_tokens(findings: Findings) -> bool:
    """Whether tokens were chosen by one of the nearest ancestors, or anywhere for what is sent."""
    if findings.component == _TRANSPORT:
        return any(map(_chooses, findings.left_trace.events()))
    return any(map(_chooses, _earlier(findings)))


def _chooses(event: Event) -> bool:
    choice = event.payload.get("choice", {})
    return "token_id" in choice or "steps" in choice


def _is_read_later(findings: Findings) -> bool:
    found = False
    for event in findings.left_trace.events():
        sections = (event.payload.get(name, {}) for name in ("state", "choice"))
        if found and any("input_ids" in section for section in sections):
            return True
        found = found or (findings.left is not None and event.event_id == findings.left.event_id)
    return False


def _joined(findings: Findings) -> tuple[bytes, bytes] | None:
    """Return the text of all pieces as UTF-8, where the sides part at a piece of text."""
    event = findings.event
    if _TEXT not in event.payload.get("choice", {}):
        return None
    is_piece = findings.first.check == "choice" and findings.leaf in _PIECE_LEAVES
    if not is_piece and findings.lone_side is None:
        return None
    mine, other = (
        b"".join(bytes_of(found) for found in events if _alike(found, event))
        for events in findings.all_events()
    )
    return mine, other


def bytes_of(event: Event) -> bytes:
    """Return the text of an event's choice as UTF-8, empty where it has none."""
    try:
        text = text_from_json(event.payload.get("choice", {}).get(_TEXT))
    except ValueError:
        return b""
    return text if isinstance(text, bytes) else text.encode(errors="surrogatepass")


def _alike(event: Event, other: Event) -> bool:
    return (
        event.component == other.component
        and event.event_type == other.event_type
        and event.payload.get("lane") == other.payload.get("lane")
    )
