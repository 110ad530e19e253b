"""Tells a recorder one answer, layer by layer, each event following the one before it.

Knows the events of kind `stream` and their sections. From the lowest layer up: request, attempt,
head, identification, server-sent events, deltas, body, messages, finish, usage, end. Must not know
how anything was read. What changes from one answer to the next (ids, times, padding, how bytes
were cut) goes to `ids` and `context`; framing is `state`, what reaches the user is `choice`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

from tracediff.recording.recorder import Recorder
from tracediff.streaming.answer import Frame
from tracediff.streaming.assembly import Assembly, Delta, Failure
from tracediff.streaming.ending import Incomplete
from tracediff.streaming.finish import Finish
from tracediff.streaming.http_head import Head
from tracediff.streaming.message import assemble, bounded, finish_of
from tracediff.streaming.parts import TOOL_CALL
from tracediff.streaming.request import RequestFacts

LISTED_CHUNKS: Final = 256
"""Chunks whose size and digest are listed; of more, only how many there are."""

_SCALAR = (str, int, float, bool)


class LayerRecorder:
    """Records one answer; its methods are called in the order of the layers."""

    def __init__(self, recorder: Recorder, request: RequestFacts) -> None:
        self._recorder = recorder
        self._request = request
        self._step = 0
        self._chunks: list[list[Any]] = []
        self._chunk_count = 0
        self._chunk_size, self._chunk_digest = 0, hashlib.sha256()
        self._bytes = 0
        self._digest = hashlib.sha256()

    def request(self) -> None:
        """Record what was asked."""
        facts = self._request
        self._recorder.event(
            "client",
            "request.sent",
            artifacts=facts.artifacts,
            settings=facts.settings or None,
            context=facts.context or None,
        )

    def attempt(
        self,
        number: int,
        outcome: str,
        *,
        status: int | None = None,
        error: str = "",
        **conditions: Any,
    ) -> None:
        """Record one try: `answered`, `retried` or `gave-up`, and what it met.

        Of the status its class is compared; the rest of it and `conditions` never are, and how long
        was waited is not even recorded.
        """
        choice: dict[str, Any] = {"number": number, "outcome": outcome}
        if status is not None:
            choice["status_class"] = f"{status // 100}xx"
            conditions["status"] = status
        if error:
            choice["error"] = error
        self._recorder.event("client", "attempt.made", choice=choice, context=conditions or None)

    def head(self, head: Head) -> None:
        """Record status and content type."""
        context: dict[str, Any] = {"encodings": list(head.encodings), "chunked": head.chunked}
        if head.request_id:
            context["request_id"] = head.request_id
        self._recorder.event(
            "server",
            "response.started",
            choice={"status": head.status, "content_type": head.media_type},
            context=context,
        )

    def chunk(self, piece: bytes, ended: bool) -> None:
        """Note a piece of a transport's chunk, which ends with it if it `ended`.

        Chunks are recorded with the body and never compared. A capture without chunk sizes has
        none: how it is read says nothing of how it came.
        """
        self._bytes += len(piece)
        self._digest.update(piece)
        self._chunk_size += len(piece)
        self._chunk_digest.update(piece)
        if not ended:
            return
        self._chunk_count += 1
        if len(self._chunks) < LISTED_CHUNKS:
            self._chunks.append([self._chunk_size, self._chunk_digest.hexdigest()[:16]])
        self._chunk_size, self._chunk_digest = 0, hashlib.sha256()

    def frame(self, frame: Frame) -> None:
        """Record one server-sent event: its type and form, not its data."""
        self._step = frame.number
        state: dict[str, Any] = {"event": frame.event, "payload": frame.payload}
        if frame.sequence_number is not None:
            state["sequence_number"] = frame.sequence_number
        self._recorder.event(
            "transport",
            "sse.event",
            logical_step=frame.number,
            state=state,
            ids={"last_event_id": frame.last_event_id} if frame.last_event_id else None,
        )

    def identified(self, model: str, response_id: str) -> None:
        """Record what the server calls the answer and the model."""
        self._recorder.event(
            "server",
            "response.identified",
            artifacts={"model": _identifier(model)} if model else None,
            ids={"response_id": _identifier(response_id)} if response_id else None,
        )

    def delta(self, delta: Delta) -> None:
        """Record one piece of a part; every part is a lane of its own."""
        part = delta.part
        choice: dict[str, Any] = {"sequence_no": delta.number, "text": bounded(delta.text)}
        if part.key.kind == TOOL_CALL and delta.number == 0:
            choice["tool"] = delta.name
        if delta.tokens is not None:
            choice["tokens"] = delta.tokens
        self._recorder.event(
            "transport",
            "stream.delta",
            logical_step=self._step,
            lane={"choice": part.key.choice, "part": part.label},
            choice=choice,
        )

    def complete(self, assembly: Assembly, comments: int, pings: int) -> None:
        """Record what the layers below come to; the answer is whole."""
        self._body(assembly, comments, pings)
        for number in assembly.choices:
            self._message(assembly, number)
        for number in assembly.choices:
            self._finish(assembly, number)
        if assembly.failure is not None:
            self._failed(assembly.failure)
        if assembly.usage or assembly.usage_details:
            self._recorder.event(
                "server",
                "usage.reported",
                choice=dict(sorted(assembly.usage.items())),
                context=_plain(assembly.usage_details) or None,
            )
        found = assembly.violations
        unread = {"unread": assembly.unread} if assembly.unread else {}
        self._recorder.event(
            "client",
            "stream.ended",
            choice={
                "terminator": assembly.terminator,
                "violations": [violation.name for violation in found],
                **unread,
            },
            # How many events there are is how the text was cut.
            context={"violated_at": [violation.event for violation in found]} if found else None,
        )

    def interrupted(self, assembly: Assembly, incomplete: Incomplete) -> None:
        """Record where the answer broke off. The trace must then be left without its end."""
        self._body(assembly, 0, 0)
        for number in assembly.choices:
            self._message(assembly, number)
        self._recorder.event(
            "client",
            "stream.interrupted",
            choice={"reason": incomplete.reason},
            context={"byte": incomplete.byte, "events": incomplete.events},
        )

    def _failed(self, failure: Failure) -> None:
        choice = {"finish_reason": "error", "type": failure.type, "code": failure.code}
        if not failure.type and not failure.code:
            choice["message"] = failure.message[:1000]  # all that tells one from another
        note = {"message": failure.message[:1000]}
        self._recorder.event("server", "stream.failed", choice=choice, note=note)

    def _body(self, assembly: Assembly, comments: int, pings: int) -> None:
        context: dict[str, Any] = {
            "bytes": self._bytes,
            "digest": f"sha256:{self._digest.hexdigest()}",
            "comments": comments,
            "pings": pings,
        }
        if self._chunk_count:
            context |= {"chunks": self._chunk_count, "first_chunks": self._chunks}
        conditions = _plain(assembly.conditions)
        self._recorder.event("transport", "body.received", context={**context, **conditions})

    def _message(self, assembly: Assembly, number: int) -> None:
        calls = sorted(
            part.key.number
            for part in assembly.parts.values()
            if part.key.choice == number and part.key.kind == TOOL_CALL
        )
        ids = [_identifier(assembly.part(number, TOOL_CALL, call).call_id) for call in calls]
        self._recorder.event(
            "client",
            "message.assembled",
            lane={"choice": number},
            choice=assemble(assembly, number),
            ids={"tool_call_ids": ids} if all(ids) and ids else None,
        )

    def _finish(self, assembly: Assembly, number: int) -> None:
        ending = assembly.endings.get(number)
        if ending is None:
            return
        # What only the request tells is no part of the answer: not everyone who has it knows both.
        told = Finish.STOP_SEQUENCE if ending.settles_itself else ending.finish
        settled = finish_of(assembly, number, self._request)
        choice: dict[str, Any] = {"finish_reason": told, "own_word": ending.own}
        if ending.stop_sequence is not None:
            choice["stop_sequence"] = ending.stop_sequence
        self._recorder.event(
            "server",
            "message.finished",
            lane={"choice": number},
            choice=choice,
            context={"settled": str(settled)} if settled != told else None,
        )


def _identifier(text: str) -> str:
    """Return an id as a section takes it: without halves of surrogate pairs."""
    return text.encode(errors="backslashreplace").decode()


def _plain(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries that a section takes: scalars, and flat objects of scalars."""
    plain: dict[str, Any] = {}
    for key, value in found.items():
        if isinstance(value, _SCALAR):
            plain[key] = value
        elif isinstance(value, dict):
            plain[key] = {k: v for k, v in value.items() if isinstance(v, _SCALAR)}
    return plain
