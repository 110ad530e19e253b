"""Causes seen in recorded answers of servers: which layer differs first, and does the top differ?

Knows the events of kind `stream`, from the lowest layer up. The lowest layer that differs is the
first divergence; what it means for the user is whether the assembled message differs too.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from tracediff.diff.causes import structure, texts
from tracediff.diff.causes.findings import Findings, WholeTrace
from tracediff.diff.result import Cause
from tracediff.events import Event

KIND: Final = "stream"
_MESSAGE: Final = "message.assembled"
_DELTA: Final = "stream.delta"
_JOINED: Final = "stream.joined"

_LAYERS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "request.sent": ("request", "input-changed"),
        "attempt.made": ("attempt", "retry"),
        "response.started": ("head", "status"),
        "response.identified": ("identification", "artifact-changed"),
        "sse.event": ("framing", "framing"),
        _DELTA: ("delta", "answer-changed"),
        _JOINED: ("delta", "answer-changed"),
        "body.received": ("framing", "framing"),
        _MESSAGE: ("assembly", "answer-changed"),
        "message.finished": ("finish", "stop-rule"),
        "stream.failed": ("error", "server-error"),
        "usage.reported": ("usage", "usage"),
        "stream.ended": ("end", "protocol"),
    }
)
"""For each event the name of its layer, and the cause if that is the lowest one that differs."""


def layer(findings: Findings) -> Cause | None:
    """Name the lowest layer of two answers that differs, and say whether their messages do."""
    if findings.event.event_type not in _LAYERS or _kind(findings.left_trace) != KIND:
        return None
    name, kind = _LAYERS[findings.event.event_type]
    left, right = findings.all_events()
    if name == "assembly" and _joined(left) != _joined(right):
        name = "delta"  # under the view that joins them, they stand behind the message
    top_differs = _messages(left) != _messages(right)
    evidence = {"lowest": name, "top_differs": top_differs, **findings.values}
    top = "differs too" if top_differs else "is the same"
    is_recut = name in ("framing", "delta") and _is_recut(left, right)
    if name == "delta" and findings.lone_side is not None:
        is_recut = _texts(left) == _texts(right)  # the same pieces, in other events
    known = None if is_recut or name not in ("framing", "delta") else _known(findings)
    if is_recut:
        kind, what = "transport-chunking", "the text arrives in other pieces"
    elif known is not None:
        kind, what = known.kind, known.explanation
        evidence |= known.evidence
    else:
        kind = _refined(findings, kind)
        what = f"the lowest layer that differs is the {name}"
    return Cause(kind, name, f"{what}; the assembled message {top}", evidence)


def _known(findings: Findings) -> Cause | None:
    """Return the cause of texts that end at another place, as other kinds of traces know it."""
    stopped = structure.stop_rule(findings) if findings.lone_side is not None else None
    return texts.held_back(findings) or stopped


def _refined(findings: Findings, kind: str) -> str:
    """Return a more exact kind where the field or the lane says one."""
    path = [str(part) for part in findings.path]
    part = str((findings.event.payload.get("lane") or {}).get("part", ""))
    if findings.first.check == "artifacts" and findings.leaf in ("model", "api"):
        return "artifact-changed"
    if findings.first.check == "ids":
        return "identifier"
    if "tool_calls" in path or (part.startswith("tool_call") and findings.lone_side is None):
        return "arguments-changed" if {"arguments", "text"} & {*path} else "tool-call"
    return "tool-call" if part.startswith("tool_call") else kind


def _kind(trace: WholeTrace) -> Any:
    headers = (event.payload["trace"] for event in trace.events() if "trace" in event.payload)
    return next((header.get("kind") for header in headers), None)


def _messages(events: Iterable[Event]) -> list[str]:
    """Return what each assembled message says, in an order that both sides share."""
    return sorted(
        repr((_lane(event), sorted(event.payload.get("choice", {}).items())))
        for event in events
        if event.event_type == _MESSAGE
    )


def _joined(events: Iterable[Event]) -> dict[Hashable, bytes]:
    return {_lane(e): texts.bytes_of(e) for e in events if e.event_type == _JOINED}


def _is_recut(left: Iterable[Event], right: Iterable[Event]) -> bool:
    """Whether both sides have the same texts in other pieces."""
    return _texts(left) == _texts(right) and _pieces(left) != _pieces(right)


def _texts(events: Iterable[Event]) -> dict[Hashable, bytes]:
    """Return the text of every lane as UTF-8."""
    return {lane: b"".join(pieces) for lane, pieces in _pieces(events).items()}


def _pieces(events: Iterable[Event]) -> dict[Hashable, list[bytes]]:
    """Return the pieces of every lane's text as UTF-8."""
    found: dict[Hashable, list[bytes]] = {}
    for event in events:
        if event.event_type == _DELTA:
            found.setdefault(_lane(event), []).append(texts.bytes_of(event))
    return found


def _lane(event: Event) -> Hashable:
    return tuple(sorted((event.payload.get("lane") or {}).items()))
