"""Causes seen in recorded answers of servers: which layer differs first, and does the top differ?

Knows what a difference in a layer means. The lowest layer that differs is the cause's component;
what it means for the user is whether the assembled message differs too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tracediff.diff.causes.findings import FINISH_REASON, Findings, WholeTrace
from tracediff.diff.result import Cause
from tracediff.diff.stream_layers import (
    LAYER_OF,
    differing_layers,
    frames_of,
    messages_of,
    pieces_of,
    texts_of,
    tokens_of,
)
from tracediff.events import Event
from tracediff.events.text import text_to_json

KIND: Final = "stream"
_KINDS: Final[Mapping[str, str]] = {
    "request": "input-changed",
    "attempt": "retry",
    "head": "status",
    "identification": "artifact-changed",
    "framing": "framing",
    "delta": "answer-changed",
    "assembly": "answer-changed",
    "finish": "stop-rule",
    "error": "server-error",
    "usage": "usage",
    "end": "protocol",
}
"""For each layer the cause if it is the lowest one that differs and nothing more is known."""


@dataclass(frozen=True, slots=True)
class _Found:
    """Both answers, the layers that differ, and the entries of the messages that do."""

    left: Sequence[Event]
    right: Sequence[Event]
    layers: tuple[str, ...]
    entries: tuple[str, ...]

    @property
    def lowest(self) -> str:
        return self.layers[0]


_Named = tuple[str, str, dict[str, Any]]
"""Kind, explanation, evidence."""


def layer(findings: Findings) -> Cause | None:
    """Name the lowest layer of two answers that differs, and say whether their messages do."""
    if findings.event.event_type not in LAYER_OF or _kind(findings.left_trace) != KIND:
        return None
    left, right = findings.all_events()
    layers = differing_layers(left, right, findings.event)
    found = _Found(left, right, layers, _differing_entries(left, right))
    kind, what, evidence = _named(findings, found)
    evidence = {
        "lowest": found.lowest,
        "layers": list(layers),
        "top_differs": bool(found.entries),
        **findings.values,
        **evidence,
    }
    top = f"differs too ({', '.join(found.entries)})" if found.entries else "is the same"
    return Cause(kind, found.lowest, f"{what}; the assembled message {top}", evidence)


def _named(findings: Findings, found: _Found) -> _Named:
    plain = f"the lowest layer that differs is the {found.lowest}"
    kind = _KINDS[found.lowest]
    if findings.first.check == "ids":
        kind = "identifier"
    elif found.lowest == "request" and findings.leaf in ("model", "api"):
        kind = "artifact-changed"
    elif found.lowest in ("framing", "delta", "assembly"):
        return _named_below_the_top(found, plain)
    return kind, plain, {}


def _named_below_the_top(found: _Found, plain: str) -> _Named:
    """Name what differs on the way to the message, or in it."""
    if found.entries:
        return _ended_earlier(found) or (_changed(found), plain, {})
    if found.lowest != "framing":
        return (*_delivered_otherwise(found), {})
    if frames_of(found.left) == frames_of(found.right):
        kind, what = "transport-chunking", "it arrives in another number of events"
        return kind, what, {}
    kind = "stop-rule" if "finish" in found.layers else "framing"
    return kind, plain, {}


def _delivered_otherwise(found: _Found) -> tuple[str, str]:
    """Name what differs in the deltas of one message."""
    left, right = found.left, found.right
    kind, what = "transport-chunking", "the text arrives in other pieces"
    if texts_of(left) != texts_of(right):
        kind, what = "arguments-spelling", "the arguments of a call are spelled otherwise"
    elif pieces_of(left) != pieces_of(right):
        pass
    elif tokens_of(left) != tokens_of(right):
        kind, what = "log-probabilities", "the log-probabilities of the tokens differ"
    elif _order(left) != _order(right):
        what = "the pieces of several texts arrive in another order"
    else:
        what = "the text arrives in another number of events"
    return kind, what


def _changed(found: _Found) -> str:
    """Return the kind for messages that differ."""
    if set(found.entries) - {"tool_calls", "parts"}:
        return "answer-changed"
    left, right = (_called(events) for events in (found.left, found.right))
    if left != right:
        return "tool-call"
    return "arguments-changed"


def _called(events: Sequence[Event]) -> list[Any]:
    messages = messages_of(events).values()
    return [
        [(call["number"], call["name"]) for call in message.get("tool_calls", ())]
        for message in messages
    ]


def _ended_earlier(found: _Found) -> _Named | None:
    """Name what lets one text end where the other goes on."""
    left, right = texts_of(found.left), texts_of(found.right)
    lanes = [lane for lane in left.keys() | right.keys() if left.get(lane) != right.get(lane)]
    if len(lanes) != 1:
        return None
    shorter, longer = sorted((left.get(lanes[0], b""), right.get(lanes[0], b"")), key=len)
    if not longer.startswith(shorter):
        return None
    for stop in (_last(events, "stop_sequence") for events in (found.left, found.right)):
        returned = longer[len(shorter) :]
        sought = stop.encode(errors="surrogatepass") if isinstance(stop, str) else b""
        if sought and (sought.startswith(returned) or returned.startswith(sought)):
            kind = "stop-rule"
            what = "one side returns what belongs to the stop sequence, the other one holds it back"
            return kind, what, {"stop_sequence": stop, "returned": text_to_json(returned)}
    reasons = _last(found.left, FINISH_REASON), _last(found.right, FINISH_REASON)
    if reasons[0] == reasons[1] or None in reasons:
        return None
    what = (
        f"one side stops where the other goes on: left ends by {reasons[0]}, right by {reasons[1]}"
    )
    kind = "server-error" if "error" in found.layers else "stop-rule"
    return kind, what, {FINISH_REASON: {"left": reasons[0], "right": reasons[1]}}


def _last(events: Sequence[Event], key: str) -> Any:
    choices = (event.payload.get("choice", {}) for event in reversed(events))
    return next((choice[key] for choice in choices if key in choice), None)


def _order(events: Sequence[Event]) -> list[Any]:
    return [
        event.payload.get("lane")
        for event in events
        if LAYER_OF.get(event.event_type) == "delta"
    ]  # fmt: skip


def _differing_entries(left: Sequence[Event], right: Sequence[Event]) -> tuple[str, ...]:
    """Return the names of the entries in which the assembled messages differ."""
    mine, other = messages_of(left), messages_of(right)
    found: set[str] = set()
    for lane in mine.keys() | other.keys():
        one, two = mine.get(lane, {}), other.get(lane, {})
        found |= {key for key in one.keys() | two.keys() if one.get(key) != two.get(key)}
    return tuple(sorted(found))


def _kind(trace: WholeTrace) -> Any:
    headers = (event.payload["trace"] for event in trace.events() if "trace" in event.payload)
    return next((header.get("kind") for header in headers), None)
